# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A reader of the scores that launch.evaluate --targets writes."""

import os
import pathlib
import typing
from typing import NamedTuple

from fedfish_tff import regular_files
from launch.results import checked_tables

import pandas as pd

TRANSFER_CSV = 'evaluation/transfer.csv'
CLIENTS_CSV = 'evaluation/transfer_clients.csv'
# The half-way and the last model, as in the paper's figure. For a run with
# early_stopping, its model counts as the last one.
HALF, LAST = 'R/2', 'R'
# The metrics that are counts, which are not drawn or compared.
COUNTS = ('num_tokens',)


class Score(NamedTuple):
  """A row of transfer.csv: a metric on the clients of a target.

  Attributes:
    target: The target, the name of a task.
    round: The round of the model.
    split: The split of the clients: test or validation.
    percent: The share of a client's examples that was fine-tuned on.
    metric: The metric.
    num_clients: The number of clients that were scored.
    num_too_small: The number of clients with too few examples to be scored.
    num_diverged: The number of scored clients without a finite value, which the
      following statistics leave out.
    mean: The mean over clients.
    low: The lower end of the 95 % bootstrap interval of the mean; NaN if there
      is none.
    high: The upper end of that interval.
    all_tokens: The metric over all tokens (or examples) of all clients.
  """

  target: str
  round: int
  split: str
  percent: int
  metric: str
  num_clients: int
  num_too_small: int
  num_diverged: int
  mean: float
  low: float
  high: float
  all_tokens: float


def read_scores(workdir: str | os.PathLike[str]) -> pd.DataFrame:
  """Returns the rows of a workdir's transfer.csv; empty without the file.

  Returns:
    The columns of `Score`; see `checked_tables.read_frame` for its numbers.

  Raises:
    errors.InputError: If the file cannot be read or is damaged.
  """
  types = typing.get_type_hints(Score)
  columns = {n: None if kind is float else kind for n, kind in types.items()}
  path = pathlib.Path(workdir) / TRANSFER_CSV
  try:
    return checked_tables.read_frame(path, columns)[list(columns)]
  except regular_files.MissingFileError:
    return pd.DataFrame(columns=list(columns))

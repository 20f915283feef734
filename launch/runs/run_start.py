# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The start of a run: a closed-form classifier, or weights read elsewhere.

The start of a fine-tuning is a run of its own, in which each client comes once.
Its result, or the weights that are read, are kept as start.npz: they are part of
the model and must be the same whenever the run is resumed or evaluated.
"""

from collections.abc import Mapping
import io
import json
import os
import pathlib
from typing import NamedTuple

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff import simulation

import numpy as np
import tensorflow_federated as tff

FILE_NAME = 'start.npz'
# The workdir of the start, inside the workdir of the run.
FOLDER_NAME = 'start'

_STATE = 'state'
_WEIGHT = 'weight_{:03d}'
_STATE_FORM = {
  'round': int,
  'totals': {...: float},
  'num_weights': int,
  'num_trainable': int,
}


class Start(NamedTuple):
  """The result of a start.

  Attributes:
    weights: The weights of the whole model, flat.
    round_number: The number of rounds of the start.
    totals: The costs of the start; see `simulation.TrainingResult`.
  """

  weights: tff.learning.models.ModelWeights
  round_number: int
  totals: Mapping[str, int | float]


def save_start(workdir: str | os.PathLike[str], start: Start) -> None:
  """Writes start.npz atomically."""
  weights = [*start.weights.trainable, *start.weights.non_trainable]
  state = {
    'round': start.round_number,
    'totals': dict(start.totals),
    # Without the number, an archive that lacks members would look complete.
    'num_weights': len(weights),
    'num_trainable': len(start.weights.trainable),
  }
  content = io.BytesIO()
  np.savez(
    content,
    **{_STATE: np.array(json.dumps(state))},
    **{_WEIGHT.format(i): np.asarray(w) for i, w in enumerate(weights)},
  )
  simulation.write_atomically(
    pathlib.Path(workdir, FILE_NAME), content.getvalue()
  )


def load_start(workdir: str | os.PathLike[str]) -> Start | None:
  """Reads start.npz; None if there is none.

  Args:
    workdir: The workdir of the run.

  Raises:
    errors.InputError: If the file is damaged or cannot be read.
  """
  path = pathlib.Path(workdir, FILE_NAME)
  try:
    with datasets.open_archive(path) as archive:
      text = datasets.read_npz_text(archive, _STATE)
      state = regular_files.parse_json(text, _STATE_FORM)
      weights = tuple(
        datasets.read_npz_array(archive, _WEIGHT.format(i))
        for i in range(state['num_weights'])
      )
    num_trainable = state['num_trainable']
    return Start(
      tff.learning.models.ModelWeights(
        weights[:num_trainable], weights[num_trainable:]
      ),
      state['round'],
      state['totals'],
    )
  except FileNotFoundError:
    return None
  except OSError as error:
    raise errors.InputError(f'Cannot read {path}: {error.strerror}.') from error
  except datasets.NPZ_READ_ERRORS as error:
    raise errors.InputError(
      f'{path} is damaged ({error}); restore it, or start afresh with '
      '--overwrite.'
    ) from error

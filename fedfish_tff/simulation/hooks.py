# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Hooks of the training loop: everything that a run does besides training.

The loop initialises, trains, evaluates and saves. Schedules, costs, clocks,
privacy, early stopping, the barrier and progress are hooks.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any
from typing import TYPE_CHECKING

from fedfish_tff.simulation import metrics_rows

if TYPE_CHECKING:
  # Not imported at run time: progress is shown while TensorFlow is imported.
  from fedfish_tff.datasets import batches as batches_lib


@dataclasses.dataclass(frozen=True)
class Run:
  """A run that begins or resumes from a checkpoint.

  Attributes:
    first_round: The round that the run starts from, the first one with a row.
    last_round: The last completed round; None before the first row.
    participation: The function that returns the cohort of a round.
    start_totals: The totals of the start, by name.
    read_rows: The function that reads the rows up to `last_round`. Raises
      InputError if no metrics manager has them.
    load: The function that returns the state in a round's checkpoint; None if
      there is none. Raises InputError if the checkpoint is damaged.
  """

  first_round: int
  last_round: int | None
  participation: Callable[[int], Sequence[str]]
  start_totals: Mapping[str, int | float]
  read_rows: Callable[[], Iterable[metrics_rows.Row]]
  load: Callable[[int], Any]

  @property
  def is_resumed(self) -> bool:
    """Returns whether the run resumes from a checkpoint."""
    return self.last_round is not None


@dataclasses.dataclass
class Round:
  """A round, with the row that hooks add columns to.

  Attributes:
    number: The round, from 1 on; 0 or the start's for the row of the initial
      model.
    row: The row's columns so far.
    process: The learning process that has run the round.
    state: The process' state after the round; `Hook.finish` may replace it.
    old_state: The state before it; None for the row of the initial model.
    cohort: The round's clients; empty for the row of the initial model.
    totals: The run's totals, this round included; set from `finish` on.
  """

  number: int
  row: dict[str, Any]
  process: Any
  state: Any
  old_state: Any = None
  cohort: Sequence['batches_lib.ClientBatches'] = ()
  totals: Mapping[str, int | float] = dataclasses.field(default_factory=dict)


class Hook:
  """A part of a run besides training; by default, each method does nothing.

  The loop calls its hooks in their order. A resumed run has the same rows as an
  uninterrupted one, so a hook's state must follow from the rounds' numbers,
  cohorts and rows; `begin` receives the earlier ones. Anything that checkpoints
  must hold is part of the process' state, such as the average of
  `algorithms.compose_weight_averaging`.

  Attributes:
    passes: The number of passes over the cohort's data by `after_round`.
    may_stop: Whether the hook may set `reason`.
    reason: The reason to end the run before its last round, a part of a
      sentence; None to go on.
  """

  passes: int = 0
  may_stop: bool = False
  reason: str | None = None

  def begin(self, run: Run) -> None:
    """Prepares for the first round, or the round after a checkpoint."""

  def before_round(self, round_number: int) -> Mapping[str, float]:
    """Returns the values of `fedfish_tff.parameters` in a round, by name.

    They hold in training and in `after_evaluation`. The row has them as
    `schedule/*`.
    """
    del round_number
    return {}

  def after_round(self, round_: Round) -> None:
    """Adds columns of a trained round; counts in its `time/round_seconds`."""

  def finish(self, round_: Round) -> None:
    """Replaces the state after the last round, before it is evaluated."""

  def after_evaluation(self, round_: Round) -> None:
    """Adds columns of a trained and evaluated round."""

  def complete_row(self, round_: Round) -> None:
    """Adds columns of every row, that of the initial model included."""

  def observe(self, round_number: int, row: metrics_rows.Row) -> None:
    """Takes a released row into account; rows come in order."""

  def observe_rows(self, rows: Iterable[metrics_rows.Row]) -> None:
    """Takes the rows of earlier rounds into account, in order."""
    for row in rows:
      self.observe(row[metrics_rows.ROUND_COLUMN], row)

  def keeps(self, round_number: int) -> bool:
    """Returns whether an observed round must have a checkpoint."""
    del round_number
    return False

  def totals(self) -> Mapping[str, int | float]:
    """Returns totals of the run, by name."""
    return {}

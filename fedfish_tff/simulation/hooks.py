# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Hooks of the training loop: all that a run does beside training.

The loop initialises, trains, evaluates and saves. Schedules, costs, clocks,
privacy, early stopping, the barrier and progress are hooks, each in the module
of its idea.
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
  # Progress is shown while TensorFlow is imported.
  from fedfish_tff.datasets import batches as batches_lib


@dataclasses.dataclass(frozen=True)
class Run:
  """A run that begins, or goes on from a checkpoint.

  Attributes:
    first_round: The round that it starts from, whose row is its first.
    last_round: The last round that is done; None where no row is there yet.
    participation: The cohort of a round.
    start_totals: The totals of what it starts from, by name.
    read_rows: Reads the rows up to `last_round`. Raises InputError if no
      metrics manager has them.
    load: From a round to the state in its checkpoint; None if there is none.
      Raises InputError if it is damaged.
  """

  first_round: int
  last_round: int | None
  participation: Callable[[int], Sequence[str]]
  start_totals: Mapping[str, int | float]
  read_rows: Callable[[], Iterable[metrics_rows.Row]]
  load: Callable[[int], Any]

  @property
  def is_resumed(self) -> bool:
    """Whether it goes on from a checkpoint."""
    return self.last_round is not None


@dataclasses.dataclass
class Round:
  """A round, with the row that hooks add columns to.

  Attributes:
    number: Its number.
    row: Its columns so far.
    process: The learning process.
    state: The process' state after it; `Hook.finish` may replace it.
    old_state: The state before it; None for the row of the initial model.
    cohort: Its clients; empty for the row of the initial model.
    totals: Of the run, this round included; from `finish` on.
  """

  number: int
  row: dict[str, Any]
  process: Any
  state: Any
  old_state: Any = None
  cohort: Sequence['batches_lib.ClientBatches'] = ()
  totals: Mapping[str, int | float] = dataclasses.field(default_factory=dict)


class Hook:
  """A part of a run beside training; each method does nothing by itself.

  Hooks are called in the order in which the loop is given them. A run that
  resumes has the rows of one that never stopped, so a hook knows nothing that
  does not follow from the rounds' numbers, cohorts and rows: `begin` tells it
  the earlier ones. What must be in checkpoints is part of the process' state,
  as the average of `algorithms.build_weight_averaging_process` is.

  Attributes:
    passes: The passes over the cohort's data that `after_round` makes.
    may_stop: Whether `reason` may become a text.
    reason: Why the run ends before its last round, a part of a sentence; None
      to go on.
  """

  passes: int = 0
  may_stop: bool = False
  reason: str | None = None

  def begin(self, run: Run) -> None:
    """Prepares for the first round, or for the one after a checkpoint."""

  def before_round(self, round_number: int) -> Mapping[str, float]:
    """Returns `fedfish_tff.parameters` in a round, by name.

    Args:
      round_number: The round. Its training and `after_evaluation` have them, and
        its row has them as `schedule/*`.
    """
    del round_number
    return {}

  def after_round(self, round_: Round) -> None:
    """Adds columns of a trained round, as part of its `time/round_seconds`."""

  def finish(self, round_: Round) -> None:
    """Replaces the state after the last round, before it is evaluated."""

  def after_evaluation(self, round_: Round) -> None:
    """Adds columns of a trained round that is evaluated."""

  def complete_row(self, round_: Round) -> None:
    """Adds columns that every row has, that of the initial model included."""

  def observe(self, round_number: int, row: metrics_rows.Row) -> None:
    """Takes a row into account that was released; rows come in their order."""

  def observe_rows(self, rows: Iterable[metrics_rows.Row]) -> None:
    """Takes the rows of earlier rounds into account, in their order."""
    for row in rows:
      self.observe(row[metrics_rows.ROUND_COLUMN], row)

  def keeps(self, round_number: int) -> bool:
    """Whether a round that was observed has a checkpoint in any case."""
    del round_number
    return False

  def totals(self) -> Mapping[str, int | float]:
    """Returns totals of the run, by name."""
    return {}

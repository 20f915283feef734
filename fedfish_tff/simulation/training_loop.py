# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs a learning process for some rounds, so that stopping costs nothing.

The counterpart of `tff.simulation.run_training_process`. Who takes part and
with which batches is a function of (seed, round), and a checkpoint holds the
process' state together with the running totals, so that a resumed run equals
one that was never interrupted in all but the `time/` columns.
"""

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import time
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff import parameters
from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.datasets import client_data
from fedfish_tff.simulation import client_speeds
from fedfish_tff.simulation import client_state_store
from fedfish_tff.simulation import cohort_prefetch
from fedfish_tff.simulation import communication
from fedfish_tff.simulation import early_stopping
from fedfish_tff.simulation import federated_round
from fedfish_tff.simulation import metrics_rows
from fedfish_tff.simulation import participation as participation_lib
from fedfish_tff.simulation import privacy_loss
from fedfish_tff.simulation import round_problems
from fedfish_tff.simulation import run_recorder
from fedfish_tff.simulation import run_totals

import numpy as np
import tensorflow_federated as tff

Metrics = Mapping[str, Any]
EvaluationFn = Callable[[Any, int], Metrics]
BarrierFn = Callable[[Any, Any, Sequence[batches_lib.ClientBatches]], Metrics]
CriterionFn = Callable[[Any, Sequence[batches_lib.ClientBatches]], Metrics]
# From the process' state to another.
FinishFn = Callable[[Any], Any]

_LoopState = collections.OrderedDict[str, Any]


class TrainingResult(NamedTuple):
  """The end of a run.

  Attributes:
    state: The process' state.
    round_number: Rounds done.
    totals: Over all rounds, resumed ones included: `wire_bytes`,
      `payload_bytes`, `local_steps`, `excluded_clients` and `round_seconds`;
      `simulated_seconds` where `run_training` had a wall clock.
    client_states_digest: The digest of the clients' states after the last
      round, by which a `ClientStateStore` checks that it has them.
  """

  state: Any
  round_number: int
  totals: Mapping[str, int | float]
  client_states_digest: int = 0


def run_training(
  process: round_problems.AnyProcess,
  *,
  train_data: client_data.ClientData,
  participation: participation_lib.Participation,
  batch_spec: batches_lib.BatchSpec,
  seed: int,
  rounds: int,
  evaluation_fn: EvaluationFn | None = None,
  evaluate_every: int = 1,
  barrier_fn: BarrierFn | None = None,
  criterion_fn: CriterionFn | None = None,
  checkpoint_every: int = 1,
  checkpoint_at: Collection[int] = (),
  program_state_manager: tff.program.ProgramStateManager | None = None,
  metrics_managers: Sequence[tff.program.ReleaseManager] = (),
  wire_bytes: communication.WireBytes | None = None,
  costs_per_client: Mapping[str, int] | None = None,
  start: TrainingResult | None = None,
  finish_fn: FinishFn | None = None,
  round_parameters: Callable[[int], Mapping[str, float]] | None = None,
  stopping: early_stopping.EarlyStopping | None = None,
  on_round: Callable[[int, Metrics], None] | None = None,
  client_states: client_state_store.ClientStateStore | None = None,
  wall_clock: client_speeds.WallClock | None = None,
  epsilon: privacy_loss.Epsilon | None = None,
) -> TrainingResult:
  """Trains up to a number of rounds, from the last checkpoint if there is one.

  The first row of the metrics, that of round 0 or of the start's, holds the
  evaluation of the initial model. Besides the
  process' own metrics (see `metrics_flattening`) and those of the functions
  below, rows have `compute/local_steps` (gradient evaluations on a batch, summed
  over the cohort, extra passes included), `communication/wire_bytes`, both with
  `_total` over the run, and `time/round_seconds`; what the process measures as
  `communication/payload_bytes` has its `_total` too. Averages over the cohort's
  training are NaN where every client was excluded.

  Args:
    process: Any learning process, or one with client states. Those of this
      package also count clients with a non-finite update, which are then named
      in a warning.
    train_data: The clients that may take part. The next round's are read from
      a thread of their own while a round computes.
    participation: The cohort of a round; called from that thread.
    batch_spec: Batches of a client in a round.
    seed: With the round, decides each client's batches.
    rounds: The last round.
    evaluation_fn: From (state, round) to numbers by column name; called on the
      initial state, every `evaluate_every` rounds and after the last. Where
      the state has no model (Fed3R without lambda, before there are examples
      enough) a warning says so, and the row lacks its columns.
    evaluate_every: Rounds between two evaluations.
    barrier_fn: From (weights that clients start from before the round, after
      it, the cohort's batches) to numbers by column name; called where
      `evaluation_fn` is, but not on the initial state. Where the model before
      the round or after it does not exist, the row lacks its columns.
    criterion_fn: From (these weights after the round, the cohort's batches) to
      numbers by column name, by which later cohorts are chosen; called every
      round. It counts as one more pass over the clients' data.
    checkpoint_every: Rounds between two checkpoints; the last round has one.
    checkpoint_at: Further rounds with a checkpoint.
    program_state_manager: Saves and loads the run; None to do neither.
    metrics_managers: Get each round's row. `metrics_csv.CsvMetricsManager`s
      are rewound to the checkpoint first.
    wire_bytes: Bytes per client and round, see `communication`.
    costs_per_client: What else a client costs in a round, by column name; rows
      have it for the whole cohort.
    start: Where another run has led to, with a state of this process made of
      its model: its rounds and totals count, and the next round is trained
      first. None to begin with round 1.
    finish_fn: Applied to the state after the last round, before it is evaluated
      and saved, such as a choice among the models that it allows.
    round_parameters: From a round to numbers by name, which parameters
      (`fedfish_tff.parameters`) are in it and in its barrier, such as factors of
      learning rates; rows have them as `schedule/*`.
    stopping: Decides on the last round, if it is not `rounds`. It has seen no
      row; where the run resumes, those of the `CsvMetricsManager` among
      `metrics_managers`. A round that is the best so far has a checkpoint, the
      initial model too; whether it is kept, `program_state_manager` decides.
    on_round: Called with each row after it was released.
    client_states: Where the clients' states are between their rounds, if they
      have any; not used otherwise. What it holds is removed where the run does
      not resume. When a round is evaluated it has the states after it. Where
      it resumes, a state that is missing or not the checkpoint's is an error.
    wall_clock: How long a round would last; rows then have
      `simulated/seconds`, the time since the beginning. A resumed run asks it,
      and `participation`, for all earlier rounds again.
    epsilon: What rounds tell of a client; rows then have `privacy/epsilon`.

  Returns:
    The final state, round and totals.

  Raises:
    errors.InputError: If a client's data or an argument cannot be used (checks
      inside of the process included), or a file cannot be written; if the
      start has all the rounds already; if the clients' states have no place
      or were lost; or if a run that resumes has no rows for `stopping`, or one
      with `stopping` has a `finish_fn`, which is for the round `rounds` alone.
    KeyboardInterrupt: On Ctrl-C, after a checkpoint of the last whole round;
      its message says how to resume.
  """
  for name, value in (
    ('rounds', rounds),
    ('evaluate_every', evaluate_every),
    ('checkpoint_every', checkpoint_every),
  ):
    if value < 1:
      raise errors.InputError(
        f'{name} is {value}; a positive integer was expected.'
      )
  first = 0 if start is None else start.round_number
  if first >= rounds:
    raise errors.InputError(
      f'rounds is {rounds}, but the start takes {first} rounds, which count; '
      f'{first + 1} or more was expected.'
    )
  if stopping is not None and finish_fn is not None:
    raise errors.InputError(
      'A run that may stop early has a finish_fn; none was expected.'
    )
  client_states = federated_round.check_client_states(process, client_states)
  with (
    run_recorder.RunRecorder(
      program_state_manager, metrics_managers
    ) as recorder,
    cohort_prefetch.CohortPrefetcher(
      train_data, participation, batch_spec, seed=seed, last_round=rounds
    ) as cohorts,
  ):
    if start is None:
      initial = _initial_loop_state(process)
    else:
      initial = _loop_state(
        process, start.state, run_totals.totals_of(start.totals)
      )
    loop_state, round_number = recorder.resume(initial)
    # One assignment each, so that Ctrl-C cannot fall between state and round.
    done = (loop_state, round_number)
    simulated = run_totals.SimulatedTime(
      wall_clock, start.totals if start else {}
    )
    if wall_clock is not None:
      for earlier in range(first + 1, (round_number or first) + 1):
        simulated.add_round(earlier, participation(earlier))
    checkpoints = recorder.kept_rounds()
    if stopping is not None and round_number is not None:
      for row in recorder.rows():
        stopping.observe(row[metrics_rows.ROUND_COLUMN], row)
      if stopping.best_round is not None:
        # A damaged one is told now, not after the rounds that are left.
        recorder.load(initial, stopping.best_round)
    if client_states is not None:
      if round_number is None:
        client_states.reset()
      else:
        client_states.rewind(
          round_number,
          int(loop_state['client_states']),
          ((r, participation(r)) for r in range(round_number, first, -1)),
        )

    def finish_round(
      round_number: int, loop_state: _LoopState, row: dict[str, Any]
    ) -> None:
      row.update(
        run_totals.total_columns(loop_state['totals'], row, wire_bytes)
      )
      row.update(simulated.columns())
      if epsilon is not None:
        row['privacy/epsilon'] = epsilon(round_number)
      recorder.release(round_number, row)
      if stopping is not None:
        stopping.observe(round_number, row)
      if on_round is not None:
        on_round(round_number, row)

    try:
      if round_number is None:
        row = {}
        if evaluation_fn is not None:
          with round_problems.skip_evaluation(first):
            row.update(evaluation_fn(loop_state['process'], first))
        finish_round(first, loop_state, row)
        done = (loop_state, first)
        if stopping is not None and stopping.best_round == first:
          recorder.save(loop_state, first)
          checkpoints = recorder.kept_rounds()
      for round_number in range(done[1] + 1, rounds + 1):
        if stopping is not None and stopping.reason is not None:
          break
        state = loop_state['process']
        round_began = time.monotonic()
        cohort = cohorts.load(round_number)
        scheduled = round_parameters(round_number) if round_parameters else {}
        with parameters.replaced(scheduled):
          result = federated_round.run_round(
            process,
            state,
            cohort,
            round_number,
            client_states,
            # The round before is what Ctrl-C saves.
            kept_rounds={*checkpoints, round_number - 1},
          )
        row = result.row
        row.update({f'schedule/{name}': v for name, v in scheduled.items()})
        if criterion_fn is not None:
          row.update(
            criterion_fn(
              round_problems.training_weights(process, result.state), cohort
            )
          )
        row.update(
          run_totals.round_costs(
            process,
            cohort,
            wire_bytes,
            costs_per_client or {},
            further_passes=int(criterion_fn is not None),
          )
        )
        row['time/round_seconds'] = time.monotonic() - round_began
        simulated.add_round(round_number, [c.client_id for c in cohort])
        federated_round.report_problems(
          process, state, cohort, round_number, result
        )
        new_state = result.state
        # The clients' old states would be in memory during the next round.
        del result
        if finish_fn is not None and round_number == rounds:
          new_state = finish_fn(new_state)
        loop_state = _loop_state(
          process,
          new_state,
          run_totals.add_round(loop_state['totals'], row),
          client_states.digest if client_states is not None else 0,
        )
        if round_number % evaluate_every == 0 or round_number == rounds:
          evaluation_began = time.monotonic()
          if evaluation_fn is not None:
            with round_problems.skip_evaluation(round_number):
              row.update(evaluation_fn(new_state, round_number))
          if barrier_fn is not None:
            with (
              parameters.replaced(scheduled),
              round_problems.skip_barrier(round_number),
            ):
              row.update(
                barrier_fn(
                  round_problems.training_weights(process, state),
                  round_problems.training_weights(process, new_state),
                  cohort,
                )
              )
          row['time/evaluation_seconds'] = time.monotonic() - evaluation_began
        finish_round(round_number, loop_state, row)
        done = (loop_state, round_number)
        if (
          round_number % checkpoint_every == 0
          or round_number in checkpoint_at
          or round_number == rounds
          or stopping is not None
          and (stopping.best_round == round_number or stopping.reason)
        ):
          recorder.save(loop_state, round_number)
          checkpoints = recorder.kept_rounds()
    except KeyboardInterrupt:
      raise KeyboardInterrupt(recorder.stop(*done)) from None
  result = _to_result(loop_state, done[1])
  return result._replace(totals={**result.totals, **simulated.totals()})


def load_result(
  process: round_problems.AnyProcess,
  program_state_manager: tff.program.ProgramStateManager,
  *,
  round_number: int | None = None,
) -> TrainingResult | None:
  """Returns where a run stands, or stood; nothing is changed.

  Args:
    process: The process the run trains.
    program_state_manager: The run's.
    round_number: The round; None for that of the last checkpoint that is not
      damaged.

  Returns:
    The state, round and totals, but for the simulated time, which no checkpoint
    holds; None if there is no such checkpoint.

  Raises:
    errors.InputError: If the checkpoint is damaged or that of another process;
      without `round_number`, if all are.
  """
  with run_recorder.RunRecorder(program_state_manager, ()) as recorder:
    structure = _initial_loop_state(process)
    if round_number is None:
      loop_state, round_number = recorder.resume(structure)
    else:
      loop_state = recorder.load(structure, round_number)
  if loop_state is None or round_number is None:
    return None
  return _to_result(loop_state, round_number)


def _to_result(loop_state: _LoopState, round_number: int) -> TrainingResult:
  totals = {name: total.item() for name, total in loop_state['totals'].items()}
  return TrainingResult(
    loop_state['process'],
    round_number,
    totals,
    int(loop_state.get('client_states', 0)),
  )


def _initial_loop_state(process: round_problems.AnyProcess) -> _LoopState:
  return _loop_state(process, process.initialize(), run_totals.initial_totals())


def _loop_state(
  process: round_problems.AnyProcess,
  state: Any,
  totals: run_totals.Totals,
  client_states_digest: int = 0,
) -> _LoopState:
  """Returns what a checkpoint holds, by which client states are checked too."""
  loop_state = collections.OrderedDict(process=state, totals=totals)
  if federated_round.has_client_states(process):
    loop_state['client_states'] = np.int64(client_states_digest)
  return loop_state

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The training loop, which runs a learning process and can resume it.

It is the counterpart of `tff.simulation.run_training_process`. Cohorts and
their batches are functions of (seed, round), and a checkpoint holds the
process' state together with the running totals, so that a resumed run equals
one that was never interrupted in all but the `time/` columns.
"""

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import functools
import time
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff import parameters
from fedfish_tff import private_apis
from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.datasets import client_data
from fedfish_tff.simulation import client_state_store
from fedfish_tff.simulation import cohort_prefetch
from fedfish_tff.simulation import costs
from fedfish_tff.simulation import federated_round
from fedfish_tff.simulation import hooks as hooks_lib
from fedfish_tff.simulation import participation as participation_lib
from fedfish_tff.simulation import round_problems
from fedfish_tff.simulation import run_recorder

import numpy as np
import tensorflow_federated as tff

Metrics = Mapping[str, Any]
EvaluationFn = Callable[[Any, int], Metrics]

_LoopState = collections.OrderedDict[str, Any]


class TrainingResult(NamedTuple):
  """The end of a run.

  Attributes:
    state: The process' state after the last completed round.
    round_number: The number of completed rounds, those of a start included.
    totals: The totals over all rounds, those before a resumption included:
      `wire_bytes`, `payload_bytes`, `local_steps`, `excluded_clients`,
      `round_seconds` and those of the hooks.
    client_states_digest: The digest of the clients' states after the last
      round, by which a `ClientStateStore` checks that it has them.
  """

  state: Any
  round_number: int
  totals: dict[str, int | float]
  client_states_digest: int = 0


def check_context() -> None:
  """Raises InputError in a thread in which computations cannot run."""
  if private_apis.is_no_context(tff.framework.get_context_stack().current):
    raise errors.InputError(
      'Each thread that trains must have an execution context, since TFF has a '
      'default one for each thread, got none: call '
      'fedfish_tff.execution.set_default_context() in this thread, too.'
    )


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
  checkpoint_every: int = 1,
  checkpoint_at: Collection[int] = (),
  program_state_manager: tff.program.ProgramStateManager | None = None,
  metrics_managers: Sequence[tff.program.ReleaseManager] = (),
  start: TrainingResult | None = None,
  client_states: client_state_store.ClientStateStore | None = None,
  hooks: Sequence[hooks_lib.Hook] = (),
) -> TrainingResult:
  """Trains up to a number of rounds, from the last checkpoint if there is one.

  The first row of the metrics, for round 0 or the start's round, holds the
  evaluation of the initial model. Rows have the metrics of the process by
  `flatten_metrics`, of `evaluation_fn` and of the hooks. They also have
  `time/round_seconds` and `compute/local_steps` (gradient evaluations on a
  batch, summed over the cohort, extra passes included).
  `compute/local_steps_total` is its sum over the run, and the process'
  `communication/payload_bytes` has a `_total`, too. Averages over the cohort's
  training are NaN if every client was excluded.

  A round is: `before_round` of the hooks, training, `after_round`, `finish` in
  the last round, evaluation and `after_evaluation` if due, and `complete_row`.
  Then the row is released, `observe` is called, and a checkpoint is written if
  it is due or a hook `keeps` the round.

  Args:
    process: Any learning process, or one with client states. Processes of this
      package also count clients with a non-finite update; a line names them.
    train_data: The clients that may take part. Another thread reads the next
      round's clients while a round computes.
    participation: The function that returns the cohort of a round; called from
      that thread.
    batch_spec: The batches of a client in a round.
    seed: The seed that, with the round, decides each client's batches.
    rounds: The number of the last round; a start's rounds count.
    evaluation_fn: The function from (state, round) to numbers by column name.
      It is called on the initial state, every `evaluate_every` rounds and after
      the last. If the state has no model (Fed3R without lambda and with too few
      examples), a warning says so, and the row lacks these columns.
    evaluate_every: The number of rounds between two evaluations.
    checkpoint_every: The number of rounds between two checkpoints; the last
      round always has one.
    checkpoint_at: Further rounds with a checkpoint.
    program_state_manager: The manager that saves and loads the run; None to do
      neither.
    metrics_managers: The managers that receive each round's row. A
      `metrics_csv.CsvMetricsManager` is rewound to the checkpoint first.
    start: The end of another run, with a state of this process that has the
      other run's model. Its rounds and totals count, and the next round is
      trained first. None to begin with round 1.
    client_states: The store of the clients' states between their rounds; unused
      if they have none. A run that does not resume empties it. During an
      evaluation it has the states after the round. In a resumed run, a state
      that is missing or differs from the checkpoint's is an error.
    hooks: Everything else that the run does, in order. If one may stop the run
      early, none may have `finish`, which is for the round `rounds` alone.

  Returns:
    The final state, round and totals.

  Raises:
    errors.InputError: If a client's data or an argument cannot be used (checks
      inside the process included), or a file cannot be written; if the start
      already has all rounds; if there is no store for the clients' states, or
      it lost some; if a resumed run has no rows for a hook that needs them; or
      if one hook may stop the run early and another has `finish`, which is for
      the round `rounds` alone.
    KeyboardInterrupt: On Ctrl-C, after a checkpoint of the last whole round;
      its message says how to resume.
  """
  check_context()
  for name, value in (
    ('rounds', rounds),
    ('evaluate_every', evaluate_every),
    ('checkpoint_every', checkpoint_every),
  ):
    errors.check_positive_integer(name, value)
  first = 0 if start is None else start.round_number
  if first >= rounds:
    raise errors.InputError(
      f'rounds must be {first + 1} or more, since the start takes {first} '
      f'rounds, which count; got {rounds}.'
    )
  if any(h.may_stop for h in hooks) and any(
    type(h).finish is not hooks_lib.Hook.finish for h in hooks
  ):
    raise errors.InputError(
      'hooks must not both stop a run early and finish its last state.'
    )
  if not federated_round.has_client_states(process):
    client_states = None
  elif client_states is None:
    raise errors.InputError(
      'client_states must be a ClientStateStore, since the clients of this '
      'process have states, got None.'
    )
  with (
    run_recorder.RunRecorder(
      program_state_manager, metrics_managers
    ) as recorder,
    cohort_prefetch.CohortPrefetcher(
      train_data, participation, batch_spec, seed=seed, last_round=rounds
    ) as cohorts,
  ):
    start_totals = start.totals if start else {}
    initial = _loop_state(
      process,
      start.state if start else process.initialize(),
      costs.totals_of(start_totals),
    )
    loop_state, round_number = recorder.resume(initial)
    # A single assignment, so that Ctrl-C cannot separate state and round.
    done = (loop_state, round_number)
    run = hooks_lib.Run(
      first_round=first,
      last_round=round_number,
      participation=participation,
      start_totals=start_totals,
      read_rows=recorder.rows,
      load=functools.partial(recorder.load, initial),
    )
    for hook in hooks:
      hook.begin(run)
    if client_states is not None:
      if round_number is None:
        client_states.reset()
      else:
        client_states.rewind(
          round_number,
          int(loop_state['client_states']),
          ((r, participation(r)) for r in range(round_number, first, -1)),
        )
    # Only now, since hooks decide which of them are kept.
    recorder.remove_old()
    checkpoints = recorder.kept_rounds()

    def evaluate(round_: hooks_lib.Round) -> None:
      if evaluation_fn is not None:
        with round_problems.skip_without_model(
          f'Round {round_.number} was not evaluated.'
        ):
          round_.row.update(evaluation_fn(round_.state, round_.number))

    def release(round_: hooks_lib.Round) -> None:
      row = round_.row
      row.update(costs.total_columns(round_.totals, row))
      for hook in hooks:
        hook.complete_row(round_)
      recorder.release(round_.number, row)
      for hook in hooks:
        hook.observe(round_.number, row)

    def flush(round_number: int | None) -> None:
      """Writes clients' states before the checkpoint that needs them."""
      if client_states is not None and round_number is not None:
        client_states.flush(kept_rounds={*checkpoints, round_number})

    try:
      if round_number is None:
        round_ = hooks_lib.Round(
          first, {}, process, loop_state['process'], totals=loop_state['totals']
        )
        evaluate(round_)
        release(round_)
        done = (loop_state, first)
        if any(hook.keeps(first) for hook in hooks):
          recorder.save(loop_state, first)
          checkpoints = recorder.kept_rounds()
      checked = set()
      for round_number in range(done[1] + 1, rounds + 1):
        if any(hook.reason is not None for hook in hooks):
          break
        state = loop_state['process']
        began = time.monotonic()
        cohort = cohorts.load(round_number)
        scheduled = {}
        for hook in hooks:
          scheduled.update(hook.before_round(round_number))
        if not scheduled.keys() <= checked:
          _check_scheduled(process, scheduled)
          checked |= scheduled.keys()
        with parameters.replaced(scheduled):
          result = federated_round.run_round(
            process,
            state,
            cohort,
            round_number,
            client_states,
            # On Ctrl-C, the round before is saved.
            kept_rounds={*checkpoints, round_number - 1},
          )
        row = result.row
        row.update({f'schedule/{name}': v for name, v in scheduled.items()})
        round_ = hooks_lib.Round(
          round_number, row, process, result.state, state, cohort
        )
        for hook in hooks:
          hook.after_round(round_)
        further_passes = sum(hook.passes for hook in hooks)
        row.update(costs.count_local_steps(process, cohort, further_passes))
        row['time/round_seconds'] = time.monotonic() - began
        federated_round.report_problems(
          process, state, cohort, round_number, result
        )
        # Frees the clients' old states before the next round.
        del result
        round_.totals = costs.add_round(loop_state['totals'], row)
        if round_number == rounds:
          for hook in hooks:
            hook.finish(round_)
        loop_state = _loop_state(
          process,
          round_.state,
          round_.totals,
          client_states.digest if client_states is not None else 0,
        )
        if round_number % evaluate_every == 0 or round_number == rounds:
          began = time.monotonic()
          evaluate(round_)
          with parameters.replaced(scheduled):
            for hook in hooks:
              hook.after_evaluation(round_)
          row['time/evaluation_seconds'] = time.monotonic() - began
        release(round_)
        done = (loop_state, round_number)
        if (
          round_number % checkpoint_every == 0
          or round_number in checkpoint_at
          or round_number == rounds
          or any(hook.reason is not None for hook in hooks)
          or any(hook.keeps(round_number) for hook in hooks)
        ):
          flush(round_number)
          recorder.save(loop_state, round_number)
          checkpoints = recorder.kept_rounds()
    except KeyboardInterrupt:
      flush(done[1])
      raise KeyboardInterrupt(recorder.stop(*done)) from None
  result = _to_result(loop_state, done[1])
  for hook in hooks:
    result.totals.update(hook.totals())
  return result


def load_result(
  process: round_problems.AnyProcess,
  program_state_manager: tff.program.ProgramStateManager,
  *,
  round_number: int | None = None,
) -> TrainingResult | None:
  """Returns the result of a run so far, or that of an earlier round.

  Args:
    process: The process that the run trains.
    program_state_manager: The run's manager of checkpoints.
    round_number: The round; None for that of the last undamaged checkpoint.

  Returns:
    The state, round and totals without those of hooks; None if there is no such
    checkpoint.
  """
  with run_recorder.RunRecorder(program_state_manager, ()) as recorder:
    structure = _loop_state(process, process.initialize(), costs.totals_of({}))
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


def _check_scheduled(
  process: round_problems.AnyProcess, names: Collection[str]
) -> None:
  """Raises InputError for a schedule that would change nothing."""
  # FedMA's is a Python function around several computations.
  if isinstance(process.next, tff.Computation):
    known = parameters.names_in(process.next)
    for name in names:
      if name not in known:
        raise errors.InputError(
          'A schedule must be of a parameter of the process, such as the rate '
          f'of client_work.build_rate_parameter_optimizer, got {name!r}; there '
          f'are: {", ".join(sorted(known)) or "none"}.'
        )
  parameters.check_replaced_here('a schedule')


def _loop_state(
  process: round_problems.AnyProcess,
  state: Any,
  totals: costs.Totals,
  client_states_digest: int = 0,
) -> _LoopState:
  """Returns the content of a checkpoint, with the client states' digest."""
  loop_state = collections.OrderedDict(process=state, totals=totals)
  if federated_round.has_client_states(process):
    loop_state['client_states'] = np.int64(client_states_digest)
  return loop_state

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the training loop: results, rows, kills and resumes."""

import asyncio
import collections
import contextlib
import functools
import io
from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff import parameters
from fedfish_tff.datasets import batches
from fedfish_tff.evaluation import gradient_norm
from fedfish_tff.simulation import checkpoints
from fedfish_tff.simulation import client_speeds
from fedfish_tff.simulation import communication
from fedfish_tff.simulation import early_stopping
from fedfish_tff.simulation import hooks
from fedfish_tff.simulation import participation_stages
from fedfish_tff.simulation import round_hooks
from fedfish_tff.simulation import training_loop
from tests import row_callback
from tests import tolerance
from tests import training_runs

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_SEED, _ROUNDS = training_runs.SEED, training_runs.ROUNDS
# Of test_early_stopping.
_STOPPED = 4
_WIRE_BYTES = communication.WireBytes(download=100, upload=11)
_SPEEDS = client_speeds.dynamic_exponential_speeds(seed=_SEED)


@functools.cache
def _build_process(build=algorithms.build_fed_avg, **kwargs):
  return build(
    training_runs.create_model(),
    tff.learning.optimizers.build_sgdm(0.1),
    tff.learning.optimizers.build_adam(0.1),
    **kwargs,
  )


def _evaluate(state, round_number):
  weights = state.global_model_weights.trainable
  return {'eval/norm': np.sqrt(sum((w**2).sum() for w in weights))} | (
    {'eval/late': 1.0} if round_number > 3 else {}
  )


class _Answering:
  """A process that is asked whose update is finite, and says what it is told."""

  def __init__(self, process, answers):
    self._process = process
    self._answers = iter(answers)

  def __getattr__(self, name):
    return getattr(self._process, name)

  def update_is_finite(self, weights, dataset):
    del weights, dataset
    return next(self._answers)


class RunTrainingTest(training_runs.TestCase):
  SIZES = {'a': 3, 'b': 5, 'c': 8, 'd': 4}
  SPEC = batches.BatchSpec(batch_size=2, epochs=2, max_examples=6)

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.process = _build_process()

  def _run(self, folder=None, *, process=None, further=(), **kwargs):
    return self.run_training(
      process or self.process,
      folder,
      **{'evaluation_fn': _evaluate, 'evaluate_every': 2, **kwargs},
      hooks=[
        communication.CommunicationCosts(_WIRE_BYTES),
        round_hooks.SimulatedTime(
          client_speeds.build_wall_clock(_SPEEDS, communication_seconds=0.7)
        ),
        *further,
      ],
    )

  def _run_killed(self, killed_at, run=None, **kwargs):
    """Runs until a round, then again; returns the result and its folder."""
    run = run or self._run
    folder = self.folder / f'killed{killed_at}'
    with self.assertRaises(training_runs.Stop):
      run(folder, further=[training_runs.stop_at(killed_at)], **kwargs)
    return run(folder, **kwargs), folder

  def _log_of(self, **kwargs):
    """Runs; returns the result, and the lines on stderr."""
    with contextlib.redirect_stderr(io.StringIO()) as stream:
      result = self._run(**kwargs)
    return result, stream.getvalue()

  def _assert_equal_runs(self, one, other, one_folder, other_folder):
    self.assertEqual(self.rows(one_folder), self.rows(other_folder))
    self.assert_same_bits(one.state, other.state)
    self.assertEqual(one.round_number, other.round_number)
    for name in ('wire_bytes', 'local_steps', 'excluded_clients'):
      self.assertEqual(one.totals[name], other.totals[name])

  def test_equals_the_process_called_by_hand(self):
    result = self._run()
    state, _, metrics = self.call_by_hand(
      self.process, map(self.cohorts, range(1, _ROUNDS + 1))
    )
    self.assert_same_bits(result.state, state)
    self.assertEqual(
      [row['train/loss'] for row in self.rows()[1:]],
      [float(m['client_work']['train']['loss']) for m in metrics],
    )

  def test_the_result_can_be_loaded_without_training(self):
    manager = checkpoints.CheckpointManager(self.folder / 'checkpoints')
    self.assertIsNone(training_loop.load_result(self.process, manager))
    result = self._run(rounds=3)
    loaded = training_loop.load_result(self.process, manager)
    self._assert_equal_runs(result, loaded, self.folder, self.folder)

  @pytest.mark.thorough
  def test_a_round_between_has_a_checkpoint_and_changes_nothing(self):
    def run(folder, **kwargs):
      return self._run(
        folder,
        checkpoint_at=[3],
        program_state_manager=checkpoints.CheckpointManager(
          folder / 'checkpoints', keep_total=1, keep_versions=lambda: [3]
        ),
        **kwargs,
      )

    whole = self._run(self.folder / 'whole')
    until_3 = self._run(self.folder / 'until_3', rounds=3)
    folder = self.folder / 'never_killed'
    ends = [(run(folder), folder)]
    ends += [self._run_killed(killed_at, run) for killed_at in (2, 3, 4)]
    for result, folder in ends:
      self._assert_equal_runs(whole, result, self.folder / 'whole', folder)
      manager = checkpoints.CheckpointManager(folder / 'checkpoints')
      loaded = training_loop.load_result(self.process, manager, round_number=3)
      self.assertEqual(loaded.round_number, 3)
      self.assert_same_bits(until_3.state, loaded.state)
      self.assertIsNone(
        training_loop.load_result(self.process, manager, round_number=2)
      )

  @parameterized.parameters(*range(_STOPPED + 1), None)
  def test_early_stopping(self, killed_at):
    """As the run of so few rounds, wherever it was killed."""

    def evaluate(unused_state, round_number):
      return {'eval/score': [3.0, 4.0, 5.0, 5.0, 4.0, 9.0][round_number]}

    def run(folder, *further):
      stopping = early_stopping.EarlyStopping(
        'eval/score', higher_is_better=True, patience=2
      )
      result = self._run(
        folder,
        rounds=5,
        evaluation_fn=evaluate,
        evaluate_every=1,
        checkpoint_every=3,
        further=[stopping, *further],
        program_state_manager=checkpoints.CheckpointManager(
          folder / 'checkpoints',
          keep_total=1,
          keep_versions=lambda: [stopping.best_round],
        ),
      )
      self.assertEqual(stopping.best_round, 2)
      self.assertIn('than 5, that of round 2, in 2 ev', stopping.reason)
      return result

    folder, plain = self.folder / 'stopped', self.folder / 'plain'
    if killed_at is not None:
      with self.assertRaises(training_runs.Stop):
        run(folder, training_runs.stop_at(killed_at))
    found = run(folder)
    expected = self._run(
      plain, rounds=_STOPPED, evaluation_fn=evaluate, evaluate_every=1
    )
    self._assert_equal_runs(found, expected, folder, plain)
    manager = checkpoints.CheckpointManager(folder / 'checkpoints')
    self.assertEqual(asyncio.run(manager.get_versions()), [2, _STOPPED])
    # It is finished.
    before = (folder / 'metrics.csv').read_bytes()
    self._assert_equal_runs(run(folder), expected, folder, plain)
    self.assertEqual((folder / 'metrics.csv').read_bytes(), before)

  def test_a_run_resumes_without_the_rows_that_early_stopping_needs(self):
    self._run(rounds=2)
    with self.assertRaisesRegex(errors.InputError, 'CsvMetricsManager'):
      self._run(
        metrics_managers=(),
        further=[
          early_stopping.EarlyStopping(
            'eval/norm', higher_is_better=True, patience=1
          )
        ],
      )

  def test_rows_hold_costs_and_evaluations(self):
    seen = []
    result = self._run(
      further=[row_callback.RowCallback(lambda r, _: seen.append(r))]
    )
    rows = self.rows()
    self.assertEqual([row['round'] for row in rows], list(range(_ROUNDS + 1)))
    self.assertEqual(seen, list(range(_ROUNDS + 1)))
    total = 0
    for row in rows[1:]:
      capped = [min(6, self.SIZES[c]) for c in self.cohorts(row['round'])]
      steps = sum(-(-n // 2) * 2 for n in capped)
      total += steps
      self.assertEqual(row['compute/local_steps'], steps)
      self.assertEqual(row['compute/local_steps_total'], total)
      self.assertEqual(row['train/num_examples'], 2 * sum(capped))
      self.assertEqual(row['train/excluded_clients'], 0)
      self.assertEqual(row['communication/wire_bytes'], 2 * 111)
      self.assertEqual(
        row['communication/wire_bytes_total'], row['round'] * 2 * 111
      )
      self.assertEqual('eval/norm' in row, row['round'] % 2 == 0)
    self.assertIn('eval/norm', rows[0])
    self.assertEqual(rows[0]['compute/local_steps_total'], 0)
    self.assertNotIn('train/loss', rows[0])
    self.assertEqual(result.totals['local_steps'], total)
    self.assertGreater(result.totals['round_seconds'], 0)

  @pytest.mark.thorough
  def test_counts_the_fisher_pass_and_calls_the_barrier(self):
    process = _build_process(algorithms.build_fed_fish, local_epochs=2)
    calls = []

    def measure(before, after, cohort):
      calls.append((before, after, cohort))
      return {'csb/loss': 0.5}

    result = self._run(
      process=process, further=[round_hooks.Barrier(measure)], rounds=3
    )
    rows = self.rows()
    capped = [min(6, self.SIZES[c]) for c in self.cohorts(1)]
    self.assertEqual(
      rows[1]['compute/local_steps'], sum(-(-n // 2) * 3 for n in capped)
    )
    # At round 2 and after the last round, not on the initial model.
    self.assertEqual(
      [row['round'] for row in rows if 'csb/loss' in row], [2, 3]
    )
    before, after, cohort = calls[-1]
    self.assertEqual(
      tuple(client.client_id for client in cohort), self.cohorts(3)
    )
    tolerance.assert_same(
      after.trainable, result.state.global_model_weights.trainable
    )
    self.assertFalse(np.array_equal(before.trainable[0], after.trainable[0]))

  @parameterized.parameters((np.inf, [1, 1, 2, 2, 4, 4]), (0.0, [1] * 6))
  def test_stages_by_statistical_accuracy(self, constant, sizes):
    """The limits: as fast as decisions allow, or never."""
    stages = participation_stages.AccuracyStages(1, most=4)
    seen = []
    criterion = gradient_norm.AccuracyCriterion(
      gradient_norm.build_gradient_norm(training_runs.create_model()),
      constant=constant,
    )

    def measure(weights, cohort):
      seen.append((weights, [client.client_id for client in cohort]))
      return criterion(weights, cohort)

    result = self._run(
      participation=lambda r: tuple('cabd'[: stages.size(r)]),
      further=[stages, round_hooks.Criterion(measure)],
    )
    self.assertEqual([ids for _, ids in seen], [[*'cabd'][:n] for n in sizes])
    # At the weights after the round.
    np.testing.assert_array_equal(
      seen[-1][0].trainable[0], result.state.global_model_weights.trainable[0]
    )
    for row, (_, ids) in zip(self.rows()[1:], seen, strict=True):
      # Two epochs, and a pass for the gradient.
      self.assertEqual(
        row['compute/local_steps'],
        sum(3 * -(-min(6, self.SIZES[c]) // 2) for c in ids),
      )

  def test_a_killed_run_resumes_as_if_it_never_stopped(self):
    whole = self._run(self.folder / 'whole')
    for killed_at in (0, 2, 3, _ROUNDS):
      resumed, folder = self._run_killed(killed_at)
      self._assert_equal_runs(whole, resumed, self.folder / 'whole', folder)

  def test_old_checkpoints_go_after_a_kill_before_their_removal(self):
    manager = checkpoints.CheckpointManager(self.folder / 'checkpoints')
    run = functools.partial(self._run, program_state_manager=manager)
    with (
      mock.patch.object(
        manager, '_remove', autospec=True, side_effect=training_runs.Stop
      ),
      self.assertRaises(training_runs.Stop),
    ):
      run()
    self.assertEqual(asyncio.run(manager.get_versions()), [2, 4, 6])
    run()
    self.assertEqual(asyncio.run(manager.get_versions()), [4, 6])

  def test_rounds_last_as_their_slowest_client(self):
    result = self._run(rounds=3)
    seconds = [0.0]
    for round_number in range(1, 4):
      slowest = max(_SPEEDS(round_number, self.cohorts(round_number)))
      seconds.append(seconds[-1] + (slowest + 0.7))
    self.assertEqual([r['simulated/seconds'] for r in self.rows()], seconds)
    self.assertEqual(result.totals['simulated_seconds'], seconds[-1])

  def test_a_round_without_clients_changes_nothing(self):
    with self.assertNoLogs(level='WARNING'):
      result = self._run(
        participation=lambda round_number: ('ab', '', '')[round_number - 1],
        rounds=3,
        checkpoint_every=1,
      )
    rows = self.rows()
    for row in rows[2:]:
      self.assertTrue(np.isnan(row['train/loss']), row)
      self.assertEqual(row['train/num_examples'], 0)
      self.assertEqual(row['communication/wire_bytes'], 0)
    before = self._run(
      self.folder / 'before', participation=lambda _: 'ab', rounds=1
    )
    tolerance.assert_same(
      result.state.global_model_weights.trainable,
      before.state.global_model_weights.trainable,
    )
    # The messages alone take their time.
    self.assertAlmostEqual(
      rows[3]['simulated/seconds'] - rows[1]['simulated/seconds'], 1.4, places=6
    )

  def test_a_finished_run_stays_as_it_is(self):
    once = self._run()
    rows = self.rows()
    again = self._run(
      further=[
        row_callback.RowCallback(lambda *_: self.fail('No round is left.'))
      ]
    )
    self.assertEqual(self.rows(), rows)
    self.assertEqual(once.totals, again.totals)

  def test_ctrl_c_saves_the_last_whole_round(self):
    whole = self._run(self.folder / 'whole')

    def interrupt(state, round_number):
      if round_number == 4:
        raise KeyboardInterrupt()
      return _evaluate(state, round_number)

    with self.assertRaisesRegex(KeyboardInterrupt, 'of round 3.*same command'):
      self._run(
        evaluation_fn=interrupt,
        checkpoint_every=100,
      )
    resumed = self._run(
      further=[row_callback.RowCallback(lambda r, _: self.assertGreater(r, 3))]
    )
    self._assert_equal_runs(whole, resumed, self.folder / 'whole', self.folder)

  def test_names_excluded_clients(self):
    result, log = self._log_of(
      train_data=self.train_data(bad_clients='c'),
      participation=lambda round_number: ('a', 'c', 'b'),
      rounds=1,
    )
    self.assertRegex(log, r'Round 1: .* of 1 of 3 clients .* out: c; ')
    self.assertEqual(self.rows()[1]['train/excluded_clients'], 1)
    self.assertEqual(result.totals['excluded_clients'], 1)
    for weight in result.state.global_model_weights.trainable:
      self.assertTrue(np.isfinite(weight).all())

  def test_a_round_of_excluded_clients_only_does_not_look_perfect(self):
    result, log = self._log_of(
      train_data=self.train_data(bad_clients='c'),
      participation=lambda round_number: ('ab', 'c', 'ac')[round_number - 1],
      rounds=3,
    )
    rows = self.rows()
    for name in ('train/loss', 'train/accuracy'):
      self.assertTrue(np.isfinite(rows[1][name]))
      self.assertTrue(np.isnan(rows[2][name]), rows[2][name])
      self.assertTrue(np.isfinite(rows[3][name]))
    self.assertEqual(rows[2]['train/excluded_clients'], 1)
    self.assertEqual(rows[2]['train/num_examples'], 0)
    self.assertEqual(result.totals['excluded_clients'], 2)
    self.assertRegex(log, r'^Round 2: .*; the server keeps what it had\.\n')
    self.assertLen(log.splitlines(), 2)
    self.assertNotIn('the server keeps', log.splitlines()[1])

  @parameterized.named_parameters(
    # Nobody need be asked: there is no answer.
    ('everyone', 'dc', [], r'of 2 of 2 clients .* out: d, c; '),
    # As where an update is finite when it is computed again.
    ('none', 'acd', [True] * 3, 'left out: 2 not identified; a smaller'),
    (
      'one',
      'acd',
      [True, True, False],
      'left out: d, 1 not identified; a smaller',
    ),
  )
  def test_clients_that_can_be_identified(self, cohort, answers, told):
    _, log = self._log_of(
      process=_Answering(self.process, answers),
      train_data=self.train_data(bad_clients='cd'),
      participation=lambda round_number: tuple(cohort),
      rounds=1,
    )
    self.assertRegex(log, told)

  def test_a_lost_metrics_file_is_not_continued(self):
    self._run(rounds=2)
    (self.folder / 'metrics.csv').unlink()
    with self.assertRaisesRegex(errors.InputError, 'metrics.csv has no rounds'):
      self._run()
    self.assertFalse((self.folder / 'metrics.csv').exists())

  @pytest.mark.thorough
  def test_runs_tffs_own_process_without_any_extra(self):
    process = _build_process(tff.learning.algorithms.build_weighted_fed_avg)
    result = training_loop.run_training(
      process,
      train_data=self.train_data(),
      participation=self.cohorts,
      batch_spec=self.SPEC,
      seed=_SEED,
      rounds=2,
    )
    self.assertEqual(result.round_number, 2)
    self.assertEqual(result.totals['wire_bytes'], 0)

  @pytest.mark.thorough
  def test_seed_pairs_two_algorithms(self):
    """FedAvg and FedFish see the same clients, batches and first weights."""
    seen = collections.defaultdict(list)
    processes = {
      'fed_avg': self.process,
      'fed_fish': _build_process(algorithms.build_fed_fish, local_epochs=2),
    }
    for name, process in processes.items():
      self._run(
        self.folder / name,
        process=process,
        rounds=2,
        evaluate_every=1,
        further=[
          round_hooks.Barrier(
            lambda before, _, cohort, name=name: (
              seen[name].append((before, cohort)) or {}
            )
          )
        ],
      )
    one, other = seen.values()
    np.testing.assert_array_equal(
      one[0][0].trainable[0], other[0][0].trainable[0]
    )
    for (_, cohort), (_, other_cohort) in zip(one, other, strict=True):
      for a, b in zip(cohort, other_cohort, strict=True):
        self.assertEqual(a.client_id, b.client_id)
        np.testing.assert_array_equal(a.indices, b.indices)

  def test_costs_per_client_are_of_the_whole_cohort(self):
    self._run(
      further=[
        communication.CommunicationCosts(
          _WIRE_BYTES, {'communication/published_bytes': 7}
        )
      ],
      participation=lambda round_number: ('ab', 'c', 'abd')[round_number - 1],
      rounds=3,
    )
    rows = self.rows()
    self.assertNotIn('communication/published_bytes', rows[0])
    self.assertEqual(
      [row['communication/published_bytes'] for row in rows[1:]], [14, 7, 21]
    )

  def test_goes_on_from_where_another_run_has_led(self):
    """As if the rounds before had been this run's own."""
    whole = self._run(self.folder / 'whole')
    before = self._run(self.folder / 'before', rounds=3)
    seen = []
    after = self._run(
      self.folder / 'after',
      start=before,
      further=[row_callback.RowCallback(lambda r, _: seen.append(r))],
    )
    self.assertEqual(seen, [3, 4, 5, 6])
    whole_rows = self.rows(self.folder / 'whole')
    self.assertEqual(self.rows(self.folder / 'after')[1:], whole_rows[4:])
    first = self.rows(self.folder / 'after')[0]
    # Whatever the schedule, what it begins with is evaluated.
    self.assertEqual(
      first['eval/norm'], self.rows(self.folder / 'before')[-1]['eval/norm']
    )
    for name in ('compute/local_steps_total', 'communication/wire_bytes_total'):
      self.assertEqual(first[name], whole_rows[3][name])
    for a, b in zip(
      tf.nest.flatten(whole.state), tf.nest.flatten(after.state), strict=True
    ):
      self.assertEqual(np.asarray(a).tobytes(), np.asarray(b).tobytes())
    self.assertEqual(
      whole.totals['simulated_seconds'], after.totals['simulated_seconds']
    )
    for name in ('wire_bytes', 'local_steps', 'excluded_clients'):
      self.assertEqual(whole.totals[name], after.totals[name])
      self.assertIs(type(after.totals[name]), int)
    self.assertGreater(
      after.totals['round_seconds'], before.totals['round_seconds']
    )

  @pytest.mark.thorough
  def test_a_killed_run_resumes_on_its_start(self):
    start = self._run(self.folder / 'start', rounds=3)
    whole = self._run(self.folder / 'whole', start=start)
    for killed_at in (3, 4, 5):
      resumed, folder = self._run_killed(killed_at, start=start)
      self._assert_equal_runs(whole, resumed, self.folder / 'whole', folder)

  @pytest.mark.thorough
  def test_ctrl_c_before_the_first_round_keeps_the_start_s_round(self):
    start = self._run(self.folder / 'start', rounds=3)

    def interrupt(*_):
      raise KeyboardInterrupt()

    # Before anything was saved, and where what it begins with had been.
    with self.assertRaisesRegex(KeyboardInterrupt, 'nothing was saved'):
      self._run(start=start, evaluation_fn=interrupt)

    def interrupt_at_4(round_number):
      if round_number == 4:
        raise KeyboardInterrupt()
      return self.cohorts(round_number)

    with self.assertRaisesRegex(KeyboardInterrupt, 'that of round 3'):
      self._run(start=start, participation=interrupt_at_4)

  @parameterized.parameters(2, 3)
  def test_a_start_of_all_the_rounds(self, rounds):
    start = self._run(self.folder / 'start', rounds=3)
    with self.assertRaisesRegex(
      errors.InputError,
      f'^rounds must be 4 or more, .*takes 3 rounds.*got {rounds}.$',
    ):
      self._run(start=start, rounds=rounds)
    self.assertFalse((self.folder / 'metrics.csv').exists())

  def test_the_last_state_is_finished_once(self):
    """Before it is evaluated and saved; a run that ended finishes no more."""
    calls = []

    class Halve(hooks.Hook):
      def finish(self, round_):
        calls.append(round_.number)
        weights = round_.process.get_model_weights(round_.state)
        round_.state = round_.process.set_model_weights(
          round_.state, tf.nest.map_structure(lambda w: w / 2, weights)
        )

    plain = self._run(self.folder / 'plain', rounds=3)
    result = self._run(rounds=3, further=[Halve()])
    self.assertEqual(calls, [3])
    for found, expected in zip(
      result.state.global_model_weights.trainable,
      plain.state.global_model_weights.trainable,
      strict=True,
    ):
      np.testing.assert_array_equal(found, expected / 2)
    rows, plain_rows = self.rows(), self.rows(self.folder / 'plain')
    self.assertEqual(rows[:-1], plain_rows[:-1])
    # Halves are exact.
    self.assertEqual(rows[-1]['eval/norm'], plain_rows[-1]['eval/norm'] / 2)
    again = self._run(rounds=3, further=[Halve()])
    self.assertEqual(calls, [3])
    self._assert_equal_runs(result, again, self.folder, self.folder)

  def test_a_run_stopped_before_its_end_is_finished_when_it_gets_there(self):
    initial = self.process.initialize()

    class Stop(hooks.Hook):
      def finish(self, round_):
        raise training_runs.Stop()

    class BeginAnew(hooks.Hook):
      def finish(self, round_):
        round_.state = initial

    with self.assertRaises(training_runs.Stop):
      self._run(rounds=3, further=[Stop()])
    self.assertLen(self.rows(), 3)
    result = self._run(rounds=3, further=[BeginAnew()])
    tolerance.assert_same(result.state, initial)

  def test_hooks_are_called_in_order(self):
    calls = []

    class Noting(hooks.Hook):
      def __init__(self, name):
        self._name = name

      def __getattribute__(self, name):
        if name in (
          *('begin', 'after_round', 'finish', 'after_evaluation'),
          *('complete_row', 'observe', 'keeps', 'before_round'),
        ):
          calls.append(f'{self._name} {name}')
        return super().__getattribute__(name)

    self._run(rounds=2, further=[Noting('a'), Noting('b')])
    start = ['begin', 'complete_row', 'observe']
    trained = ['before_round', 'after_round']
    # Evaluated and saved every 2 rounds; 'keeps' is asked where it decides.
    ends = ['complete_row', 'observe', 'keeps']
    last = ['finish', 'after_evaluation', 'complete_row', 'observe']
    self.assertEqual(
      calls,
      [
        f'{hook} {method}'
        for method in [*start, 'keeps', *trained, *ends, *trained, *last]
        for hook in 'ab'
      ],
    )

  def test_early_stopping_and_a_choice_at_the_end(self):
    class Choice(hooks.Hook):
      def finish(self, round_):
        raise AssertionError('Nothing was trained.')

    stopping = early_stopping.EarlyStopping(
      'eval/norm', higher_is_better=True, patience=1
    )
    with self.assertRaisesRegex(errors.InputError, '^hooks must not both stop'):
      self._run(further=[stopping, Choice()])

  def test_a_run_that_a_hook_ends_has_a_checkpoint_of_its_last_round(self):
    class Stop(hooks.Hook):
      may_stop = True

      def begin(self, run):
        if run.is_resumed:
          self.observe_rows(run.read_rows())

      def observe(self, round_number, row):
        if round_number == 3:
          self.reason = 'enough'

    result = self._run(rounds=6, checkpoint_every=2, further=[Stop()])
    self.assertEqual(result.round_number, 3)
    again = self._run(rounds=6, checkpoint_every=2, further=[Stop()])
    self._assert_equal_runs(result, again, self.folder, self.folder)
    self.assertLen(self.rows(), 4)

  def test_a_schedule_of_no_parameter(self):
    schedules = round_hooks.Schedules(lambda round_number: {'lr': 0.5})
    with self.assertRaisesRegex(errors.InputError, "got 'lr'; there are: none"):
      self._run(further=[schedules])

  def test_a_schedule_in_a_context_that_knows_no_parameters(self):
    schedules = round_hooks.Schedules(lambda round_number: {'lr': 0.5})
    with (
      mock.patch.object(parameters, 'names_in', return_value={'lr'}),
      mock.patch.object(parameters, 'replaced', contextlib.nullcontext),
      self.assertRaisesRegex(errors.InputError, 'cohort, for a schedule, got'),
    ):
      self._run(further=[schedules])

  def test_rejects_bad_numbers(self):
    for field in ('rounds', 'evaluate_every', 'checkpoint_every'):
      for value in (0, -1):
        with self.assertRaisesRegex(
          errors.InputError, f'{field} must be .*got {value}'
        ):
          self._run(**{field: value})

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a run as a function; tests/launch/train_test.py has the binary's."""

import asyncio
from concurrent import futures
import functools
import json
import shutil
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import simulation
from launch.configs import toy_regression
from launch.methods import config_checks
from launch.methods import participation
from launch.methods import privacy
from launch.results import run_reader
from launch.runs import experiment as experiment_lib
from launch.runs import trained_run
from launch.runs import training_run
from tests.launch import run_files
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np
import pytest
from scipy import special


def _load_result(config, task, workdir):
  experiment = experiment_lib.build_experiment_of(
    config_checks.read(config), task
  )
  return experiment, simulation.load_result(
    experiment.process, simulation.CheckpointManager(workdir / 'checkpoints')
  )


def _with_other_digit(content, position):
  damaged = bytearray(content)
  damaged[position] ^= 1
  return damaged


class _Stop(Exception):
  """Stands for a kill: nothing of the run runs after it."""


class TrainTest(small_configs.TestCase):
  def test_a_thread_without_a_context(self):
    with futures.ThreadPoolExecutor(1) as threads:
      call = threads.submit(
        training_run.train,
        config_checks.read(small_configs.make_config('fed_avg')),
        training_run.RunOptions(workdir=self.workdir),
      )
      with self.assertRaisesRegex(
        errors.InputError,
        '^Each thread .*set_default_context[(][)] in this thread',
      ):
        call.result()

  @pytest.mark.thorough
  def test_synthetic_data_are_told(self):
    config = toy_regression.get_config('fed_avg').to_dict()
    # A new task: one that tests share is told once.
    config |= {'local_epochs': 1, 'seed': 7}
    with self.assertLogs(level='WARNING') as logs:
      summary = small_configs.train(config, self.folder / 'w')
    written = simulation.Workdir(self.folder / 'w').read_summary()
    self.assertEqual(written, summary)
    self.assertIn('generated points', logs.output[0])
    self.assertEqual(summary['synthetic'], 'generated points')
    run = run_reader.read_run(self.folder / 'w')
    self.assertEqual(run.about['synthetic'], 'generated points')
    self.assertEqual(json.loads(json.dumps(config)), run.about['config'])

  @pytest.mark.thorough
  def test_the_checkpoint_half_way_is_kept(self):
    config = toy_regression.get_config('fed_avg')
    config.local_epochs = 1
    config.rounds = 7
    config.checkpoint_every = 2
    config.evaluate_every = 7
    config.evaluation.update(barrier=False, personalization_epochs=0)
    for kept, versions in ((True, [3, 6, 7]), (False, [6, 7])):
      config.evaluation.half_way_checkpoint = kept
      workdir = self.folder / f'w{kept}'
      small_configs.train(config.to_dict(), workdir)
      manager = simulation.CheckpointManager(workdir / 'checkpoints')
      self.assertEqual(asyncio.run(manager.get_versions()), versions)

  @pytest.mark.thorough
  def test_a_figure_that_was_changed_is_trained_again(self):
    config = toy_regression.get_config('fed_avg')
    config.local_epochs = 1
    config.rounds, config.checkpoint_every = 4, 2
    config.evaluation.update(barrier=False, personalization_epochs=0)
    workdir = self.folder / 'w'

    def train():
      small_configs.train(config.to_dict(), workdir)
      return run_files.read_rows(workdir)

    expected = train()
    path = workdir / 'metrics.csv'
    content = path.read_bytes()
    # A digit of the last row: the checkpoint of round 2 still belongs to it.
    path.write_bytes(_with_other_digit(content, content.rindex(b'.') + 1))
    with self.assertRaisesRegex(
      errors.InputError, f'{path} is not what it was'
    ):
      run_reader.read_run(workdir)
    with self.assertLogs(level='WARNING') as logs:
      self.assertEqual(train(), expected)
    self.assertIn('metrics.csv is not what it was', '\n'.join(logs.output))
    run_reader.read_run(workdir)
    # A row that is there twice.
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    path.write_bytes(content + lines[-1])
    with self.assertRaisesRegex(errors.InputError, 'follows round 4'):
      run_reader.read_run(workdir)
    self.assertEqual(train(), expected)
    self.assertEqual(path.read_bytes(), content)
    path.write_bytes(b''.join([*lines[:-1], *lines[-2:]]))
    self.assertEqual(train(), expected)
    content = path.read_bytes()
    path.write_bytes(
      _with_other_digit(
        content, content.index(b'.', content.index(b'\n1,')) + 1
      )
    )
    with self.assertRaisesRegex(errors.InputError, 'metrics.csv is not what'):
      train()

  def _train(self, config, task, name, killed_in=None):
    """Trains or resumes a run, killed in a round; returns the rows."""
    count = simulation.CommunicationCosts.after_round

    def die(hook, round_):
      if round_.number == killed_in:
        raise _Stop()
      count(hook, round_)

    with mock.patch.object(simulation.CommunicationCosts, 'after_round', die):
      small_configs.train_task(config, task, self.folder / name)
    return run_files.read_rows(self.folder / name)

  def _check_choices(self, policy, **fields):
    """Checks that a killed run repeats them; returns its rows and its end."""
    block = participation.BLOCK.defaults(policy) | fields
    config = small_configs.make_config(
      'fed_avg',
      rounds=5,
      cohort_size=4,
      participation=block,
      checkpoint_every=2,
      **{
        'task.hidden_units': (),
        'evaluation.personalization_epochs': 0,
        'evaluation.barrier': False,
      },
    )
    task = experiment_lib.create_task(config_checks.read(config))
    rows = self._train(config, task, 'whole')
    with self.assertRaises(_Stop):
      self._train(config, task, 'killed', 4)
    self.assertEqual(self._train(config, task, 'killed'), rows)
    with trained_run.open_run(self.folder / 'whole') as (experiment, folder):
      manager = simulation.CheckpointManager(folder.checkpoints_path)
      return (
        rows,
        experiment,
        simulation.load_result(experiment.process, manager),
      )

  @pytest.mark.thorough
  def test_the_next_clients_have_the_highest_losses(self):
    _, experiment, end = self._check_choices('power_of_choice', candidates=6)
    w, b = experiment.process.get_model_weights(end.state).trainable
    losses = {}
    for client in experiment.participation.candidates(6):
      x, y = experiment.task.train.load_client(client)
      logits = np.float64(x) @ w + b
      losses[client] = np.mean(
        special.logsumexp(logits, axis=1) - logits[np.arange(len(y)), y]
      )
    self.assertCountEqual(
      experiment.participation(6), sorted(losses, key=losses.get)[-4:]
    )

  @pytest.mark.thorough
  def test_clients_that_miss_a_deadline_are_counted(self):
    rows, experiment, _ = self._check_choices(
      'deadline', deadline=0.5, over_selection=0.5
    )
    for row in rows[1:]:
      came = len(experiment.participation(row['round']))
      self.assertEqual(row['simulated/lost_clients'], 6 - came)

  @pytest.mark.thorough
  def test_stages_by_statistical_accuracy(self):
    """They end when and only when it is reached, in a killed run too."""
    rounds, constant = 12, 50.0
    block = participation.BLOCK.defaults('flanp')
    block |= {'rounds_per_stage': 0, 'accuracy_constant': constant}
    config = small_configs.make_config(
      'fed_avg',
      rounds=rounds,
      cohort_size=small_configs.NUM_TRAINING_CLIENTS,
      participation=block,
      checkpoint_every=3,
      **{'task.hidden_units': (), 'task.alpha': 100.0},
    )
    task = experiment_lib.create_task(config_checks.read(config))

    train = functools.partial(self._train, config, task)
    rows = train('whole')
    with self.assertRaises(_Stop):
      train('killed', 5)
    self.assertEqual(train('killed'), rows)
    with trained_run.open_run(self.folder / 'whole') as (experiment, _):
      cohort = experiment.participation(rounds + 1)
    # Each client sends as many bytes.
    per_client = rows[1]['communication/wire_bytes'] / 2
    sizes = [row['communication/wire_bytes'] / per_client for row in rows[1:]]
    sizes.append(len(cohort))
    reached = []
    for row in rows[1:]:
      examples = row['train/num_examples']
      allowed = row['train/gradient_norm_squared_allowed']
      self.assertEqual(allowed, constant / examples)
      reached.append(row['train/gradient_norm_squared'] <= allowed)
    expected = [2, 2]
    for earlier, latest, enough in zip(sizes, sizes[1:], reached):
      grows = enough and earlier == latest
      expected.append(min(8, latest * (1 + grows)))
    self.assertEqual(sizes, expected[: rounds + 1])
    self.assertEqual(sizes[-1], 8)
    self.assertIn(False, reached)

  @pytest.mark.thorough
  def test_privacy(self):
    # Every third cohort has nobody.
    self._check_privacy('gaussian', 'poisson', 1, repeats=False)

  @pytest.mark.thorough
  def test_privacy_by_a_tree(self):
    # Its noise is in its state; independent noise is the system's.
    self._check_privacy('tree', 'epochs', 3, repeats=True)

  def _check_privacy(self, preset, policy, cohort_size, *, repeats):
    """Checks epsilon of each round, in a run that is resumed too."""
    config = small_configs.make_config(
      f'fed_avg,privacy={preset}',
      rounds=8,
      cohort_size=cohort_size,
      **{
        'evaluation.personalization_epochs': 0,
        'evaluation.barrier': False,
        'participation.name': policy,
      },
    )
    task = experiment_lib.create_task(config_checks.read(config))
    train = functools.partial(self._train, config, task)
    rows = train('whole')
    with self.assertRaises(_Stop):
      train('killed', 6)
    resumed = train('killed')
    summary = simulation.Workdir(self.folder / 'whole').read_summary()
    epsilon = privacy.create_epsilon(config_checks.read(config), task)
    column = 'privacy/epsilon_rdp'
    for run in (rows, resumed):
      self.assertEqual([row[column] for row in run], [*map(epsilon, range(9))])
    self.assertEqual(rows == resumed, repeats)
    self.assertEqual(
      summary['privacy'],
      {
        'epsilon': epsilon(8),
        'delta': 1e-5,
        'accountant': 'rdp',
        'neighbours': privacy.neighbours(config_checks.read(config)),
      },
    )

  def test_nothing_is_written_if_the_experiment_cannot_be_built(self):
    config = toy_regression.get_config('fed_avg')
    config.cohort_size = 3
    with self.assertRaisesRegex(errors.InputError, 'cohort_size is 3'):
      small_configs.train(config.to_dict(), self.folder / 'w')
    self.assertFalse((self.folder / 'w').exists())


class ClosedFormTest(small_configs.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.task = experiment_lib.create_task(small_configs.read_config())

  def _train(self, config):
    return small_configs.train_task(config, self.task, self.workdir)

  def test_rows_have_what_the_paper_counts(self):
    """K (D^2 + D C) 4 bytes; what is sent is less, or more in float64."""
    self._train(small_configs.make_config('fed3r'))
    features, classes = small_configs.NUM_FEATURES, small_configs.NUM_CLASSES
    rows = run_files.read_rows(self.workdir)
    self.assertNotIn('communication/published_bytes', rows[0])
    self.assertEqual(
      [row['communication/published_bytes'] for row in rows[1:]],
      [k * 4 * features * (features + classes) for k in (3, 3, 2)],
    )
    self.assertEqual(
      [row['finalizer/total_examples'] for row in rows[1:]],
      np.cumsum([row['train/num_examples'] for row in rows[1:]]).tolist(),
    )

  @pytest.mark.thorough
  def test_cohorts_of_any_size_end_with_the_same_sums(self):
    sums = []
    for rounds, cohort_size in ((3, 3), (8, 1)):
      config = small_configs.make_config(
        rounds=rounds,
        cohort_size=cohort_size,
        **{'algorithm.accumulator': 'float64'},
      )
      self._train(config)
      _, result = _load_result(config, self.task, self.workdir)
      sums.append(result.state['statistics'])
      shutil.rmtree(self.workdir)
    for name, expected in sums[0].items():
      # Sums are in float64, but a visit's round decides the order of examples,
      # and on some processors a float32 feature rounds by its place in a batch
      # (4e-9 of a sum was seen); a client too many would be far off.
      np.testing.assert_allclose(sums[1][name], expected, rtol=1e-6)
    examples = sums[0]['gram'][-1, -1]
    self.assertEqual(
      examples,
      sum(
        len(self.task.train.load_client(c)[1])
        for c in self.task.train.client_ids
      ),
    )

  @parameterized.parameters(
    (dict(variant='fed3r', rounds=4), 'rounds .*4'),
    (
      dict(variant='fed_avg,fine_tuning=ft,start=fed3r', rounds=3),
      'rounds .*start .*3',
    ),
    (
      dict(variant='fed_avg,fine_tuning=ft,start=fed3r', cohort_size=9),
      'cohort_size is 9, but there',
    ),
  )
  def test_nothing_is_written_of_what_cannot_be_run(self, changes, message):
    with self.assertRaisesRegex(errors.InputError, message):
      self._train(small_configs.make_config(**changes))
    self.assertFalse(self.workdir.exists())

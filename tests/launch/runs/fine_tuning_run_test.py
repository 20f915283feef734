# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A run that is fine-tuned from another: what goes on, and where it can stop."""

import json
import pathlib
import shutil
import tempfile
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import simulation
from launch.methods import config_checks
from launch.runs import experiment as experiment_lib
from launch.runs import run_start
from tests.launch import run_files
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np
import pytest
import scipy.special

pytestmark = pytest.mark.thorough

_LAMBDAS = (1000.0, 0.01, 1.0)


def _load_result(config, task, workdir):
  experiment = experiment_lib.build_experiment_of(
    config_checks.read(config),
    task,
    start=run_start.load_start(workdir),
  )
  return experiment, simulation.load_result(
    experiment.process, simulation.CheckpointManager(workdir / 'checkpoints')
  )


def _trained_weights(config, task, workdir):
  experiment, result = _load_result(config, task, workdir)
  weights = experiment.process.get_model_weights(result.state)
  return [np.asarray(w) for w in weights.trainable]


class FineTuningTest(small_configs.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.config = cls._make_config('fed_avg,fine_tuning=ft_lp,start=fed3r')
    cls.task = experiment_lib.create_task(config_checks.read(cls.config))
    folder = cls.enterClassContext(tempfile.TemporaryDirectory())
    cls.whole = pathlib.Path(folder) / 'whole'
    cls.summary = cls._train(cls.config, cls.whole)

  @classmethod
  def _make_config(cls, variant):
    return small_configs.make_config(
      variant, rounds=7, **{'fine_tuning.start.regularization_path': _LAMBDAS}
    )

  @classmethod
  def _train(cls, config, workdir, **arguments):
    return small_configs.train_task(config, cls.task, workdir, **arguments)

  def _starts(self):
    """The start that has been trained, for other runs to start from."""
    config = config_checks.read(self.config).first_run(
      small_configs.NUM_TRAINING_CLIENTS
    )
    return {config.key: self.whole / 'start'}

  def test_rounds_and_costs_go_on_from_those_of_the_start(self):
    start, rows = (
      run_files.read_rows(self.whole / 'start'),
      run_files.read_rows(self.whole),
    )
    self.assertEqual([row['round'] for row in start], [0, 1, 2, 3])
    self.assertEqual([row['round'] for row in rows], [3, 4, 5, 6, 7])
    for name in ('communication/wire_bytes', 'compute/local_steps'):
      total = f'{name}_total'
      # Closed-form methods take no gradient steps.
      self.assertEqual(start[-1][total] > 0, total.startswith('comm'))
      self.assertEqual(rows[0][total], start[-1][total])
      for before, row in zip(rows, rows[1:]):
        self.assertEqual(row[total], before[total] + row[name])
      self.assertEqual(
        self.summary['totals'][name.partition('/')[2]], rows[-1][total]
      )
    # The classifier there and back, and some metrics.
    tensors = 2 * 4 * 10 * (small_configs.NUM_FEATURES + 1)
    for row in rows[1:]:
      sent = row['communication/wire_bytes'] / self.config['cohort_size']
      self.assertBetween(sent, tensors, tensors + 64)
    started = json.loads((self.whole / 'start/summary.json').read_text())
    self.assertGreater(
      self.summary['totals']['round_seconds'],
      started['totals']['round_seconds'],
    )

  def test_the_first_row_is_the_model_of_the_start(self):
    """Its temperature changes no prediction."""
    start, rows = (
      run_files.read_rows(self.whole / 'start'),
      run_files.read_rows(self.whole),
    )
    name = 'eval/global/accuracy'
    self.assertEqual(rows[0][name], start[-1][name])
    self.assertGreater(rows[0][name], 0)
    self.assertNotIn('train/loss', rows[0])

  def test_start_npz_is_what_the_start_has_led_to(self):
    found = run_start.load_start(self.whole)
    config = config_checks.read(self.config).first_run(8)
    experiment, result = _load_result(
      config.values, self.task, self.whole / 'start'
    )
    expected = experiment.process.get_model_weights(result.state)
    self.assertEqual(found.round_number, 3)
    self.assertEqual(found.totals, result.totals)
    for one, other in zip(
      found.weights.trainable, expected.trainable, strict=True
    ):
      np.testing.assert_array_equal(one, other)
    # The lambda that was chosen there, which is not the config's.
    started = json.loads((self.whole / 'start/summary.json').read_text())
    self.assertEqual(started['regularization'], 1.0)

  @parameterized.parameters(
    ('fed_avg,fine_tuning=ft,start=fed3r', slice(None)),
    ('fed_avg,fine_tuning=ft_lp,start=fed3r', slice(2, None)),
    ('fed_avg,fine_tuning=ft_feat,start=fed3r', slice(2)),
  )
  def test_what_is_frozen_does_not_move(self, variant, trained):
    """The last row's loss, by NumPy from the start and what was trained."""
    config = self._make_config(variant)
    workdir = self.whole
    if variant != 'fed_avg,fine_tuning=ft_lp,start=fed3r':
      workdir = self.folder / variant
      self._train(config, workdir, starts=self._starts())
      self.assertFalse((workdir / 'start').exists())
    weights = list(run_start.load_start(workdir).weights.trainable)
    last = _trained_weights(config, self.task, workdir)
    for new, old in zip(last, weights[trained], strict=True):
      self.assertFalse(np.array_equal(new, old))
    weights[trained] = last
    kernel, bias, classifier, classifier_bias = weights
    losses, correct = [], []
    clients = self.task.validation
    for client_id in clients.client_ids:
      x, y = clients.load_client(client_id)
      features = np.maximum(x @ kernel + bias, 0)
      logits = (features @ classifier + classifier_bias) / 0.1
      logits = logits.astype(np.float64)
      each = scipy.special.logsumexp(logits, axis=1) - logits[range(len(y)), y]
      losses.extend(each)
      correct.extend(np.argmax(logits, axis=1) == y)
    row = run_files.read_rows(workdir)[-1]
    # Means of a few hundred float32 terms.
    np.testing.assert_allclose(
      row['eval/global/loss'], np.mean(losses), rtol=1e-5
    )
    self.assertAlmostEqual(row['eval/global/accuracy'], np.mean(correct), 6)

  def test_ctrl_c_in_a_round(self):
    workdir = self.folder / 'stopped'
    shown = []

    class Stopping(simulation.ProgressReporter):
      def observe(self, round_number, row):
        shown.append(round_number)
        # In round 6, which is one of the fine-tuning.
        if len(shown) == 8:
          raise KeyboardInterrupt()

    with mock.patch.object(simulation, 'ProgressReporter', Stopping):
      with self.assertRaisesRegex(KeyboardInterrupt, 'checkpoint is that of'):
        self._train(self.config, workdir)
    self.assertEqual(shown, [0, 1, 2, 3, 3, 4, 5, 6])
    self._assert_resumes(workdir)

  def test_ctrl_c_between_the_start_and_the_fine_tuning(self):
    workdir = self.folder / 'between'
    with mock.patch.object(
      run_start,
      'save_start',
      autospec=True,
      side_effect=KeyboardInterrupt,
    ):
      with self.assertRaises(KeyboardInterrupt):
        self._train(self.config, workdir)
    self.assertTrue((workdir / 'start' / 'summary.json').exists())
    self.assertFalse((workdir / 'start.npz').exists())
    self.assertFalse((workdir / 'metrics.csv').exists())
    before = (workdir / 'start' / 'metrics.csv').read_bytes()
    self._assert_resumes(workdir)
    # Seconds included: it was not trained again.
    self.assertEqual((workdir / 'start' / 'metrics.csv').read_bytes(), before)

  def test_ctrl_c_before_the_first_row(self):
    """With start.npz alone, which says it all."""
    workdir = self.folder / 'alone'
    shutil.copytree(
      self.whole,
      workdir,
      ignore=shutil.ignore_patterns(
        'start', 'checkpoints', 'metrics.csv', 'summary.json', 'tensorboard'
      ),
    )
    self._assert_resumes(workdir)
    self.assertFalse((workdir / 'start').exists())

  def _assert_resumes(self, workdir):
    self._train(self.config, workdir)
    self.assertEqual(
      run_files.read_rows(workdir), run_files.read_rows(self.whole)
    )
    for one, other in zip(
      _trained_weights(self.config, self.task, workdir),
      _trained_weights(self.config, self.task, self.whole),
      strict=True,
    ):
      self.assertEqual(one.tobytes(), other.tobytes())

  def test_a_damaged_start_is_one_sentence(self):
    workdir = self.folder / 'damaged'
    shutil.copytree(self.whole, workdir)
    path = workdir / run_start.FILE_NAME
    path.write_bytes(path.read_bytes()[:-9])
    before = run_files.read_rows(workdir)
    with self.assertRaisesRegex(
      errors.InputError, f'^{path} is damaged .*restore it, or start afresh'
    ):
      self._train(self.config, workdir)
    self.assertEqual(run_files.read_rows(workdir), before)
    self._train(self.config, workdir, overwrite=True, starts=self._starts())
    self.assertEqual(run_files.read_rows(workdir), before)

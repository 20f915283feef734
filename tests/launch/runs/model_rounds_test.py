# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a model's rounds and graph, of TensorBoard and others' metrics."""

import asyncio
import functools
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff import simulation
from launch.runs import metrics_managers
from launch.runs import model_graph
from launch.runs import model_rounds
from launch.runs import tensorboard_rows
from tests import temporary_folders
from tests.launch import small_configs

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from tensorboard.backend.event_processing import plugin_event_accumulator
import tensorflow as tf
import tensorflow_federated as tff

_HALF = 'evaluation.half_way_checkpoint'


class ModelRoundsTest(absltest.TestCase):
  def test_parse(self):
    self.assertEqual(
      model_rounds.parse_rounds(['best', 'half']), ('half', 'best')
    )
    for values in ([], ['first'], ['half', '']):
      with self.assertRaisesRegex(errors.InputError, 'half,last,best'):
        model_rounds.parse_rounds(values)

  def test_usual_ones(self):
    for axes, changes, usual in (
      ('', {}, ('last',)),
      ('', {_HALF: True}, ('half', 'last')),
      (',early_stopping=stop', {_HALF: True}, ('best',)),
      (
        ',early_stopping=stop',
        {'early_stopping.restore_best': False},
        ('last',),
      ),
    ):
      config = small_configs.read_config(f'fed_avg{axes}', **changes)
      self.assertEqual(model_rounds.usual_of_transfer(config), usual)


_FEATURES = functools.partial(
  models.create_dense_features, num_inputs=3, hidden_units=(4,)
)


def _mlp(seed=0, hidden_units=(4, 4)):
  return models.create_mlp_classifier(
    num_features=3, num_classes=2, hidden_units=hidden_units, seed=seed
  )


def _classifier(seed=0, temperature=1.0):
  """All but the classifier is frozen."""
  whole = models.create_feature_classifier(
    _FEATURES(seed=seed), num_classes=2, temperature=temperature
  )
  tensors = models.fine_tuned_tensors(whole, models.FineTuning.FT_LP)
  return models.partition_model(whole, tensors).model


class ModelGraphTest(parameterized.TestCase):
  def test_initial_weights_have_no_part(self):
    one, other = _mlp(seed=0), _mlp(seed=1)
    self.assertFalse(
      np.array_equal(one.initial_weights[0][0], other.initial_weights[0][0])
    )
    self.assertEqual(model_graph.describe(one), model_graph.describe(other))
    self.assertEqual(
      model_graph.describe(_classifier()), model_graph.describe(_classifier())
    )

  @parameterized.named_parameters(
    ('shapes', _mlp(), _mlp(hidden_units=(4, 5))),
    ('layers', _mlp(), _mlp(hidden_units=(4,))),
    ('a_constant', _classifier(), _classifier(temperature=2.0)),
    ('frozen_weights', _classifier(), _classifier(seed=1)),
  )
  def test_what_is_computed_has(self, one, other):
    self.assertNotEqual(model_graph.describe(one), model_graph.describe(other))


class TensorBoardRowsTest(temporary_folders.TestCase):
  def _write(self, folder, rows, time):
    """Writes as a process that starts at some time and is killed."""
    manager = tensorboard_rows.TensorBoardRows(folder)
    for number, value in rows.items():
      asyncio.run(manager.release({'loss': value}, number))
    # Closes the files.
    del manager
    for path in folder.glob('events.out.tfevents.1*'):
      rest = path.name.split('.', 4)[4]
      path.rename(path.with_name(f'events.out.tfevents.{time:010}.{rest}'))

  def test_all_columns_are_there_while_a_run_goes_on(self):
    # The second has begun again with round 1.
    managers = []
    for numbers in ((0, 1), (1,)):
      managers.append(tensorboard_rows.TensorBoardRows(self.folder))
      for number in numbers:
        row = {'loss': number + len(managers), 'accuracy': 0.25}
        asyncio.run(managers[-1].release(row, number))
    found = plugin_event_accumulator.EventAccumulator(str(self.folder)).Reload()
    for name, values in (('loss', [1, 3]), ('accuracy', [0.25, 0.25])):
      self.assertEqual(
        [float(tf.make_ndarray(e.tensor_proto)) for e in found.Tensors(name)],
        values,
      )

  def test_the_rows_of_the_last_process_count(self):
    folder = self.folder / 'tensorboard'
    processes = [{0: 5.0, 1: 4.0, 2: 3.0, 3: 2.0}, {2: 3.5, 3: 2.5}, {4: 1.0}]
    for time, rows in enumerate(processes):
      self._write(folder, rows, time)
    # The one that TensorBoard itself reads by.
    found = plugin_event_accumulator.EventAccumulator(str(folder)).Reload()
    self.assertEqual(
      [
        (event.step, float(tf.make_ndarray(event.tensor_proto)))
        for event in found.Tensors('loss')
      ],
      [(0, 5.0), (1, 4.0), (2, 3.5), (3, 2.5), (4, 1.0)],
    )


_HERE = 'tests.launch.runs.model_rounds_test'
# By run's folder, what its manager was given.
RELEASED = {}


class Collecting(tff.program.ReleaseManager):
  """Collects rows, and spoils its own copies of them."""

  def __init__(self, workdir):
    self._rows = RELEASED[workdir.path] = {}

  async def release(self, value, key):
    self._rows[key] = dict(value)
    value.clear()


class Failing(tff.program.ReleaseManager):
  def __init__(self, workdir):
    del workdir

  async def release(self, value, key):
    if key == 1:
      raise KeyError('no such\ncolumn')


class Leaving(Failing):
  async def release(self, value, key):
    raise SystemExit('It left.')


class Interrupting(Failing):
  async def release(self, value, key):
    if key == 1:
      raise KeyboardInterrupt


def create_nothing(workdir):
  del workdir
  return 3


def fail(workdir):
  raise OSError(f'no room in {workdir.path}')


class MetricsManagersTest(small_configs.TestCase):
  def _train(self, name):
    config = small_configs.make_config('fed_avg', rounds=2, evaluate_every=2)
    small_configs.train(
      config, self.workdir, metrics_managers=[f'{_HERE}:{name}']
    )

  def test_they_get_each_row(self):
    self._train('Collecting')
    # Of the module by its name, which is not this one where it is a script.
    released = __import__(_HERE, fromlist=['RELEASED']).RELEASED[self.workdir]
    rows = simulation.read_rows(self.workdir / 'metrics.csv')
    self.assertEqual(list(released), [row['round'] for row in rows])
    for row in rows:
      numbers = {
        name: simulation.to_number(value)
        for name, value in released[row['round']].items()
      }
      self.assertEqual({'round': row['round'], **numbers}, row)

  @parameterized.parameters(
    ('Failing', r"Failing', which has failed in round 1: KeyError: 'no such"),
    ('Leaving', r"Leaving', which has failed in round 0: SystemExit: It left"),
    ('create_nothing', 'which returns a int'),
    ('fail', "fail', which cannot be created: OSError: no room in .*w .line"),
    ('RELEASED', 'got .*dict'),
    ('Missing', "Missing', which cannot be imported"),
  )
  def test_one_sentence_says_what_is_wrong(self, name, message):
    with self.assertRaisesRegex(errors.InputError, message) as caught:
      self._train(name)
    self.assertNotIn('\n', str(caught.exception))
    # What is wrong from the beginning on leaves no folder behind.
    if name in ('RELEASED', 'Missing'):
      self.assertFalse(self.workdir.exists())

  def test_an_interrupt_of_theirs_is_one_of_the_run(self):
    with self.assertRaisesRegex(KeyboardInterrupt, 'checkpoint .* round 0'):
      self._train('Interrupting')

  def test_ours_says_itself_what_it_lacks(self):
    managers = metrics_managers.load(['wandb'])
    self.assertEqual(managers, {'wandb': simulation.WandbManager})
    with (
      mock.patch.dict('sys.modules', {'wandb': None}),
      self.assertRaisesRegex(errors.InputError, '^wandb cannot be imported'),
    ):
      metrics_managers.NamedManager(
        'wandb', managers['wandb'], simulation.Workdir(self.workdir)
      )

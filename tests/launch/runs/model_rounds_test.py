# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a model's rounds and graph, and of TensorBoard."""

import asyncio
import functools

from fedfish_tff import errors
from fedfish_tff import models
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

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the block `exchange`: its checks, and what is sent."""

import dataclasses

from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import errors
from launch.methods import building
from launch.methods import config_checks
from launch.methods import exchange
from launch.runs import experiment
from tests import tolerance
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

_NAMES = ('hidden/kernel', 'hidden/bias', 'output/kernel', 'output/bias')
_SHAPES = ((64, 8), (8,), (8, 10), (10,))


def _config(variant='fed_avg,exchange=partial', **changes):
  """Returns a config of few clients with other values of fields."""
  return small_configs.make_config(f'{variant}', **changes)


def _small_config(variant, **fields):
  """Returns a config with other values of fields of its exchange."""
  return _config(variant, **{f'exchange.{n}': v for n, v in fields.items()})


def _drifting(*norms):
  """Tensors before and after a training that moved them so far."""
  before = [np.full(shape, 0.5, np.float32) for shape in _SHAPES]
  after = []
  for tensor, norm in zip(before, norms):
    moved = tensor.copy()
    moved.flat[0] += norm
    after.append(moved)
  return tuple(map(tf.constant, before)), tuple(map(tf.constant, after))


class ExchangeChecksTest(parameterized.TestCase):
  def test_a_threshold_may_be_zero(self):
    config_checks.read(_small_config('fed_avg,exchange=threshold', threshold=0))

  @parameterized.parameters(
    ('partial', {'group_by': 'layer'}, 'of layers'),
    ('partial', {'normalize': True}, 'normalized'),
    ('coordinates', {'coordinate_score': 'weight'}, 'by weight'),
    ('threshold', {'threshold': 7.0}, '7'),
    ('partial', {'share': 0.3}, '0.3'),
  )
  def test_what_is_sent_is_in_the_name(self, preset, fields, words):
    variant = f'fed_avg,exchange={preset}'
    named, plain = (
      exchange.BLOCK.deviations(
        config_checks.read(_small_config(variant, **changes))
      )['exchange.sent']
      for changes in (fields, {})
    )
    self.assertIn(words, named)
    self.assertNotIn(words, plain)


class ExchangeBuildTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.task = experiment.create_task(
      config_checks.read(_small_config('fed_avg'))
    )
    cls.named = dataclasses.replace(cls.task, tensor_names=_NAMES)

  def _sent(self, config, norms=(4.0, 1.0, 2.0, 3.0)):
    parts = building.prepare(config_checks.read(config), self.named)
    arguments = parts.exchange()
    selector = arguments['selector']
    return [m.numpy() for m in selector.select(*_drifting(*norms))]

  @parameterized.parameters(
    ({}, [True, False, False, True]),
    ({'share': 0.25}, [True, False, False, False]),
    ({'share': 0.7, 'direction': 'smallest'}, [False, True, True, True]),
    # Drifts a weight: 4 / 512, 1 / 8, 2 / 80, 3 / 10.
    ({'normalize': True}, [False, True, False, True]),
    ({'selection': 'threshold', 'threshold': 2.0}, [True, False, True, True]),
    (
      {'selection': 'threshold', 'threshold': 2.0, 'direction': 'smallest'},
      [False, True, True, False],
    ),
    ({'group_by': 'layer'}, [True, True, False, False]),
  )
  def test_what_is_sent(self, fields, expected):
    config = _small_config('fed_avg,exchange=partial', **fields)
    self.assertEqual([bool(m) for m in self._sent(config)], expected)

  @parameterized.parameters(
    ('largest', 'change', [1, 0, 1, 1]),
    ('largest', 'weight', [0, 1, 1, 1]),
    ('smallest', 'weight', [1, 0, 0, 0]),
  )
  def test_coordinates(self, direction, score, expected):
    """The first weight of a tensor moved by -1, 0.1, 2 and 3 from 0.5."""
    config = _small_config(
      'fed_avg,exchange=coordinates',
      # Of 610 weights, rounded up.
      share=(2.5 if direction == 'largest' else 0.5) / 610,
      direction=direction,
      coordinate_score=score,
    )
    masks = self._sent(config, (-0.9, 0.1, 2.0, 3.0))
    self.assertEqual([m.shape for m in masks], list(_SHAPES))
    self.assertEqual([int(m.flat[0]) for m in masks], expected)

  def test_layers_need_names(self):
    config = _small_config('fed_avg,exchange=layers')
    with self.assertRaisesRegex(
      errors.InputError, "the model of task 'digits' has no names"
    ):
      building.build_method(
        config_checks.read(config),
        dataclasses.replace(self.task, tensor_names=()),
      )

  @parameterized.parameters(
    ('fed_avg,exchange=partial', algorithms.FederatedProcess),
    ('fed_avg,exchange=threshold', algorithms.FederatedProcess),
    ('fed_fish,exchange=coordinates', algorithms.FederatedProcess),
    (
      'fed_avg,exchange=partial,unsent=client_keeps',
      algorithms.ClientStateProcess,
    ),
  )
  def test_processes(self, variant, kind):
    process = building.build_method(
      config_checks.read(_small_config(variant)), self.named
    ).process
    self.assertIsInstance(process, kind)
    result = process.next.type_signature.result
    metrics = result['metrics'].member['aggregator']
    self.assertContainsSubset(_NAMES, dir(metrics['sent']))

  def test_weight_decay_is_that_of_the_small_config(self):
    """The first step differs by rate * decay * weight."""
    rate, decay = 0.1, 0.2
    weights, found = None, []
    for value in (0.0, decay):
      config = _small_config('fed_avg,exchange=partial')
      config['algorithm']['client_optimizer'] = 'adamw'
      config['client_weight_decay'] = value
      process = building.build_method(
        config_checks.read(config), self.task
      ).process
      weights = process.get_model_weights(process.initialize())
      client_id = self.task.train.client_ids[0]
      batches = datasets.plan_batches(
        self.task.train.load_client(client_id),
        datasets.BatchSpec(batch_size=10_000),
        client_id=client_id,
        seed=0,
        round_number=1,
      )
      trained = process.local_training(
        weights, datasets.to_client_input(batches)
      )
      found.append([np.asarray(t) for t in trained.trainable])
    for without, with_decay, start in zip(*found, weights.trainable):
      tolerance.assert_close(
        with_decay - without,
        -rate * decay * np.asarray(start),
        relative=tolerance.FLOAT32_SUMS,
        scale=1,
      )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the block `aggregation`: its checks and limits."""

import pathlib

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.execution import contexts
from launch.methods import aggregation
from launch.methods import config_checks
from launch.methods import registry
from launch.runs import experiment
from tests.launch import small_configs

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_METHODS = registry.names('model_aggregator')
_OTHERS = sorted(set(registry.own_methods()) - set(_METHODS))
_NUM_CLIENTS = small_configs.NUM_TRAINING_CLIENTS
# Multi-Krum of all clients, which is the mean.
_ALL_SELECTED = {
  'cohort_size': _NUM_CLIENTS,
  'aggregation.num_attackers': 0,
  'aggregation.num_selected': _NUM_CLIENTS,
}


def setUpModule():
  contexts.set_default_context()


class CheckTest(parameterized.TestCase):
  @parameterized.parameters(
    (
      'median',
      {'aggregation.rule': 'bulyan'},
      "rule is 'bulyan'; one of median",
    ),
    ('median', {'aggregation.clip_norm': 0.0}, 'clip_norm is 0.0; a positive'),
    ('median', {'aggregation.f': 1}, 'field aggregation.f does not exist'),
    ('median', {'aggregation': 'median'}, "aggregation is 'median'; a block"),
    (
      'median',
      {'algorithm.client_weighting': 'num_examples'},
      "is 'num_examples', but aggregation.rule is 'median', .* uniform was",
    ),
    (
      'trimmed_mean',
      {'aggregation.trimmed_share': 0.5},
      'trimmed_share is 0.5; a number below 0.5',
    ),
    (
      'trimmed_mean',
      {'cohort_size': 4},
      r'share is 0.2, by which nobody of a cohort of 4 \(cohort_size\) is left',
    ),
    (
      'krum',
      {'cohort_size': 6, 'aggregation.num_attackers': 2},
      'cohort_size is 6, but .* num_attackers 2 and num_selected 1; 7 or more',
    ),
    (
      'krum',
      {'cohort_size': 6, 'aggregation.num_selected': 7},
      'cohort_size is 6, but .* num_attackers 1 and num_selected 7; 7 or more',
    ),
  )
  def test_fields(self, preset, changes, message):
    config = small_configs.make_config(
      f'fed_avg,aggregation={preset}', **{'cohort_size': 8, **changes}
    )
    with self.assertRaisesRegex(errors.InputError, message):
      config_checks.check_config(config)

  @parameterized.parameters(
    ('fed_avg,exchange=coordinates', 'clipped', 'a block exchange, which has'),
    ('fed_avg,privacy=gaussian', 'median', 'a block privacy, which has its ow'),
    ('fed_avg,compression=quantized', 'krum', "is 'krum', by which the server"),
    (
      'fed_fish',
      'median',
      'not exist for fed_fish: its mean is a ratio of two',
    ),
    *((name, 'clipped', f'not exist for {name}: it') for name in _OTHERS),
  )
  def test_what_it_does_not_go_with(self, variant, preset, message):
    config = small_configs.make_config(
      f'{variant},aggregation={preset}', cohort_size=8
    )
    with self.assertRaisesRegex(errors.InputError, message):
      config_checks.check_config(config)

  @parameterized.product(name=_METHODS, preset=tuple(aggregation.PRESETS))
  def test_presets(self, name, preset):
    config_checks.check_config(
      small_configs.make_config(f'{name},aggregation={preset}', cohort_size=5)
    )


class BuildTest(parameterized.TestCase):
  def _train(self, variant, *, rounds=2, batch_size=None, **changes):
    """The weights before and after some rounds, the task and the process."""
    config = small_configs.make_config(
      variant, **{'algorithm.client_weighting': 'uniform', **changes}
    )
    config_checks.check_config(config)
    task = experiment.create_task(config)
    process = registry.build_method(config, task).process
    result = simulation.run_training(
      process,
      train_data=task.train,
      participation=simulation.uniform_participation(
        task.train.client_ids, cohort_size=config['cohort_size'], seed=0
      ),
      batch_spec=datasets.BatchSpec(
        batch_size=batch_size or config['batch_size'],
        epochs=config['local_epochs'],
      ),
      seed=0,
      rounds=rounds,
      client_states=simulation.ClientStateStore(
        pathlib.Path(self.create_tempdir().full_path) / 'states'
      ),
    )
    weights = process.get_model_weights
    return weights(process.initialize()), weights(result.state), task, process

  def _check_limit(self, name, preset, **changes):
    cohort = {'cohort_size': _NUM_CLIENTS}
    _, plain, _, _ = self._train(f'{name},server=sgd', **cohort)
    _, found, _, _ = self._train(
      f'{name},server=sgd,aggregation={preset}', **cohort | changes
    )
    for one, other in zip(plain.trainable, found.trainable, strict=True):
      np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-6)

  @pytest.mark.thorough
  def test_a_bound_that_nobody_reaches_is_the_mean(self):
    self._check_limit(
      'fed_avg', 'clipped', **{'aggregation.clip_norm': 2.0**40}
    )

  @parameterized.parameters(*_METHODS)
  @pytest.mark.thorough
  def test_multi_krum_of_all_is_the_mean(self, name):
    self._check_limit(name, 'krum', **_ALL_SELECTED)

  def test_a_round_is_that_of_numpy(self):
    """The median of what clients train, each from its whole batch."""
    start, found, task, process = self._train(
      'fed_avg,server=sgd,aggregation=median',
      rounds=1,
      batch_size=10_000,
      cohort_size=_NUM_CLIENTS,
    )
    trained = []
    for client in task.train.client_ids:
      x, y = task.train.load_client(client)
      batch = tf.data.Dataset.from_tensors((x, y))
      trained.append(process.local_training(start, batch).trainable)
    for i, tensor in enumerate(found.trainable):
      expected = np.median([t[i] for t in trained], axis=0)
      np.testing.assert_allclose(tensor, expected, rtol=1e-4, atol=1e-6)

  def test_the_adaptive_mean_is_that_of_tff(self):
    config = small_configs.make_config('fed_avg,aggregation=adaptive')
    found = aggregation.build_model_aggregator(config)
    arguments = (
      tff.to_type([tff.TensorType(np.float32, (3,))]),
      tff.TensorType(np.float32),
    )
    self.assertEqual(
      found.create(*arguments).next.type_signature,
      tff.learning.robust_aggregator().create(*arguments).next.type_signature,
    )

  def test_a_cohort_that_is_too_small_keeps_the_weights(self):
    """Where clients that were drawn do not come."""
    start, found, _, _ = self._train(
      'fed_avg,server=sgd,aggregation=krum',
      rounds=1,
      cohort_size=_NUM_CLIENTS,
      **{'aggregation.num_attackers': 2, 'aggregation.num_selected': 8},
    )
    self.assertFalse(np.array_equal(start.trainable[0], found.trainable[0]))
    config = small_configs.make_config(
      'fed_avg,server=sgd,aggregation=krum', cohort_size=_NUM_CLIENTS
    )
    task = experiment.create_task(config)
    process = registry.build_method(config, task).process
    data = [
      tf.data.Dataset.from_tensors(task.train.load_client(client))
      for client in task.train.client_ids[:4]
    ]
    state = process.initialize()
    output = process.next(state, data)
    self.assertEqual(output.metrics['aggregator']['clients'], 4)
    self.assertEqual(output.metrics['finalizer']['update_non_finite'], 1)
    np.testing.assert_array_equal(
      process.get_model_weights(output.state).trainable[0],
      process.get_model_weights(state).trainable[0],
    )


if __name__ == '__main__':
  absltest.main()

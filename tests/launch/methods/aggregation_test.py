# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the block `aggregation`: its checks, limits, and an attack."""

import collections
import contextlib
import math

from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import simulation
from launch.configs import digits
from launch.methods import building
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

_NUM_CLIENTS = small_configs.NUM_TRAINING_CLIENTS
# Multi-Krum of all clients, which is the mean.
_ALL_SELECTED = {
  'cohort_size': _NUM_CLIENTS,
  'aggregation.num_attackers': 0,
  'aggregation.num_selected': _NUM_CLIENTS,
}


class CheckTest(parameterized.TestCase):
  @parameterized.parameters(
    ('trimmed_mean', {'cohort_size': 4}, 'cohort of 4 .*0.2'),
    (
      'krum',
      {'cohort_size': 6, 'aggregation.num_attackers': 2},
      'cohort_size.*num_attackers 2 and num_selected 1.*6',
    ),
    (
      'krum',
      {'cohort_size': 6, 'aggregation.num_selected': 7},
      'cohort_size.*num_attackers 1 and num_selected 7.*6',
    ),
  )
  def test_fields(self, preset, changes, message):
    with self.assertRaisesRegex(errors.InputError, message):
      small_configs.read_config(
        f'fed_avg,aggregation={preset}', **{'cohort_size': 8, **changes}
      )


class SizesTest(small_configs.TaskTestCase):
  @parameterized.parameters(
    # Of 8 clients the fastest 2, then 4, then 8; Krum needs 5.
    ('krum', 'flanp', {'rounds_per_stage': 2}, 4, 4),
    ('krum', 'flanp', {'rounds_per_stage': 2}, 5, None),
    # Its first stage would never end.
    ('krum', 'flanp', {'rounds_per_stage': 0}, 99, 2),
    ('krum', 'srpfl', {'rounds_per_stage': 9}, 9, 2),
    ('multi_krum', 'power_of_choice', {}, 1, None),
    ('krum', 'epochs', {}, 1, None),
    ('krum', 'uniform', {'dropout': 0.999}, 3, 0),
    # It leaves out the first of 5.
    ('trimmed_mean', 'flanp', {'rounds_per_stage': 2}, 4, 4),
    ('trimmed_mean', 'flanp', {'rounds_per_stage': 2}, 5, None),
    ('median', 'flanp', {'rounds_per_stage': 2}, 1, None),
  )
  def test_some_round_has_enough_clients(
    self, preset, policy, changes, rounds, most
  ):
    config = small_configs.make_config(
      f'fed_avg,aggregation={preset},participation={policy}',
      rounds=rounds,
      cohort_size=_NUM_CLIENTS,
    )
    config['participation'] |= changes
    config = config_checks.read(config)
    if most is None:
      config.create_cohorts(self.task)
      return
    with self.assertRaisesRegex(
      errors.InputError,
      f'must bring 5 clients .* the block aggregation .*, got at most {most} in',
    ):
      config.create_cohorts(self.task)

  @parameterized.parameters(0.1, 0.2, 0.29, 1 / 3, 0.49, 1 / 49, 1 / 98)
  def test_the_least_clients_of_a_trimmed_mean(self, share):
    least = next(n for n in range(1, 999) if math.floor(share * n) >= 1)
    for cohort_size in (least - 1, least):
      with contextlib.ExitStack() as stack:
        if cohort_size < least:
          stack.enter_context(
            self.assertRaisesRegex(errors.InputError, 'trimmed_share')
          )
        small_configs.read_config(
          'fed_avg,aggregation=trimmed_mean',
          cohort_size=cohort_size,
          **{'aggregation.trimmed_share': share},
        )


class BuildTest(parameterized.TestCase):
  def _train(self, variant, *, rounds=2, batch_size=None, **changes):
    """The weights before and after some rounds, the task and the process."""
    config = small_configs.make_config(
      variant, **{'algorithm.client_weighting': 'uniform', **changes}
    )
    task, process, state = small_configs.run_rounds(
      config,
      self.create_tempdir().full_path,
      rounds=rounds,
      batch_size=batch_size,
    )
    weights = process.get_model_weights
    return weights(process.initialize()), weights(state), task, process

  def _check_limit(self, name, preset, **changes):
    cohort = {'cohort_size': _NUM_CLIENTS}
    _, plain, _, _ = self._train(name, **cohort)
    _, found, _, _ = self._train(
      f'{name},aggregation={preset}', **cohort | changes
    )
    for one, other in zip(plain.trainable, found.trainable, strict=True):
      np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-6)

  @parameterized.parameters('clipped', 'centered')
  @pytest.mark.thorough
  def test_a_bound_that_nobody_reaches_is_the_mean(self, preset):
    self._check_limit('fed_avg', preset, **{'aggregation.clip_norm': 2.0**40})

  @parameterized.parameters(
    # A mean of updates, of gradients, of steps, of late ones, and of what clients
    # share.
    *('fed_avg', 'fed_sgd', 'fed_nova', 'fed_buff', 'fed_per'),
  )
  @pytest.mark.thorough
  def test_multi_krum_of_all_is_the_mean(self, name):
    self._check_limit(name, 'krum', **_ALL_SELECTED)

  @parameterized.parameters(*registry.names('model_aggregator'))
  @pytest.mark.thorough
  def test_every_method_takes_the_rule(self, name):
    """Looks for what the rule measures."""
    process = small_configs.build(
      f'{name},aggregation=krum', cohort_size=_NUM_CLIENTS
    ).process
    measured = process.next.type_signature.result['metrics'].member
    self.assertIn('clients', dir(measured['aggregator']))

  def test_a_round_is_that_of_numpy(self):
    """The median of what clients train, each from its whole batch."""
    start, found, task, process = self._train(
      'fed_avg,aggregation=median',
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
    config = small_configs.read_config('fed_avg,aggregation=adaptive')
    task = experiment.create_task(config)
    found = building.Ingredients(config=config, task=task).model_aggregator
    arguments = (
      tff.to_type([tff.TensorType(np.float32, (3,))]),
      tff.TensorType(np.float32),
    )
    self.assertEqual(
      found.create(*arguments).next.type_signature,
      tff.learning.robust_aggregator().create(*arguments).next.type_signature,
    )

  def test_a_cohort_that_is_too_small_keeps_the_weights(self):
    """Cohorts from which some drawn clients do not come."""
    start, found, _, _ = self._train(
      'fed_avg,aggregation=krum',
      rounds=1,
      cohort_size=_NUM_CLIENTS,
      **{'aggregation.num_attackers': 2, 'aggregation.num_selected': 8},
    )
    self.assertFalse(np.array_equal(start.trainable[0], found.trainable[0]))
    config = small_configs.read_config(
      'fed_avg,aggregation=krum', cohort_size=_NUM_CLIENTS
    )
    task = experiment.create_task(config)
    process = building.build_method(config, task).process
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


class _AttackedFactory(tff.aggregators.WeightedAggregationFactory):
  """Clients of some weights send -10 times their update; all count alike."""

  def __init__(self, inner, weights):
    self._inner = inner
    self._weights = tuple(weights)

  def create(self, value_type, weight_type):
    inner = self._inner.create(value_type, weight_type)

    @tff.tensorflow.computation(value_type, weight_type)
    def attack(value, weight):
      attacks = tf.reduce_any(tf.equal(weight, self._weights))
      factor = tf.where(attacks, -10.0, 1.0)
      return tf.nest.map_structure(lambda t: factor * t, value), tf.ones([])

    @tff.federated_computation(
      inner.initialize.type_signature.result,
      tff.FederatedType(value_type, tff.CLIENTS),
      tff.FederatedType(weight_type, tff.CLIENTS),
    )
    def next_fn(state, value, weight):
      sent = tff.federated_map(attack, (value, weight))
      return inner.next(state, sent[0], sent[1])

    return tff.templates.AggregationProcess(inner.initialize, next_fn)


def _accuracy(weights, data):
  """A network with one hidden layer of rectified units, in NumPy."""
  hidden_kernel, hidden_bias, kernel, bias = weights.trainable
  hits = []
  for client in data.client_ids:
    x, y = data.load_client(client)
    hidden = np.maximum(x @ hidden_kernel + hidden_bias, 0)
    hits.append((hidden @ kernel + bias).argmax(axis=1) == y)
  return np.concatenate(hits).mean()


@pytest.mark.thorough
class AttackTest(absltest.TestCase):
  def test_robust_rules_learn_where_the_mean_does_not(self):
    config = digits.get_config('fed_avg').to_dict()
    config['task'].update(num_clients=20, alpha=3.0, hidden_units=(32,))
    task = experiment.create_task(config_checks.read(config))
    sizes = {
      c: len(task.train.load_client(c)[1]) for c in task.train.client_ids
    }
    # By the size of their data, 3 of 12 clients.
    counts = collections.Counter(sizes.values())
    (size,) = [size for size, count in counts.items() if count == 3]

    def train(preset, **changes):
      inner = tff.aggregators.MeanFactory()
      if preset:
        parts = building.Ingredients(
          config=small_configs.read_config(
            f'fed_avg,aggregation={preset}',
            cohort_size=len(sizes),
            **{f'aggregation.{name}': v for name, v in changes.items()},
          ),
          task=task,
        )
        inner = parts.model_aggregator
      process = algorithms.build_fed_avg(
        task.create_model(),
        tff.learning.optimizers.build_sgdm(0.1),
        client_weighting=tff.learning.ClientWeighting.NUM_EXAMPLES,
        model_aggregator=_AttackedFactory(inner, [4.0 * size]),
      )
      result = simulation.run_training(
        process,
        train_data=task.train,
        participation=simulation.uniform_participation(
          task.train.client_ids, cohort_size=len(sizes), seed=0
        ),
        batch_spec=datasets.BatchSpec(batch_size=16, epochs=4),
        seed=0,
        rounds=15,
      )
      return _accuracy(process.get_model_weights(result.state), task.test)

    attackers = {'num_attackers': 3}
    robust = {
      'median': train('median'),
      'trimmed_mean': train('trimmed_mean', trimmed_share=3.5 / len(sizes)),
      'krum': train('krum', **attackers),
      'multi_krum': train('multi_krum', **attackers),
    }
    self.assertLess(train(None), 0.3)
    self.assertGreater(min(robust.values()), 0.7, robust)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounds of the cohort context give the same bits, whatever runs them."""

from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff.datasets import batches
from fedfish_tff.execution import contexts
from fedfish_tff.execution.running import cohort_stages
from tests.execution import client_computations
from tests.execution import learning_models
from tests.execution import learning_rounds

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff


def _context(**options):
  context = contexts.create_context(**options)
  return context, tff.framework.get_context_stack().install(context)


class BitsTest(parameterized.TestCase):
  @parameterized.parameters(
    ('weighted_fed_avg', 'cnn', 'functional'),
    ('fed_recon', 'mlp', 'variable'),
  )
  @pytest.mark.thorough
  def test_in_one_process(self, name, model, kind):
    run = learning_rounds.ROUNDS[name](learning_models.MODELS[model], kind)
    digests = {}
    for parallelism in (1, 2):
      context, installed = _context(
        max_concurrent_computation_calls=parallelism
      )
      with installed:
        digests[parallelism, 'first'] = learning_rounds.digest(run())
        digests[parallelism, 'second'] = learning_rounds.digest(run())
        with mock.patch.object(cohort_stages, '_CHUNK_CLIENTS', 1):
          digests[parallelism, 'chunks of 1'] = learning_rounds.digest(run())
        with mock.patch.object(cohort_stages, '_CHUNK_BYTES', 500):
          digests[parallelism, 'chunks of 500 bytes'] = learning_rounds.digest(
            run()
          )
      self.assertEmpty(context.runner.general_path_reasons)
    self.assertLen(set(digests.values()), 1, digests)


class InputsTest(absltest.TestCase):
  def test_forms_of_client_data(self):
    """Datasets, lists of batches and arrays: the same bits."""
    case = learning_models.MODELS['mlp']
    process = algorithms.build_fed_avg(
      case.variable, tff.learning.optimizers.build_adam(0.05)
    )
    examples = case.client_data((9, 4, 17))
    spec = batches.BatchSpec(batch_size=4, epochs=2, shuffle=True)
    planned = [
      batches.plan_batches(data, spec, client_id=str(i), seed=5, round_number=2)
      for i, data in enumerate(examples)
    ]
    forms = dict(
      batches=planned,
      datasets=[client.to_dataset() for client in planned],
      lists=[list(client) for client in planned],
      mixed=[planned[0], planned[1].to_dataset(), list(planned[2])],
    )
    context, installed = _context()
    self.assertTrue(context.runner.takes_client_batches)
    with installed:
      state = process.initialize()
      digests = {
        name: learning_rounds.digest(process.next(state, clients))
        for name, clients in forms.items()
      }
    self.assertEmpty(context.runner.general_path_reasons)
    self.assertLen(set(digests.values()), 1, digests)

  def test_beside_clients_with_more_batches(self):
    """Only then does a step of the loop over batches take several."""

    def work(data):
      def step(weights, rows):
        with tf.GradientTape() as tape:
          tape.watch(weights)
          hidden = tf.tanh(rows @ weights)
          loss = tf.reduce_mean(tf.square(hidden @ weights - rows))
          loss += 0.1 * tf.reduce_sum(tf.math.softplus(weights))
        return weights - 0.1 * tape.gradient(loss, weights)

      return data.reduce(tf.eye(4), step)

    sequence = tff.SequenceType(tff.TensorType(np.float32, (None, 4)))
    run = client_computations.at_clients(work, sequence)
    rng = np.random.default_rng(0)
    clients = [
      tf.data.Dataset.from_tensor_slices(
        rng.normal(size=(3 * size, 4)).astype(np.float32)
      ).batch(3)
      for size in (9, 4, 25)
    ]
    context, installed = _context()
    with installed:
      apart, together = run(clients[:2]), run(clients)
    np.testing.assert_array_equal(apart, together[:2])
    self.assertEmpty(context.runner.general_path_reasons)

  def test_cohorts_of_varying_size(self):
    """The result of a round does not depend on the rounds before it."""
    case = learning_models.MODELS['mlp']
    process = tff.learning.algorithms.build_weighted_fed_avg(
      case.model('functional'), tff.learning.optimizers.build_sgdm(0.1)
    )
    clients = learning_rounds.to_datasets(case.client_data((5, 0, 8, 3, 12)))
    cohorts = [clients[:3], [], clients, clients[1:2], clients[3:], clients[:3]]
    context, installed = _context()
    with installed:
      state = process.initialize()
      digests = [
        learning_rounds.digest(process.next(state, cohort))
        for cohort in cohorts
      ]
      nobody = process.next(state, [])
    self.assertEqual(digests[0], digests[-1])
    # No examples, no change, so rounds 1 and 3 equal each other.
    self.assertLen(set(digests), 4)
    self.assertEqual(digests[1], digests[3])
    before = process.get_model_weights(state).trainable
    after = process.get_model_weights(nobody.state).trainable
    for a, b in zip(after, before, strict=True):
      np.testing.assert_array_equal(a, b)
    for cohort, expected in list(zip(cohorts, digests, strict=True))[1:3]:
      _, installed = _context()
      with installed:
        self.assertEqual(
          learning_rounds.digest(process.next(state, cohort)), expected
        )
    self.assertEmpty(context.runner.general_path_reasons)

  @pytest.mark.thorough
  def test_a_client_that_diverges(self):
    """TFF leaves it out; the others' result is as if it had no examples."""
    case = learning_models.MODELS['cnn']
    process = tff.learning.algorithms.build_weighted_fed_avg(
      case.variable, tff.learning.optimizers.build_sgdm(0.1)
    )
    data = case.client_data((5, 8, 3))
    x, y = data[1]
    broken = [data[0], (np.full_like(x, np.nan), y), data[2]]
    empty = [data[0], (x[:0], y[:0]), data[2]]
    context, installed = _context()
    with installed:
      state = process.initialize()
      weights = [
        process.get_model_weights(
          process.next(state, learning_rounds.to_datasets(clients)).state
        ).trainable
        for clients in (broken, empty)
      ]
    self.assertTrue(all(np.all(np.isfinite(w)) for w in weights[0]))
    self.assertEqual(
      learning_rounds.digest(weights[0]), learning_rounds.digest(weights[1])
    )
    self.assertEmpty(context.runner.general_path_reasons)

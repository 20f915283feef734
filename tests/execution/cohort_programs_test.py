# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Analytics and program logic of TFF in the cohort context.

Against plain counting, and against TFF's own runtime where that has to be.
"""

import asyncio
import collections
import tempfile

from fedfish_tff import execution
from tests import tolerance
from tests.execution import client_computations
from tests.execution import two_contexts

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_WORDS = (
  ['the', 'cat', 'the', 'mat'],
  ['a', 'cat', 'gr\u00fc\u00df'],
  [],
  ['the', 'the', 'dog', 'a'],
)


def _datasets(clients=_WORDS, batch_size=1):
  return [
    tf.data.Dataset.from_tensor_slices(np.array(c, np.str_)).batch(batch_size)
    for c in clients
  ]


class OnPurposeTest(two_contexts.TestCase, parameterized.TestCase):
  """The differences from TFF's own runtime that docs/execution.md names."""

  @parameterized.parameters(
    (
      lambda x: x * 0.0,
      [np.nan, np.inf, 2.0],
      [np.nan, np.nan, 0.0],
      [0.0] * 3,
    ),
    (
      lambda x: tf.reshape(x, [1, 1]) @ tf.zeros([1, 1]),
      [np.nan, np.inf],
      [np.nan, np.nan],
      [0.0, 0.0],
    ),
    (lambda x: (x + 1e8) - 1e8, [1.0, 10.0], [0.0, 8.0], [1.0, 10.0]),
    (
      lambda x: x * 1e-30 * 1e-10,
      [np.nan, np.inf],
      [np.nan, np.inf],
      [0.0] * 2,
    ),
    (lambda x: x + np.float32(1e-40), [1e-40], [0.0], [np.float32(1e-40)]),
  )
  @pytest.mark.thorough
  def test_constants_are_not_folded_into_products(self, fn, xs, here, there):
    comp = client_computations.at_clients(
      lambda x: tf.reshape(fn(x), []), np.float32
    )
    xs = np.float32(xs).tolist()
    np.testing.assert_array_equal(self.here(comp, xs), here)
    np.testing.assert_array_equal(self.there(comp, xs), there)

  @pytest.mark.thorough
  def test_samples_have_an_order_of_their_own(self):
    comp = tff.federated_computation(
      lambda x: tff.aggregators.federated_sample(x, 20),
      tff.FederatedType(np.int32, tff.CLIENTS),
    )
    samples = [
      list(run(comp, list(range(20)))) for run in (self.here, self.there)
    ]
    self.assertNotEqual(*samples)
    self.assertEqual(*map(sorted, samples))


@pytest.mark.thorough
class AnalyticsTest(two_contexts.TestCase, parameterized.TestCase):
  @parameterized.parameters(1, 2)
  def test_heavy_hitters(self, k_anonymity):
    comp = tff.analytics.heavy_hitters.iblt.build_iblt_computation(
      capacity=20, k_anonymity=k_anonymity
    )
    result = self.here(comp, _datasets())
    counts = collections.Counter(word for c in _WORDS for word in c)
    clients = collections.Counter(word for c in _WORDS for word in set(c))
    found = dict(
      zip(
        (word.decode() for word in result.heavy_hitters),
        result.heavy_hitters_counts,
      )
    )
    self.assertEqual(
      found,
      {w: n for w, n in counts.items() if clients[w] >= k_anonymity},
    )
    self.assertEqual(result.clients, len(_WORDS))

  def test_histogram(self):
    process = tff.analytics.build_hierarchical_histogram_process(
      0.0, 8.0, 4, max_records_per_user=5, clip_mechanism='distinct'
    )
    data = [
      tf.data.Dataset.from_tensor_slices(np.array(x, np.float32))
      for x in ([0.5, 3.0], [7.0], [2.5, 6.5, 0.1])
    ]

    def run():
      state, _ = process.next(process.initialize(), data)
      return state

    here, there = self.here(run), self.there(run)
    # A tree over four bins, its leaves last.
    tree = here.aggregated_hierarchical_histogram['flat_values']
    np.testing.assert_array_equal(tree, [6, 4, 2, 2, 2, 0, 2])
    np.testing.assert_array_equal(
      tree, there.aggregated_hierarchical_histogram['flat_values']
    )

  def test_distinct(self):
    comp = (
      tff.analytics.count_distinct.create_federated_hyperloglog_computation()
    )
    self.assertEqual(self.here(comp, _flat()), self.there(comp, _flat()))


def _flat():
  return [
    tf.data.Dataset.from_tensor_slices(np.array(c, np.str_)) for c in _WORDS
  ]


class ProgramLogicTest(two_contexts.TestCase):
  @pytest.mark.thorough
  def test_train_model(self):
    """It resumes, releases, and trains what plain calls of `next` train."""
    rng = np.random.default_rng(0)
    clients = tff.simulation.datasets.TestClientData(
      {
        str(i): (rng.random((6, 3), np.float32), rng.random((6, 1), np.float32))
        for i in range(3)
      }
    ).preprocess(lambda dataset: dataset.batch(2))
    data = list(clients.datasets())
    model = tff.learning.models.functional_model_from_keras(
      tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))]),
      tf.keras.losses.MeanSquaredError(),
      clients.element_type_structure,
    )
    process = tff.learning.algorithms.build_weighted_fed_avg(
      model, tff.learning.optimizers.build_sgdm(0.1)
    )
    process_of_ids = (
      tff.simulation.compose_dataset_computation_with_learning_process(
        clients.dataset_computation, process
      )
    )
    metrics = tff.program.MemoryReleaseManager()
    released = tff.program.MemoryReleaseManager()
    folder = tempfile.mkdtemp(dir=self.create_tempdir().full_path)
    context = execution.create_context(asynchronous=True)

    def train(rounds):
      asyncio.run(
        tff.learning.programs.train_model(
          train_process=process_of_ids,
          train_data_source=tff.program.ClientIdDataSource(clients.client_ids),
          train_per_round_clients=3,
          train_total_rounds=rounds,
          program_state_manager=tff.program.FileProgramStateManager(folder),
          model_output_manager=released,
          train_metrics_manager=metrics,
          evaluation_manager=None,
          evaluation_periodicity=1,
        )
      )

    with tff.framework.get_context_stack().install(
      tff.program.NativeFederatedContext(context)
    ):
      train(2)
      train(4)
    self.assertEqual(list(metrics.values()), [1, 2, 3, 4])

    def run():
      state = process.initialize()
      for _ in range(4):
        state = process.next(state, data).state
      return process.get_model_weights(state)

    found = released.values()['training_checkpoint_round_4']
    for one, other in zip(
      tf.nest.flatten(found.global_model_weights),
      tf.nest.flatten(self.here(run)),
      strict=True,
    ):
      tolerance.assert_close(one, other, relative=tolerance.FLOAT32_STEPS)

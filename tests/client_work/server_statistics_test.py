# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The parts of Mime Lite's client work; algorithms/mime_lite_test has the whole."""

from fedfish_tff import errors
from fedfish_tff.client_work import server_statistics
from fedfish_tff.execution import contexts
from tests import numpy_reference as ref

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_RATE, _MOMENTUM = 0.1, 0.5


def setUpModule():
  contexts.set_default_context()


def _optimizer():
  return tff.learning.optimizers.build_sgdm(_RATE, momentum=_MOMENTUM)


class FrozenOptimizerTest(absltest.TestCase):
  def test_all_steps_take_the_initial_state(self):
    optimizer = server_statistics.build_frozen_optimizer(_optimizer())
    state = optimizer.initialize(tf.TensorSpec([2]))
    weights = tf.zeros([2])
    for step in (1, 2, 3):
      state, weights = optimizer.next(state, weights, tf.ones([2]))
      # Momentum would make steps longer and longer.
      np.testing.assert_allclose(weights, -step * _RATE * np.ones(2), rtol=1e-6)
    self.assertEqual(
      optimizer.get_hparams(state), {'learning_rate': _RATE, 'momentum': 0.5}
    )

  def test_all_steps_take_a_given_state(self):
    inner = _optimizer()
    state, _ = inner.next(
      inner.initialize(tf.TensorSpec([2])), tf.zeros([2]), tf.ones([2])
    )
    optimizer = server_statistics.build_frozen_optimizer(inner, state)
    weights = tf.zeros([2])
    for step in (1, 2):
      _, weights = optimizer.next(
        optimizer.initialize(tf.TensorSpec([2])), weights, tf.ones([2])
      )
      np.testing.assert_allclose(
        weights, -step * _RATE * 1.5 * np.ones(2), rtol=1e-6
      )

  def test_what_is_no_optimizer_is_refused(self):
    with self.assertRaisesRegex(TypeError, 'optimizer must be'):
      server_statistics.build_frozen_optimizer(tf.keras.optimizers.SGD(0.1))
    with self.assertRaisesRegex(TypeError, 'optimizer must be'):
      server_statistics.build_server_statistics_update(
        tf.keras.optimizers.SGD(0.1)
      )


class ServerStatisticsWorkTest(absltest.TestCase):
  def _build(self, **options):
    model, optimizer = ref.create_functional_model(), _optimizer()
    return server_statistics.build_server_statistics_work(
      model,
      optimizer,
      server_statistics.build_server_statistics_update(optimizer),
      **options,
    )

  def test_types(self):
    work = self._build()
    output = work.next.type_signature.result
    self.assertEqual(
      tff.structure.name_list(output.measurements.member),
      ['train', 'excluded_clients'],
    )
    self.assertEqual(
      tff.structure.name_list(output.state.member),
      ['optimizer', 'gradient_mean', 'excluded_sum'],
    )

  def test_the_gradient_has_an_aggregator_of_its_own(self):
    clients = [ref.make_batches(n, seed) for seed, n in enumerate((8, 4))]
    work = self._build(
      gradient_aggregator=tff.aggregators.zeroing_factory(
        1e-6, tff.aggregators.MeanFactory()
      )
    )
    weights = tff.learning.models.ModelWeights(ref.initial_weights(), ())
    output = work.next(
      work.initialize(),
      [weights] * len(clients),
      [ref.to_dataset(c) for c in clients],
    )
    # Larger gradients are zeroed; deltas are not.
    for velocity in output.state['optimizer']['accumulator']:
      np.testing.assert_array_equal(velocity, np.zeros_like(velocity))
    for result, client in zip(output.result, clients):
      trained = ref.train(ref.initial_weights(), client, rate=_RATE, epochs=1)
      for delta, start, end in zip(
        result.update, ref.initial_weights(), trained
      ):
        np.testing.assert_allclose(delta, start - end, rtol=1e-4, atol=1e-6)
      self.assertEqual(result.update_weight, sum(len(y) for _, y in client))

  def test_epochs_are_checked(self):
    with self.assertRaisesRegex(errors.InputError, 'local_epochs must be 1'):
      server_statistics.build_server_statistics_update(
        _optimizer(), local_epochs=0
      )


if __name__ == '__main__':
  absltest.main()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The parts of Mime Lite's client work; algorithms/mime_lite_test has the whole."""

from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff.client_work import mime_lite
from fedfish_tff.execution import contexts
from fedfish_tff.models import model_functions
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_RATE, _MOMENTUM = 0.1, 0.5


def setUpModule():
  contexts.set_default_context()


def _optimizer():
  return tff.learning.optimizers.build_sgdm(_RATE, momentum=_MOMENTUM)


class ServerStatisticsUpdateTest(absltest.TestCase):
  def _delta(self, velocity):
    """Returns a client's delta where the server's velocity is constant."""
    model, optimizer = ref.create_functional_model(), _optimizer()
    update_fn = mime_lite.build_server_statistics_update(optimizer)
    weights = tuple(map(tf.constant, ref.initial_weights()))
    state = optimizer.initialize(
      tuple(tf.TensorSpec(w.shape, w.dtype) for w in weights)
    )
    state['accumulator'] = tuple(velocity + a for a in state['accumulator'])

    @tf.function
    def run(state):
      return update_fn(
        model_functions.bind_model(model),
        model_functions.FlatWeights(weights, ()),
        ref.to_dataset(ref.make_batches(8, 0)),
        state,
      )

    return run(state).update['delta'], run(()).update['delta']

  def test_every_step_takes_the_state_of_the_server(self):
    for velocity in (0.0, 0.2):
      batches = ref.make_batches(8, 0)
      expected, _ = ref.mime_lite_round(
        ref.initial_weights(),
        tuple(np.full(w.shape, velocity) for w in ref.initial_weights()),
        [batches],
        rate=_RATE,
        momentum=_MOMENTUM,
        server_rate=1.0,
        epochs=1,
      )
      with_state, without = self._delta(velocity)
      for delta, start, end in zip(with_state, ref.initial_weights(), expected):
        tolerance.assert_close(
          delta,
          start - end,
          relative=tolerance.FLOAT32_SUMS,
          scale=np.abs(start).max(),
        )
      if not velocity:
        for a, b in zip(with_state, without):
          np.testing.assert_array_equal(a, b)

  def test_what_would_overflow_in_the_sum_leaves_the_client_out(self):
    model = ref.create_functional_model()
    # One step of finite length, which times the number of examples is not.
    update_fn = mime_lite.build_server_statistics_update(
      tff.learning.optimizers.build_sgdm(1e38)
    )
    weights = tuple(map(tf.constant, ref.initial_weights()))

    @tf.function
    def run():
      return update_fn(
        model_functions.bind_model(model),
        model_functions.FlatWeights(weights, ()),
        ref.to_dataset(ref.make_batches(100, 0, batch_size=100)),
        (),
      )

    result = run()
    self.assertTrue(client_work.all_finite(result.update))
    left_out, _, excluded, _ = client_work.leave_out_non_finite(
      result, result.metrics
    )
    self.assertEqual(excluded, 1)
    self.assertEqual(left_out.update_weight, 0)

  def test_bad_arguments(self):
    with self.assertRaisesRegex(TypeError, 'optimizer must be'):
      mime_lite.build_server_statistics_update(tf.keras.optimizers.SGD(0.1))
    with self.assertRaisesRegex(errors.InputError, 'local_epochs must be 1'):
      mime_lite.build_server_statistics_update(_optimizer(), local_epochs=0)


class ServerStatisticsWorkTest(absltest.TestCase):
  def _build(self):
    model, optimizer = ref.create_functional_model(), _optimizer()
    return mime_lite.build_server_statistics_work(
      model,
      optimizer,
      mime_lite.build_server_statistics_update(optimizer),
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
      ['optimizer', 'gradient_mean'],
    )

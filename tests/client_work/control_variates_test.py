# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's round of SCAFFOLD, against NumPy."""

import collections
import functools

from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff.execution import contexts
from fedfish_tff.models import model_functions
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_RATE, _EPOCHS = 0.2, 2
_BATCHES = ref.make_batches(10, 0)
_OPTIONS = {
  1: client_work.ControlUpdate.GRADIENT,
  2: client_work.ControlUpdate.LOCAL_STEPS,
}
_WEIGHTS = ref.initial_weights()
_CONTROL, _OWN = ref.initial_weights(1), ref.initial_weights(2)


def setUpModule():
  contexts.set_default_context()


@functools.cache
def _build(option, weighting=tff.learning.ClientWeighting.UNIFORM):
  """A client's round as a computation."""
  model = ref.create_functional_model()
  weights_type = model_functions.weights_type(model)
  control_type = collections.OrderedDict(control=weights_type.trainable)
  return client_work.build_client_state_work(
    model,
    client_work.build_control_variate_update(
      _RATE,
      control_update=_OPTIONS[option],
      local_epochs=_EPOCHS,
      client_weighting=weighting,
    ),
    model_type=tff.types.to_type(
      collections.OrderedDict(weights=weights_type, **control_type)
    ),
    client_type=tff.types.to_type(control_type),
  )


def _run(work, batches, *, epochs=_EPOCHS):
  return work(
    collections.OrderedDict(
      weights=tff.learning.models.ModelWeights(_WEIGHTS, ()), control=_CONTROL
    ),
    collections.OrderedDict(control=_OWN),
    ref.to_dataset(batches, epochs=epochs),
  )


class ControlVariatesTest(parameterized.TestCase):
  def _assert_close(self, actual, expected):
    for a, e in zip(actual, expected, strict=True):
      tolerance.assert_close(
        a, e, relative=tolerance.FLOAT32_STEPS, scale=np.abs(e).max() + 1
      )

  @parameterized.parameters(*_OPTIONS)
  def test_equals_numpy(self, option):
    output = _run(_build(option), _BATCHES)
    trained, control = ref.scaffold_client(
      _WEIGHTS,
      _CONTROL,
      _OWN,
      _BATCHES,
      rate=_RATE,
      epochs=_EPOCHS,
      option=option,
    )
    sent = output.result.update
    self._assert_close(
      sent['delta'], [w - t for w, t in zip(_WEIGHTS, trained)]
    )
    self._assert_close(output.client_state['control'], control)
    self._assert_close(
      sent['control'], [new - old for new, old in zip(control, _OWN)]
    )
    self.assertEqual(output.result.update_weight, 1)
    # The pass for the gradient is not measured.
    self.assertEqual(output.metrics['num_examples'], (20,))

  def test_weight_by_examples(self):
    work = _build(2, tff.learning.ClientWeighting.NUM_EXAMPLES)
    self.assertEqual(_run(work, _BATCHES).result.update_weight, 20)

  @parameterized.parameters(*_OPTIONS)
  def test_a_client_without_data_changes_nothing(self, option):
    output = _run(_build(option), [])
    for sent in tf.nest.flatten(output.result.update):
      np.testing.assert_array_equal(sent, np.zeros_like(sent))
    self.assertEqual(output.result.update_weight, 0)
    self.assertEqual(output.excluded, 0)
    for new, old in zip(output.client_state['control'], _OWN):
      np.testing.assert_array_equal(new, old)

  def test_the_gradient_needs_whole_epochs(self):
    with self.assertRaisesRegex(Exception, 'not that many whole epochs'):
      _run(_build(1), _BATCHES, epochs=1)
    # There is nothing to count for a mean over steps.
    _run(_build(2), _BATCHES, epochs=1)

  @parameterized.parameters(
    {'client_learning_rate': 0.0},
    {'client_learning_rate': np.nan},
    {'local_epochs': 0},
    {'control_update': 'gradient'},
  )
  def test_refuses(self, **arguments):
    with self.assertRaisesRegex(errors.InputError, [*arguments][0]):
      client_work.build_control_variate_update(
        **{'client_learning_rate': _RATE, **arguments}
      )

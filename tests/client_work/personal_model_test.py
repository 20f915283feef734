# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's round of Ditto, against NumPy."""

import collections

from fedfish_tff import client_work
from fedfish_tff import models
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_RATE, _STRENGTH = 0.3, 0.5
_BATCHES = ref.make_batches(7, 0)


def _run(batches):
  update = client_work.build_personal_model_update(
    tff.learning.optimizers.build_sgdm(_RATE), personal_strength=_STRENGTH
  )
  bound = models.bind_model(ref.create_functional_model())
  sent, own = (
    tuple(tf.constant(w) for w in ref.initial_weights(s)) for s in (0, 1)
  )
  return tf.function(
    lambda d: update(
      bound,
      tff.learning.models.ModelWeights(sent, ()),
      collections.OrderedDict(personal=own),
      d,
    )
  )(ref.to_dataset(batches))


class PersonalModelTest(absltest.TestCase):
  def _assert_close(self, actual, expected):
    for a, e in zip(actual, expected, strict=True):
      tolerance.assert_close(
        a, e, relative=tolerance.FLOAT32_STEPS, scale=np.abs(e).max() + 1
      )

  def test_equals_numpy(self):
    update, state = _run(_BATCHES)
    start, own = ref.initial_weights(), ref.initial_weights(1)
    trained = ref.train(start, _BATCHES, rate=_RATE, epochs=1)
    self._assert_close(
      update.update['delta'], [s - t for s, t in zip(start, trained)]
    )
    self._assert_close(
      state['personal'],
      ref.train(
        own,
        _BATCHES,
        rate=_RATE,
        epochs=1,
        proximal_strength=_STRENGTH,
        center=start,
      ),
    )
    self.assertEqual(update.weight, 7)

  def test_a_client_without_data_keeps_its_model(self):
    update, state = _run([])
    self.assertEqual(update.weight, 0)
    for kept, own in zip(state['personal'], ref.initial_weights(1)):
      np.testing.assert_array_equal(kept, own)

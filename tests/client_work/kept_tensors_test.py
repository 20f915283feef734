# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's update of a model of which it keeps a part."""

import collections

from fedfish_tff import client_work
from fedfish_tff import models
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_RATE = 0.3
_SGD = tff.learning.optimizers.build_sgdm(_RATE)
# The first bias and the second kernel.
_LOCAL = (False, True, True, False)
_BATCHES = ref.make_batches(7, 0)


def _run(update_fn, batches=_BATCHES, **kwargs):
  """The shared tensors are those of one seed, the local ones of another."""
  update = client_work.build_partially_local_update(update_fn, _LOCAL, **kwargs)
  bound = models.bind_model(ref.create_functional_model())
  shared, own = ref.initial_weights(), ref.initial_weights(1)
  sent = tff.learning.models.ModelWeights(
    tuple(tf.constant(shared[i]) for i in (0, 3)), ()
  )
  state = collections.OrderedDict(
    local=tuple(tf.constant(own[i]) for i in (1, 2))
  )
  return tf.function(lambda d: update(bound, sent, state, d))(
    ref.to_dataset(batches)
  )


def _start():
  shared, own = ref.initial_weights(), ref.initial_weights(1)
  return shared[0], own[1], own[2], shared[3]


class PartiallyLocalTest(absltest.TestCase):
  def _assert_close(self, actual, expected):
    for a, e in zip(actual, expected, strict=True):
      tolerance.assert_close(
        a, e, relative=tolerance.FLOAT32_STEPS, scale=np.abs(e).max() + 1
      )

  def test_equals_numpy(self):
    update, state = _run(client_work.build_model_delta_update(_SGD))
    trained = ref.train(_start(), _BATCHES, rate=_RATE, epochs=1)
    self._assert_close(
      update.update['delta'], [_start()[i] - trained[i] for i in (0, 3)]
    )
    self._assert_close(state['local'], [trained[i] for i in (1, 2)])
    self.assertEqual(update.weight, 7)

  def test_the_fisher_diagonal_is_that_of_the_shared_tensors(self):
    update, state = _run(client_work.build_fisher_delta_update(_SGD))
    trained = ref.train(_start(), _BATCHES, rate=_RATE, epochs=1)
    diagonal = ref.fisher(trained, _BATCHES)
    self._assert_close(
      update.update['delta'], [_start()[i] - trained[i] for i in (0, 3)]
    )
    self._assert_close(update.update['fisher'], [diagonal[i] for i in (0, 3)])
    self._assert_close(state['local'], [trained[i] for i in (1, 2)])

  def test_a_selector_chooses_among_the_shared_tensors(self):
    update, _ = _run(
      client_work.build_model_delta_update(_SGD),
      selector=client_work.build_share_selector(0.5),
    )
    trained = ref.train(_start(), _BATCHES, rate=_RATE, epochs=1)
    delta = [_start()[i] - trained[i] for i in (0, 3)]
    norms = [np.linalg.norm(d) for d in delta]
    expected = [n == max(norms) for n in norms]
    self.assertEqual([bool(m) for m in update.update['mask']], expected)
    self._assert_close(
      update.update['update']['delta'],
      [d * sent for d, sent in zip(delta, expected)],
    )

  def test_a_client_without_data_keeps_its_tensors(self):
    update, state = _run(client_work.build_model_delta_update(_SGD), [])
    self.assertEqual(update.weight, 0)
    for kept, i in zip(state['local'], (1, 2)):
      np.testing.assert_array_equal(kept, ref.initial_weights(1)[i])

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The server step that leaves alone what nobody sent."""

import collections

from fedfish_tff import algorithms
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff

_WEIGHTS = tff.learning.models.ModelWeights(
  trainable=(np.float32([1, 2, 3]), np.float32([[4]])),
  non_trainable=(np.float32(7),),
)
_WEIGHTS_TYPE = tff.to_type(
  tff.learning.models.ModelWeights(
    trainable=((np.float32, [3]), (np.float32, [1, 1])),
    non_trainable=(np.float32,),
  )
)


def _update(sent):
  return collections.OrderedDict(
    update=(np.float32([1, 0, -1]), np.float32([[0]])), sent=sent
  )


class PartialFinalizerTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    # Once it has moved weights, Adam moves them at an update of 0 too.
    self.inner = tff.learning.templates.build_apply_optimizer_finalizer(
      tff.learning.optimizers.build_adam(0.1), _WEIGHTS_TYPE
    )

  @parameterized.parameters(
    ([np.bool_] * 2, (False, True), ([False] * 3, [[True]])),
    (
      [(np.bool_, [3]), np.bool_],
      (np.array([True, False, True]), False),
      ([True, False, True], [[False]]),
    ),
  )
  def test_keeps_what_nobody_sent(self, mask_type, sent, moves):
    finalizer = algorithms.keep_what_nobody_sent(
      self.inner, tff.to_type(tuple(mask_type))
    )
    everything = (True, True)
    if mask_type[0] != np.bool_:
      everything = (np.ones(3, np.bool_), True)
    first = _update(everything)
    first['update'] = (np.ones(3, np.float32), np.ones((1, 1), np.float32))
    started = finalizer.next(finalizer.initialize(), _WEIGHTS, first)
    self.assertIsInstance(started.result, tff.learning.models.ModelWeights)
    output = finalizer.next(started.state, started.result, _update(sent))
    for before, after, moved in zip(
      started.result.trainable, output.result.trainable, moves, strict=True
    ):
      np.testing.assert_array_equal(after != before, moved)
    self.assertEqual(output.result.non_trainable, (7,))

  def test_with_everything_sent_it_is_the_wrapped_one(self):
    finalizer = algorithms.keep_what_nobody_sent(
      self.inner, tff.to_type((np.bool_, np.bool_))
    )
    update = _update((True, True))
    one = finalizer.next(finalizer.initialize(), _WEIGHTS, update)
    other = self.inner.next(self.inner.initialize(), _WEIGHTS, update['update'])
    tolerance.assert_same(one.result.trainable, other.result.trainable)

  def test_hyper_parameters_are_those_of_the_wrapped_one(self):
    finalizer = algorithms.keep_what_nobody_sent(
      self.inner, tff.to_type((np.bool_, np.bool_))
    )
    state = finalizer.initialize()
    hparams = finalizer.get_hparams(state)
    self.assertAlmostEqual(float(hparams['learning_rate']), 0.1)
    hparams['learning_rate'] = np.float32(0.5)
    state = finalizer.set_hparams(state, hparams)
    self.assertAlmostEqual(
      float(finalizer.get_hparams(state)['learning_rate']), 0.5
    )

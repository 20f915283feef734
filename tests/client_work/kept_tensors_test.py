# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's update of a model of which it keeps a part, against NumPy."""

import collections

from fedfish_tff import client_work
from tests import client_updates
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff

_SGD = tff.learning.optimizers.build_sgdm(0.3)
_BATCHES = ref.make_batches(7, 0)


class PartiallyLocalTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    # The shared tensors are those of one seed, the local ones of another.
    shared, own = ref.initial_weights(), ref.initial_weights(1)
    self._start = shared[0], own[1], own[2], shared[3]
    self._trained = ref.train(self._start, _BATCHES, rate=0.3, epochs=1)
    self._delta = [self._start[i] - self._trained[i] for i in (0, 3)]

  def _run(self, **kwargs):
    update_fn = client_work.build_partially_local_update(
      client_work.build_model_delta_update(_SGD),
      (False, True, True, False),
      **kwargs,
    )
    start = client_updates.constants(self._start)
    return client_updates.run(
      lambda bound, _, dataset: update_fn(
        bound,
        tff.learning.models.ModelWeights((start[0], start[3]), ()),
        collections.OrderedDict(local=start[1:3]),
        dataset,
      ),
      _BATCHES,
    )

  def _assert_close(self, actual, expected):
    tolerance.assert_all_close(actual, expected, least_scale=1.0)

  def test_equals_numpy(self):
    update, state = self._run()
    self._assert_close(update.update['delta'], self._delta)
    self._assert_close(state['local'], self._trained[1:3])
    self.assertEqual(update.weight, 7)

  def test_a_selector_chooses_among_the_shared_tensors(self):
    update, _ = self._run(selector=client_work.build_share_selector(0.5))
    norms = [np.linalg.norm(d) for d in self._delta]
    expected = [n == max(norms) for n in norms]
    self.assertEqual([bool(m) for m in update.update['mask']], expected)
    self._assert_close(
      update.update['update']['delta'],
      [d * sent for d, sent in zip(self._delta, expected)],
    )

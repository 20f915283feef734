# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Counting excluded clients around client work of TFF's own."""

from fedfish_tff import client_work
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff


class CountExcludedClientsTest(absltest.TestCase):
  def test_counts_and_passes_everything_else_through(self):
    inner = tff.learning.templates.build_functional_model_delta_client_work(
      model=ref.create_functional_model(),
      optimizer=tff.learning.optimizers.build_sgdm(0.3),
      client_weighting=tff.learning.ClientWeighting.UNIFORM,
    )
    counted = client_work.count_excluded_clients(inner)
    good = ref.make_batches(5, 0)
    x, y = good[0]
    broken = [(np.full_like(x, np.nan), y)]
    data = [ref.to_dataset(c) for c in (good, broken, [], broken)]
    weights = [
      tff.learning.models.ModelWeights(ref.initial_weights(), ())
    ] * len(data)
    output = counted.next(counted.initialize(), weights, data)
    plain = inner.next(inner.initialize(), weights, data)
    self.assertEqual(output.measurements['excluded_clients'], 2)
    self.assertEqual(output.measurements['train'], plain.measurements['train'])
    for a, e in zip(output.result, plain.result):
      self.assertEqual(a.update_weight, e.update_weight)
      tolerance.assert_same(a.update, e.update)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's model delta against NumPy; fed_avg_test has the faults."""

from fedfish_tff import client_work
from tests import client_updates
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff

_SGD = tff.learning.optimizers.build_sgdm(0.3)


class ModelDeltaTest(absltest.TestCase):
  def test_equals_numpy(self):
    batches = ref.make_batches(7, 0)
    result = client_updates.run_update(
      client_work.build_model_delta_update(_SGD), batches, epochs=2
    )
    start = ref.initial_weights()
    trained = ref.train(start, batches, rate=0.3, epochs=2)
    tolerance.assert_all_close(
      result.update['delta'],
      [s - e for s, e in zip(start, trained)],
      least_scale=max(np.abs(s).max() for s in start),
    )
    # TFF counts each epoch's examples.
    self.assertEqual(result.weight, 14)

  def test_uniform_weight(self):
    update_fn = client_work.build_model_delta_update(
      _SGD, client_weighting=tff.learning.ClientWeighting.UNIFORM
    )
    result = client_updates.run_update(update_fn, ref.make_batches(7, 0))
    self.assertEqual(result.weight, 1)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's model delta against NumPy; fed_avg_test has the faults."""

from fedfish_tff import client_work
from tests import client_updates
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff

_SGD = tff.learning.optimizers.build_sgdm(0.3)


class ModelDeltaTest(parameterized.TestCase):
  # TFF counts each epoch's examples.
  @parameterized.parameters(
    (tff.learning.ClientWeighting.NUM_EXAMPLES, 14),
    (tff.learning.ClientWeighting.UNIFORM, 1),
  )
  def test_equals_numpy(self, weighting, weight):
    batches = ref.make_batches(7, 0)
    update_fn = client_work.build_model_delta_update(
      _SGD, client_weighting=weighting
    )
    result = client_updates.run_update(update_fn, batches, epochs=2)
    start = ref.initial_weights()
    trained = ref.train(start, batches, rate=0.3, epochs=2)
    tolerance.assert_all_close(
      result.update['delta'],
      [s - e for s, e in zip(start, trained)],
      least_scale=max(np.abs(s).max() for s in start),
    )
    self.assertEqual(result.weight, weight)

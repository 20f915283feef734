# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's round of Ditto against NumPy; ditto_test has more."""

import collections

from fedfish_tff import client_work
from tests import client_updates
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import absltest
import tensorflow_federated as tff


class PersonalModelTest(absltest.TestCase):
  def test_equals_numpy(self):
    batches = ref.make_batches(7, 0)
    start, own = ref.initial_weights(), ref.initial_weights(1)
    update_fn = client_work.build_personal_model_update(
      tff.learning.optimizers.build_sgdm(0.3), personal_strength=0.5
    )
    update, state = client_updates.run(
      lambda bound, sent, dataset: update_fn(
        bound,
        tff.learning.models.ModelWeights(*sent),
        collections.OrderedDict(personal=client_updates.constants(own)),
        dataset,
      ),
      batches,
    )
    options = dict(rate=0.3, epochs=1)
    trained = ref.train(start, batches, **options)
    personal = ref.train(
      own, batches, proximal_strength=0.5, center=start, **options
    )
    for actual, expected in (
      (update.update['delta'], [s - t for s, t in zip(start, trained)]),
      (state['personal'], personal),
    ):
      tolerance.assert_all_close(actual, expected, least_scale=1.0)
    self.assertEqual(update.weight, 7)

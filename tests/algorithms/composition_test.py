# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Parts that do not fit are refused when they are composed."""

from fedfish_tff import algorithms
from fedfish_tff import client_work
from tests import numpy_reference as ref

from absl.testing import absltest
import tensorflow_federated as tff


class ComposeProcessTest(absltest.TestCase):
  def _compose(self, aggregator):
    model = ref.create_functional_model()
    sgd = tff.learning.optimizers.build_sgdm(0.1)
    update = client_work.build_fisher_delta_update(sgd)
    return algorithms.compose_process(
      model,
      client_work.build_client_work(model, update),
      aggregator,
      sgd,
      local_training=client_work.build_local_training(model, sgd),
      extra_passes=3,
    )

  def test_aggregator_without_weights_is_refused(self):
    sgd = tff.learning.optimizers.build_sgdm(0.1)
    model = ref.create_functional_model()
    private = tff.learning.dp_aggregator(0.1, 5)
    some = {'local_tensors': (False, False, True, True)}
    selector = client_work.build_share_selector(0.5)
    for build, options in (
      (algorithms.build_fed_avg, {}),
      (algorithms.build_fed_nova, {}),
      (algorithms.build_fed_per, some),
      (algorithms.build_fed_per, {**some, 'selector': selector}),
    ):
      with self.assertRaisesRegex(TypeError, 'as_weighted_aggregator makes'):
        build(model, sgd, sgd, model_aggregator=private, **options)

  def test_aggregator_that_does_not_return_an_update_is_refused(self):
    # A plain mean of <delta, fisher> is no update of the weights.
    with self.assertRaisesRegex(TypeError, 'must make an update'):
      self._compose(tff.aggregators.MeanFactory())

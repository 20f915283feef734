# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models that have one description."""

import functools

from fedfish_tff import models
from launch.runs import model_graph

from absl.testing import parameterized
import numpy as np

_FEATURES = functools.partial(
  models.create_dense_features, num_inputs=3, hidden_units=(4,)
)


def _mlp(seed=0, hidden_units=(4, 4)):
  return models.create_mlp_classifier(
    num_features=3, num_classes=2, hidden_units=hidden_units, seed=seed
  )


def _classifier(seed=0, temperature=1.0):
  """All but the classifier is frozen."""
  whole = models.create_feature_classifier(
    _FEATURES(seed=seed), num_classes=2, temperature=temperature
  )
  tensors = models.fine_tuned_tensors(whole, models.FineTuning.FT_LP)
  return models.partition_model(whole, tensors).model


class ModelGraphTest(parameterized.TestCase):
  def test_initial_weights_have_no_part(self):
    one, other = _mlp(seed=0), _mlp(seed=1)
    self.assertFalse(
      np.array_equal(one.initial_weights[0][0], other.initial_weights[0][0])
    )
    self.assertEqual(model_graph.describe(one), model_graph.describe(other))
    self.assertEqual(
      model_graph.describe(_classifier()), model_graph.describe(_classifier())
    )

  @parameterized.named_parameters(
    ('shapes', _mlp(), _mlp(hidden_units=(4, 5))),
    ('layers', _mlp(), _mlp(hidden_units=(4,))),
    ('a_constant', _classifier(), _classifier(temperature=2.0)),
    ('frozen_weights', _classifier(), _classifier(seed=1)),
  )
  def test_what_is_computed_has(self, one, other):
    self.assertNotEqual(model_graph.describe(one), model_graph.describe(other))

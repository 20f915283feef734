# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fed3R: a ridge classifier from one visit to each client.

Fani, Camoriano, Caputo and Ciccone, "Accelerating Heterogeneous Federated
Learning with Closed-form Classifiers", ICML 2024. Sums of statistics do not
depend on how examples are distributed. So the classifier is that of the pooled
examples, whatever the clients, their order and the rounds.

With a `models.FeatureMap` named `feature_map` and data `clients`, a list of
`tf.data.Dataset` of (x, y) batches, each client once:

```
process = build_fed3r(feature_map, num_classes=10)
state = process.initialize()
state, metrics = process.next(state, clients)
weights = process.get_model_weights(state)
```

The result is weights of `models.create_feature_classifier(feature_map,
num_classes=10)`. Any process fine-tunes them (Fed3R+FT) as weights of that
model with `temperature=0.1`, as published; `models.partition_model` selects the
tensors.
"""

from fedfish_tff import choices
from fedfish_tff.aggregators import upper_triangle_sum
from fedfish_tff.algorithms import closed_form
from fedfish_tff.algorithms import process
from fedfish_tff.models import feature_map as feature_map_lib
from fedfish_tff.models import ridge_solution

import tensorflow as tf
import tensorflow_federated as tff


def build_fed3r(
  feature_map: feature_map_lib.FeatureMap,
  *,
  num_classes: int,
  regularization: float = 0.01,
  bias: choices.RidgeBias = choices.RidgeBias.REGULARIZED,
  normalize_classes: bool = True,
  accumulator_dtype: tf.DType = tf.float32,
  chunk_size: int = 1024,
  sum_factory: tff.aggregators.UnweightedAggregationFactory | None = None,
) -> process.FederatedProcess:
  """Builds Fed3R (Fani et al., 2024).

  Over all examples (x, y) of all clients, with phi the features of x and a
  constant 1, and e_y the unit vector of the class:

    A = sum(phi phi^T),  b = sum(phi e_y^T),  W = (A + lambda I)^-1 b

  Each class' weights and bias are then divided by the norm of the weights.

  Defaults are those of the official code.

  Args:
    feature_map: The frozen feature extractor: its initial weights are constants
      that clients know, and are not sent.
    num_classes: C, the number of classes; labels are from 0 to C - 1.
    regularization: lambda, which is the process' hyper-parameter. `set_hparams`
      changes it without another visit to the clients, and
      `models.solve_ridge_path` solves for many values at once.
    bias: A regularised constant feature, a centred fit, or none.
    normalize_classes: Whether each class' weights are divided by their norm.
    accumulator_dtype: The dtype of the sums: tf.float32, or tf.float64, with
      which sums take twice the bytes and the solution equals that of the pooled
      examples to the rounding of float32 weights.
    chunk_size: The number of examples with features in memory at a time.
    sum_factory: The aggregator of <gram's upper triangle, moments> as one
      structure; `tff.aggregators.SumFactory` by default. It must return sums.
      `tff.aggregators.DifferentiallyPrivateFactory.gaussian_fixed` divides by
      its `clients_per_round`, whatever the cohort, so that A and b would be too
      small for lambda. With `clients_per_round=1.0` it returns the sum with
      noise of clip * noise_multiplier. Every round adds such noise, even one
      without clients, and keeping A positive definite then needs a larger
      lambda.

  Returns:
    A process with next of type (<S@SERVER, {B*}@CLIENTS> -> <state=S@SERVER,
    metrics=M@SERVER>), where B* are batches of one epoch: an example that comes
    twice counts twice. A client with statistics that are not finite is left out
    and counted. `get_model_weights` solves. `set_model_weights` drops all sums,
    so that the model is the given one until the next round begins new sums.
    `local_training` solves for one client's own examples with the
    `regularization` given here, whatever `set_hparams` has changed.
  """
  ridge_solution.check_regularizations([regularization])

  def solve(statistics, hparams):
    return ridge_solution.solve_ridge(
      statistics['gram'],
      statistics['moments'],
      hparams['regularization'],
      bias=bias,
      normalize_classes=normalize_classes,
    )

  return closed_form.build_closed_form_process(
    feature_map,
    upper_triangle_sum.UpperTriangleSumFactory(['gram'], sum_factory),
    solve,
    num_classes=num_classes,
    hparams=dict(regularization=regularization),
    accumulator_dtype=accumulator_dtype,
    chunk_size=chunk_size,
  )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedBuff and FedAsync: updates from models that are no longer the newest.

Nguyen et al., "Federated Learning with Buffered Asynchronous Aggregation",
AISTATS 2022 (arXiv:2106.06639), Algorithm 1; Xie, Koyejo and Gupta,
"Asynchronous Federated Optimization", 2019 (arXiv:1903.03934), Algorithm 1.
`simulation.Asynchronous` decides on the order of the answers.
"""

import collections
from collections.abc import Callable
import dataclasses

from fedfish_tff import errors
from fedfish_tff.algorithms import averaged_statistics
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import composition
from fedfish_tff.algorithms import server_step as server_step_lib
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import model_delta
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff

# Maps an update's staleness, a float32 scalar, to its factor; at graph time.
StalenessWeight = Callable[[tf.Tensor], tf.Tensor]


def constant_staleness_weight(staleness: tf.Tensor) -> tf.Tensor:
  """Returns 1, which ignores staleness."""
  return tf.ones_like(staleness)


def polynomial_staleness_weight(exponent: float = 0.5) -> StalenessWeight:
  """Returns s(d) = (d + 1)^-a (Xie et al., section 5.2, and FedBuff's weight).

  Args:
    exponent: a, 0 or more; 0.5 in both papers.
  """
  errors.check_range('exponent', exponent, least=0)
  return lambda staleness: (staleness + 1.0) ** -exponent


def hinge_staleness_weight(
  slope: float = 10.0, delay: float = 4.0
) -> StalenessWeight:
  """Returns s(d) = 1 / (a (d - b) + 1) for d > b, else 1 (Xie et al., 5.2).

  Args:
    slope: a, 0 or more; 10 in the paper.
    delay: b, the staleness that costs nothing, 0 or more; 4 in the paper.
  """
  for name, value in dict(slope=slope, delay=delay).items():
    errors.check_range(name, value, least=0)
  return lambda staleness: 1.0 / (slope * tf.nn.relu(staleness - delay) + 1.0)


def build_fed_buff(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  max_staleness: int,
  staleness_weight: StalenessWeight | None = None,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.UNIFORM
  ),
  model_aggregator: (tff.aggregators.WeightedAggregationFactory | None) = None,
) -> client_state_process.ClientStateProcess:
  """Builds FedBuff (Nguyen et al., 2022, Algorithm 1).

  Client i trains from the weights w_(t - d_i) of d_i steps ago to w_i. With s
  the weight of staleness and mean that of a round's K clients:

    w_(t + 1) = w_t - eta_g mean(s(d_i) (w_(t - d_i) - w_i))

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The optimizer of local training.
    server_optimizer_fn: The optimizer applied to the mean. The paper's is SGD
      with rate eta_g, here 1 by default.
    max_staleness: The largest d_i, 0 or more; the server keeps one model more
      than this.
    staleness_weight: s; by default 1 / sqrt(d + 1), as in the paper.
    client_weighting: The clients' weights in the mean. Uniform by default, as
      in the paper; with NUM_EXAMPLES |D_i| (times local epochs).
    model_aggregator: The aggregator, `tff.aggregators.MeanFactory` by default.

  Returns:
    The process. In the place of a client's state is its staleness d_i, an int32
    scalar, such as that of `simulation.StalenessStore`; a client that comes
    without one has 0. The server also holds the trainable tensors of the last
    models, [max_staleness + 1, ...], the newest first. A client receives one of
    them. `local_training` starts from the server's weights.
  """
  return _build(
    model_fn,
    client_optimizer_fn,
    server_optimizer_fn,
    max_staleness=max_staleness,
    staleness_weight=staleness_weight,
    factor=1.0,
    mixes_models=False,
    client_weighting=client_weighting,
    model_aggregator=model_aggregator,
  )


def build_fed_async(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  *,
  max_staleness: int,
  mixing_weight: float = 0.6,
  staleness_weight: StalenessWeight | None = None,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.UNIFORM
  ),
  model_aggregator: (tff.aggregators.WeightedAggregationFactory | None) = None,
) -> client_state_process.ClientStateProcess:
  """Builds FedAsync (Xie et al., 2019, Algorithm 1, option I).

  A round has one client, which trains from the weights of d steps ago to w_i:

    w_(t + 1) = (1 - alpha s(d)) w_t + alpha s(d) w_i

  alpha, `mixing_weight`, is above 0 and at most 1, by default the paper's 0.6; s
  is `staleness_weight`, by default the paper's 1 / sqrt(d + 1), and d is 0 for
  the newest weights. A client sends alpha s(d) (w_t - w_i), which
  `model_aggregator` combines.
  Several clients take the mean of their w_(t + 1). A client optimizer with a
  proximal term gives option II. The rest is as in `build_fed_buff`.
  """
  errors.check_range('mixing_weight', mixing_weight, above=0, most=1)
  return _build(
    model_fn,
    client_optimizer_fn,
    None,
    max_staleness=max_staleness,
    staleness_weight=staleness_weight,
    factor=mixing_weight,
    mixes_models=True,
    client_weighting=client_weighting,
    model_aggregator=model_aggregator,
  )


def _build(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None,
  *,
  max_staleness: int,
  staleness_weight: StalenessWeight | None,
  factor: float,
  mixes_models: bool,
  client_weighting: tff.learning.ClientWeighting,
  model_aggregator: tff.aggregators.WeightedAggregationFactory | None,
) -> client_state_process.ClientStateProcess:
  errors.check_integer('max_staleness', max_staleness, least=0)
  averaged_statistics.refuse(model_fn, 'An asynchronous method')
  staleness_weight = staleness_weight or polynomial_staleness_weight()

  def client_update(bound, sent, staleness, dataset):
    is_held = tf.debugging.Assert(
      (staleness >= 0) & (staleness <= max_staleness),
      [f'staleness must be from 0 to {max_staleness}, got', staleness],
    )
    with tf.control_dependencies([is_held]):
      staleness = tf.identity(staleness)
    newest = sent.weights
    start = newest._replace(trainable=tuple(h[staleness] for h in sent.state))
    trained = local_training.train_locally(
      bound, client_optimizer_fn, start, dataset
    )
    update = model_delta.delta_update(bound, start, trained, client_weighting)
    delta = update.update['delta']
    if mixes_models:
      # Without examples, the earlier model that came back is not the client's.
      delta = tuple(
        tf.where(update.weight > 0, new - after, tf.zeros_like(new))
        for new, after in zip(newest.trainable, trained.weights.trainable)
      )
    scale = factor * staleness_weight(tf.cast(staleness, tf.float32))
    return update._replace(
      update=collections.OrderedDict(
        delta=tuple(tf.cast(scale, d.dtype) * d for d in delta)
      ),
      own=tf.identity(staleness),
    )

  def server_step(take_step, server, aggregate):
    step, server = server_step_lib.step_weights(take_step, server, aggregate)
    held = tuple(
      tf.concat([new[tf.newaxis], old[:max_staleness]], axis=0)
      for new, old in zip(step.trainable, server.state)
    )
    return step, server._replace(state=held)

  process = composition.compose(
    model_fn,
    client_update,
    model_aggregator,
    server_optimizer_fn,
    initialize_server=lambda weights: tuple(
      tf.stack([w] * (max_staleness + 1)) for w in weights.trainable
    ),
    initialize_client=lambda server: tf.constant(0),
    server_step=server_step,
    build_local_training=lambda: local_training.build_local_training(
      model_fn, client_optimizer_fn
    ),
  )
  # Of the broadcast, a client needs the model that it starts from.
  return dataclasses.replace(
    process, received_type=process.get_model_weights.type_signature.result
  )

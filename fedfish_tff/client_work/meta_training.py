# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""MAML's local training, for weights that are good after one more step.

Fallah, Mokhtari and Ozdaglar, "Personalized Federated Learning with Theoretical
Guarantees: A Model-Agnostic Meta-Learning Approach", NeurIPS 2020
(arXiv:2002.07948), Algorithm 1: clients minimise F(w) = f(w - alpha grad f(w)).
A step on batches D, D', D'':

  g = grad f(w; D)
  g' = grad f(w - alpha g; D')
  w <- w - beta (g' - alpha H(w; D'') g')

HF-MAML (Fallah et al., AISTATS 2020, arXiv:1908.10400, Algorithm 3) has
[grad f(w + delta g'; D'') - grad f(w - delta g'; D'')] / (2 delta) for H g'.
"""

from typing import Any
from typing import NamedTuple

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff.client_work import local_training
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions
from fedfish_tff.models import traced_graph

import tensorflow as tf
import tensorflow_federated as tff

_Tensors = tuple[tf.Tensor, ...]


class _State(NamedTuple):
  """A client's state between two batches.

  Attributes:
    trainable: The trained weights w.
    non_trainable: The weights that are not trained.
    optimizer: The client optimizer's state.
    metrics: The model's metrics over the batches D' so far.
    gradient: The result of the step's batches so far.
    number: The number of batches so far, an int32 scalar.
  """

  trainable: _Tensors
  non_trainable: _Tensors
  optimizer: Any
  metrics: Any
  gradient: _Tensors
  number: tf.Tensor


def _add(some: _Tensors, factor: float, others: _Tensors) -> _Tensors:
  return tuple(s + tf.cast(factor, s.dtype) * o for s, o in zip(some, others))


def _count(dataset: tf.data.Dataset) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns the numbers of batches and of examples."""

  def add_batch(state, batch):
    num_batches, num_examples = state
    x, _ = model_functions.split_batch(batch)
    rows = tf.shape(tf.nest.flatten(x)[0], tf.int64)[0]
    return num_batches + 1, num_examples + rows

  zero = tf.constant(0, tf.int64)
  return dataset.reduce((zero, zero), add_batch)


def build_meta_training(
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  *,
  personal_learning_rate: float = 1e-2,
  meta_gradient: choices.MetaGradient = choices.MetaGradient.HESSIAN_FREE,
  meta_batches: choices.MetaBatches = choices.MetaBatches.INDEPENDENT,
  difference: float = 1e-3,
) -> local_training.TrainFn:
  """Builds MAML's local training (Fallah et al., 2020, Algorithm 1).

  Defaults are the values published by Tziotis et al. (TMLR 2023,
  arXiv:2206.02078).

  Args:
    client_optimizer_fn: The optimizer of the outer steps; the paper's is SGD
      with rate beta, published as 0.1.
    personal_learning_rate: alpha, the rate of the inner step, 0 or positive.
    meta_gradient: The treatment of the Hessian. HESSIAN_FREE needs a model that
      draws no random numbers in training: with dropout, the two gradients of
      its difference would have different masks.
    meta_batches: Whether D, D' and D'' are a client's next three batches (two,
      D and D', for FIRST_ORDER), or one batch. If the last step lacks batches,
      it takes the first ones again, as if another epoch began: a client with
      one batch uses it for all three, and with two, D'' is D.
    difference: delta, the step of HESSIAN_FREE's finite difference, positive.
      If it is too small, float32 rounding dominates.

  Returns:
    A function for `model_delta.build_trained_delta_update`. Metrics are those
    of w - alpha g on the batches D', so over a part of the examples unless
    batches are shared. `num_examples` counts all examples, each once. It raises
    InputError for a model that `meta_gradient` does not fit.
  """
  local_training.check_optimizer(client_optimizer_fn, 'client_optimizer_fn')
  for name, value, kind in (
    ('meta_gradient', meta_gradient, choices.MetaGradient),
    ('meta_batches', meta_batches, choices.MetaBatches),
  ):
    errors.check_choice(name, value, kind)
  errors.check_range('personal_learning_rate', personal_learning_rate, least=0)
  errors.check_range('difference', difference, above=0)
  alpha = personal_learning_rate

  def train(bound, weights, dataset):
    def gradients(state, trainable, batch):
      return bound.loss_gradients(
        model_functions.FlatWeights(trainable, state.non_trainable),
        *model_functions.split_batch(batch),
      )

    def adapt(state, batch):
      """Takes the gradient g on D."""
      return state._replace(gradient=gradients(state, state.trainable, batch))

    def differentiate(state, batch):
      """Takes the gradient g' on D', at w - alpha g."""
      result = bound.training_gradients(
        model_functions.FlatWeights(
          _add(state.trainable, -alpha, state.gradient), state.non_trainable
        ),
        state.metrics,
        batch,
      )
      return state._replace(
        non_trainable=result.non_trainable,
        metrics=result.metrics_state,
        gradient=result.gradients,
      )

    def correct(state, batch):
      """Subtracts the product with the Hessian, on D''."""
      if meta_gradient is choices.MetaGradient.EXACT:
        product = bound.hessian_product(
          model_functions.FlatWeights(state.trainable, state.non_trainable),
          *model_functions.split_batch(batch),
          state.gradient,
        )
      else:
        ahead, behind = (
          gradients(state, _add(state.trainable, step, state.gradient), batch)
          for step in (difference, -difference)
        )
        if traced_graph.draws_random_numbers():
          raise errors.InputError(
            'meta_gradient must be EXACT or FIRST_ORDER (in a config: '
            'algorithm.order) for a model that draws random numbers in '
            'training, as dropout and augmentation do, got HESSIAN_FREE: the '
            'two gradients of its difference would have different draws.'
          )
        product = tuple(
          (a - b) / tf.cast(2 * difference, a.dtype)
          for a, b in zip(ahead, behind)
        )
      return state._replace(gradient=_add(state.gradient, -alpha, product))

    def move(state, unused_batch):
      optimizer, trainable = autograph.convert(client_optimizer_fn.next)(
        state.optimizer, state.trainable, state.gradient
      )
      return state._replace(optimizer=optimizer, trainable=trainable)

    # The functions applied to each batch of a step.
    parts = [[adapt], [differentiate], [correct]]
    if meta_gradient is choices.MetaGradient.FIRST_ORDER:
      parts.pop()
    parts[-1].append(move)
    if meta_batches is choices.MetaBatches.SHARED:
      parts = [sum(parts, [])]

    def take_part(state, batch, part):
      for function in part:
        state = function(state, batch)
      return tf.nest.flatten(state._replace(number=state.number + 1))

    def add_batch(state, batch):
      branches = [lambda p=part: take_part(state, batch, p) for part in parts]
      # A batch cannot wait in the state of a reduction for later ones, since
      # batches differ in size, so each batch takes one branch.
      results = (
        branches[0]()
        if len(branches) == 1
        else tf.switch_case(state.number % len(branches), branches)
      )
      return tf.nest.pack_sequence_as(state, results)

    num_batches, num_examples = _count(dataset)
    missing = -num_batches % len(parts)
    if len(parts) > 1:
      dataset = dataset.repeat(len(parts)).take(num_batches + missing)
    end = dataset.reduce(
      _State(
        trainable=weights.trainable,
        non_trainable=weights.non_trainable,
        optimizer=local_training.begin_optimizer(
          client_optimizer_fn, weights.trainable
        ),
        metrics=bound.initial_metrics(),
        gradient=tuple(map(tf.zeros_like, weights.trainable)),
        number=tf.constant(0),
      ),
      add_batch,
    )
    return local_training.TrainingResult(
      model_functions.FlatWeights(end.trainable, end.non_trainable),
      end.metrics,
      num_examples,
      num_batches,
    )

  return train

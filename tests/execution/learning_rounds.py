# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounds of learning that are run in two contexts and compared.

Algorithms of `tff.learning` and of this package, with clients that have ragged
last batches, or no data at all.
"""

import collections
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import functools
import hashlib
import math
from typing import Any

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import models
from fedfish_tff import parameters
from tasks import networks
from tests import tolerance
from tests.execution import learning_models

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# Momenta hold sums of squares of differences of weights: rounding that is small
# beside weights is larger beside these.
_STATE_FACTOR = 5


def to_datasets(
  client_data: Sequence[tuple[np.ndarray, np.ndarray]], *, epochs: int = 1
) -> list[tf.data.Dataset]:
  """The clients' examples in batches."""
  return [
    tf.data.Dataset.from_tensor_slices(examples)
    .batch(learning_models.BATCH_SIZE)
    .repeat(epochs)
    for examples in client_data
  ]


# Makes, of a model case and a kind, a round: a function without arguments that
# runs it in the current context and returns a nest of arrays.
Round = Callable[[], Any]


def _sgdm() -> tff.learning.optimizers.Optimizer:
  return tff.learning.optimizers.build_sgdm(0.1, momentum=0.5)


def _adam() -> tff.learning.optimizers.Optimizer:
  return tff.learning.optimizers.build_adam(0.05, epsilon=1e-2)


def learning_process_round(
  process: tff.learning.templates.LearningProcess, data: Sequence[Any]
) -> Round:
  """Returns one round of a process from its initial state."""

  def run() -> Any:
    output = process.next(process.initialize(), list(data))
    return collections.OrderedDict(
      weights=process.get_model_weights(output.state),
      metrics=output.metrics,
      state=output.state,
    )

  return run


def _of_process(
  build: Callable[[Any], Any], *, epochs: int = 1
) -> Callable[..., Round]:
  def make(case: learning_models.ModelCase, kind: str) -> Round:
    return learning_process_round(
      build(case.model(kind)), to_datasets(case.client_data(), epochs=epochs)
    )

  return make


def _of_client_state_process(
  build: Callable[[Any], Any], *, epochs: int = 1
) -> Callable[..., Round]:
  """Two rounds: in the first, all clients have new states."""

  def make(case: learning_models.ModelCase, kind: str) -> Round:
    process = build(case.model(kind))
    data = to_datasets(case.client_data(), epochs=epochs)

    def run() -> Any:
      state = process.initialize()
      client_states = [process.initialize_client(state)] * len(data)
      for _ in range(2):
        output = process.next(state, client_states, data)
        state, client_states = output.state, output.client_states
      return collections.OrderedDict(
        weights=process.get_model_weights(state),
        metrics=output.metrics,
        state=(state, client_states),
      )

    return run

  return make


def _build_fed_rep(model: Any) -> algorithms.ClientStateProcess:
  """The last two tensors are the head."""
  trainable = models.weights_type(model).trainable
  num_tensors = len(tff.structure.flatten(trainable))
  return algorithms.build_fed_rep(
    model,
    _sgdm(),
    local_tensors=[i >= num_tensors - 2 for i in range(num_tensors)],
    head_epochs=1,
  )


def _schedule(round_number: Any) -> Any:
  return 0.1 / (tf.cast(round_number, tf.float32) + 2.0)


def _recon_model(
  case: learning_models.ModelCase,
) -> tff.learning.models.ReconstructionModel:
  model = case.keras_model()
  return tff.learning.models.ReconstructionModel.from_keras_model_and_layers(
    model,
    global_layers=model.layers[:-1],
    local_layers=model.layers[-1:],
    input_spec=case.input_spec(),
  )


def _fed_recon(case: learning_models.ModelCase, kind: str) -> Round:
  del kind  # There are only those with variables.
  process = tff.learning.algorithms.build_fed_recon(
    functools.partial(_recon_model, case),
    loss_fn=learning_models.create_loss,
    metrics_fn=learning_models.create_metrics,
    client_optimizer_fn=_sgdm(),
    reconstruction_optimizer_fn=_sgdm(),
  )
  return learning_process_round(process, to_datasets(case.client_data()))


def _fed_recon_eval(case: learning_models.ModelCase, kind: str) -> Round:
  del kind
  process = tff.learning.algorithms.build_fed_recon_eval(
    functools.partial(_recon_model, case),
    loss_fn=learning_models.create_loss,
    metrics_fn=learning_models.create_metrics,
    reconstruction_optimizer_fn=_sgdm(),
    dataset_split_fn=(
      tff.learning.models.ReconstructionModel.build_dataset_split_fn(
        recon_epochs=3, recon_steps_max=4, split_dataset=False
      )
    ),
  )
  return learning_process_round(process, to_datasets(case.client_data()))


def _kmeans(case: learning_models.ModelCase, kind: str) -> Round:
  del kind  # There is no model.
  process = tff.learning.algorithms.build_fed_kmeans(
    3, case.shape, random_seed=(1, 2)
  )
  return learning_process_round(
    process,
    [tf.data.Dataset.from_tensor_slices(x) for x, _ in case.client_data()],
  )


def _evaluate_unbatched(
  model: tff.learning.models.VariableModel, data: tf.data.Dataset
) -> collections.OrderedDict[str, tf.Tensor]:
  def add_batch(state: Any, batch: Any) -> Any:
    loss, num_examples = state
    output = model.forward_pass(batch, training=False)
    return (
      loss + output.loss * tf.cast(output.num_examples, tf.float32),
      num_examples + output.num_examples,
    )

  loss, num_examples = data.batch(learning_models.BATCH_SIZE).reduce(
    (tf.constant(0.0), tf.constant(0)), add_batch
  )
  return collections.OrderedDict(loss=loss, num_examples=num_examples)


def _fine_tune() -> Callable[..., Any]:
  optimizer = tf.keras.optimizers.legacy.SGD(0.1)

  @tf.function
  def run(
    model: tff.learning.models.VariableModel,
    train: tf.data.Dataset,
    test: tf.data.Dataset,
  ) -> collections.OrderedDict[str, tf.Tensor]:
    def step(num_batches: tf.Tensor, batch: Any) -> tf.Tensor:
      with tf.GradientTape() as tape:
        loss = model.forward_pass(batch).loss
      gradients = tape.gradient(loss, model.trainable_variables)
      optimizer.apply_gradients(zip(gradients, model.trainable_variables))
      return num_batches + 1

    num_batches = (
      train.batch(learning_models.BATCH_SIZE).repeat(2).reduce(0, step)
    )
    return collections.OrderedDict(
      num_batches=num_batches, test=_evaluate_unbatched(model, test)
    )

  return run


def _personalization_eval(case: learning_models.ModelCase, kind: str) -> Round:
  del kind  # There are only those with variables.
  evaluate = tff.learning.algorithms.build_personalization_eval_computation(
    case.variable,
    collections.OrderedDict(sgd=_fine_tune),
    tf.function(_evaluate_unbatched),
  )
  weights = tff.learning.models.ModelWeights.from_model(case.variable())
  weights = weights.convert_variables_to_arrays()
  data = [
    collections.OrderedDict(
      train_data=tf.data.Dataset.from_tensor_slices((x[::2], y[::2])),
      test_data=tf.data.Dataset.from_tensor_slices((x[1::2], y[1::2])),
    )
    for x, y in case.client_data()
  ]

  def run() -> Any:
    metrics = evaluate(weights, data)
    # Sampling gives the clients in any order.
    order = np.lexsort([np.asarray(m) for m in tf.nest.flatten(metrics)])
    return tf.nest.map_structure(lambda m: np.asarray(m)[order], metrics)

  return run


_learning = tff.learning.algorithms
TFF_ROUNDS: Mapping[str, Callable[[learning_models.ModelCase, str], Round]] = {
  'weighted_fed_avg': _of_process(
    lambda model: _learning.build_weighted_fed_avg(model, _sgdm(), _adam())
  ),
  'unweighted_fed_avg': _of_process(
    lambda model: _learning.build_unweighted_fed_avg(model, _adam())
  ),
  'fed_avg_with_schedule': _of_process(
    lambda model: _learning.build_weighted_fed_avg_with_optimizer_schedule(
      model, _schedule, tff.learning.optimizers.build_sgdm
    )
  ),
  'fed_sgd': _of_process(lambda model: _learning.build_fed_sgd(model, _sgdm())),
  'weighted_fed_prox': _of_process(
    lambda model: _learning.build_weighted_fed_prox(model, 0.5, _sgdm())
  ),
  'unweighted_fed_prox': _of_process(
    lambda model: _learning.build_unweighted_fed_prox(model, 0.5, _sgdm())
  ),
  'weighted_mime_lite': _of_process(
    lambda model: _learning.build_weighted_mime_lite(model, _sgdm())
  ),
  'unweighted_mime_lite': _of_process(
    lambda model: _learning.build_unweighted_mime_lite(model, _sgdm())
  ),
  'mime_lite_with_schedule': _of_process(
    lambda model: _learning.build_mime_lite_with_optimizer_schedule(
      model, _schedule, tff.learning.optimizers.build_adagrad(0.1)
    )
  ),
  'fed_eval': _of_process(_learning.build_fed_eval),
}
# These have no functional form, or no model at all.
TFF_ROUNDS_OF_ONE_KIND: Mapping[
  str, Callable[[learning_models.ModelCase, str], Round]
] = {
  'fed_recon': _fed_recon,
  'fed_recon_eval': _fed_recon_eval,
  'kmeans': _kmeans,
  'personalization_eval': _personalization_eval,
}


def _fed_fish(
  estimator: str,
) -> Callable[[learning_models.ModelCase, str], Round]:
  return _of_process(
    lambda model: algorithms.build_fed_fish(
      model,
      _sgdm(),
      local_epochs=2,
      fisher_estimator=client_work.FisherEstimator[estimator],
      damping=1e-3,
      label_sampler=models.categorical_label_sampler()
      if estimator == 'SAMPLED_LABEL'
      else None,
    ),
    epochs=2,
  )


def _fed3r(case: learning_models.ModelCase, kind: str) -> Round:
  """Statistics of chunks that fall across batches."""
  del kind
  size = math.prod(case.shape)
  features = models.FeatureMap(
    input_spec=tf.TensorSpec([None, *case.shape], tf.float32),
    num_features=size,
    initial_weights=(),
    apply=lambda weights, x: tf.reshape(x, [-1, size]),
  )
  return learning_process_round(
    algorithms.build_fed3r(
      features,
      num_classes=learning_models.NUM_CLASSES,
      regularization=1.0,
      chunk_size=5,
    ),
    to_datasets(case.client_data()),
  )


OWN_ROUNDS: Mapping[str, Callable[[learning_models.ModelCase, str], Round]] = {
  'own_fed_avg': _of_process(
    lambda model: algorithms.build_fed_avg(model, _sgdm(), _adam())
  ),
  'own_fed_prox': _of_process(
    lambda model: algorithms.build_fed_prox(
      model, _sgdm(), proximal_strength=0.5
    ),
    epochs=2,
  ),
  'own_fed_sgd': _of_process(
    lambda model: algorithms.build_fed_sgd(model, _adam())
  ),
  'own_mime_lite': _of_process(
    lambda model: algorithms.build_mime_lite(model, _sgdm(), local_epochs=2),
    epochs=2,
  ),
  **{
    f'fed_fish_{estimator.name.lower()}': _fed_fish(estimator.name)
    for estimator in client_work.FisherEstimator
  },
  'fed3r': _fed3r,
  'own_scaffold': _of_client_state_process(
    lambda model: algorithms.build_scaffold(
      model,
      tff.learning.optimizers.build_sgdm(0.1),
      num_clients=10,
      control_update=client_work.ControlUpdate.GRADIENT,
    )
  ),
  'own_fed_rep': _of_client_state_process(_build_fed_rep, epochs=2),
  'own_ditto': _of_client_state_process(
    lambda model: algorithms.build_ditto(model, _sgdm(), personal_strength=0.5)
  ),
  # A difference well above the rounding in which runtimes may differ.
  'own_hf_maml': _of_process(
    lambda model: algorithms.build_hf_maml(
      model, _sgdm(), personal_learning_rate=0.1, difference=0.1
    ),
    epochs=2,
  ),
  'own_maml': _of_process(
    lambda model: algorithms.build_hf_maml(
      model,
      _sgdm(),
      personal_learning_rate=0.1,
      meta_gradient=client_work.MetaGradient.EXACT,
    ),
    epochs=2,
  ),
}
ROUNDS = {**TFF_ROUNDS, **TFF_ROUNDS_OF_ONE_KIND, **OWN_ROUNDS}


def one_step_of_dropout() -> Round:
  """Returns a round of a model with dropout, of one step a client.

  What later steps drop depends on all bits of the weights, and these on rounding.
  """
  shape = (8, 8, 1)
  model = networks.create_dropout_cnn(
    input_shape=shape, num_classes=learning_models.NUM_CLASSES, seed=1
  )
  case = learning_models.ModelCase('dropout', shape, layers=list)
  return learning_process_round(
    algorithms.build_fed_avg(model, _sgdm()),
    to_datasets(case.client_data((4, 3, 0, 1, 4))),
  )


@tff.federated_computation(tff.FederatedType(np.float32, tff.CLIENTS))
def scaled_total(values):
  """A sum of what a parameter multiplies at the clients."""
  scale = tff.tensorflow.computation(
    lambda x: x * parameters.create('scale', 1.0), np.float32
  )
  return tff.federated_sum(tff.federated_map(scale, values))


def flatten(result: Any) -> list[np.ndarray]:
  """Returns the arrays of a result."""
  return [np.asarray(leaf) for leaf in tf.nest.flatten(result)]


def digest(result: Any) -> str:
  """Returns a text that differs if one bit of a result does."""
  state = hashlib.sha256()
  for leaf in flatten(result):
    state.update(f'{leaf.dtype} {leaf.shape};'.encode())
    state.update(leaf.tobytes())
  return state.hexdigest()


def assert_agree(here: Any, there: Any, *, relative: float) -> None:
  """Asserts that two results are equal up to a relative tolerance.

  Relative to the largest element of each array: a sum's small elements may
  differ by the rounding of its large terms. A state's is some times larger.
  """
  if isinstance(here, Mapping) and 'state' in here:
    here, there = dict(here), dict(there)
    assert_agree(
      here.pop('state'), there.pop('state'), relative=_STATE_FACTOR * relative
    )
  for number, (a, b) in enumerate(
    zip(flatten(here), flatten(there), strict=True)
  ):
    tolerance.assert_close(
      a,
      b,
      relative=relative if b.dtype.kind == 'f' else 0,
      err_msg=f'leaf {number}',
    )

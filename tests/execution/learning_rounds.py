# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounds of learning that are run in two contexts and compared.

Algorithms of `tff.learning` and of this package, models of three kinds, as
functions of weights and with variables, and clients with ragged last batches,
one of them without data.
"""

import collections
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import hashlib
from typing import Any

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import models

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# Momenta hold sums of squares of differences of weights: rounding that is small
# beside weights is larger beside these.
_STATE_FACTOR = 5
# Numbers of examples of the clients; batches are of 4.
SIZES = (9, 4, 0, 17)
BATCH_SIZE = 4
NUM_CLASSES = 3


@dataclasses.dataclass(frozen=True)
class ModelCase:
  """A kind of model.

  Attributes:
    name: What it is called in the names of tests.
    shape: Of an example.
    layers: Makes the layers, with the same initial weights every time.
    functional: Makes the model as functions of its weights; of the layers by
      default.
    tolerance: Relative, by which two runtimes may differ.
  """

  name: str
  shape: tuple[int, ...]
  layers: Callable[[], list[tf.keras.layers.Layer]]
  functional: (
    Callable[['ModelCase'], tff.learning.models.FunctionalModel] | None
  ) = None
  tolerance: float = 1e-6

  def input_spec(self) -> tuple[tf.TensorSpec, tf.TensorSpec]:
    """Specs of a batch (x, y)."""
    return (
      tf.TensorSpec([None, *self.shape], tf.float32),
      tf.TensorSpec([None], tf.int32),
    )

  def keras_model(self) -> tf.keras.Model:
    """Makes the network."""
    return tf.keras.Sequential(
      [tf.keras.layers.InputLayer(self.shape), *self.layers()]
    )

  def variable(self) -> tff.learning.models.VariableModel:
    """Makes the model with variables."""
    return tff.learning.models.from_keras_model(
      self.keras_model(),
      loss=_loss(),
      input_spec=self.input_spec(),
      metrics=_metrics(),
    )

  def model(self, kind: str) -> Any:
    """Returns what builders of algorithms take: 'variable' or 'functional'."""
    if kind == 'variable':
      return self.variable
    return (self.functional or _functional_of_layers)(self)

  def client_data(
    self, sizes: Sequence[int] = SIZES, *, seed: int = 7
  ) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns each client's examples (x, y)."""
    rng = np.random.default_rng(seed)
    return [
      (
        rng.normal(size=(n, *self.shape)).astype(np.float32),
        rng.integers(0, NUM_CLASSES, n).astype(np.int32),
      )
      for n in sizes
    ]


def _loss() -> tf.keras.losses.Loss:
  return tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def _metrics() -> list[tf.keras.metrics.Metric]:
  return [
    tf.keras.metrics.SparseCategoricalAccuracy('accuracy'),
    tff.learning.metrics.NumExamplesCounter('examples'),
  ]


def _functional_of_layers(
  case: ModelCase,
) -> tff.learning.models.FunctionalModel:
  return tff.learning.models.functional_model_from_keras(
    case.keras_model,
    loss_fn=_loss(),
    input_spec=case.input_spec(),
    metrics_constructor=_functional_metrics,
  )


def _functional_metrics() -> collections.OrderedDict[str, Any]:
  return collections.OrderedDict(
    loss=tf.keras.metrics.SparseCategoricalCrossentropy(from_logits=True),
    **{metric.name: metric for metric in _metrics()},
  )


def _glorot(seed: int) -> tf.keras.initializers.Initializer:
  return tf.keras.initializers.GlorotUniform(seed)


def _mlp() -> list[tf.keras.layers.Layer]:
  return [
    tf.keras.layers.Dense(8, 'relu', kernel_initializer=_glorot(1)),
    tf.keras.layers.Dense(NUM_CLASSES, kernel_initializer=_glorot(2)),
  ]


def _cnn() -> list[tf.keras.layers.Layer]:
  return [
    tf.keras.layers.Conv2D(
      4, 3, activation='relu', kernel_initializer=_glorot(1)
    ),
    tf.keras.layers.MaxPooling2D(),
    tf.keras.layers.Conv2D(
      6, 2, activation='relu', kernel_initializer=_glorot(2)
    ),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(NUM_CLASSES, kernel_initializer=_glorot(3)),
  ]


def _rnn() -> list[tf.keras.layers.Layer]:
  return [
    tf.keras.layers.GRU(
      5,
      kernel_initializer=_glorot(1),
      recurrent_initializer=_glorot(2),
    ),
    tf.keras.layers.Dense(NUM_CLASSES, kernel_initializer=_glorot(3)),
  ]


def _functional_rnn(case: ModelCase) -> tff.learning.models.FunctionalModel:
  """A plain recurrent network: TFF makes no functions of Keras' ones."""
  num_steps, num_features = case.shape
  rng = np.random.default_rng(3)
  shapes = ((num_features, 5), (5, 5), (5,), (5, NUM_CLASSES), (NUM_CLASSES,))
  weights = tuple(
    rng.normal(scale=0.4, size=shape).astype(np.float32) for shape in shapes
  )

  @tf.function
  def predict(model_weights: Any, x: tf.Tensor, training: bool) -> tf.Tensor:
    del training  # Both are the same.
    (wx, wh, b, w, bias), _ = model_weights
    _, h = tf.while_loop(
      lambda i, _: i < num_steps,
      lambda i, h: (i + 1, tf.tanh(x[:, i] @ wx + h @ wh + b)),
      (tf.constant(0), tf.zeros([tf.shape(x)[0], 5])),
      shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 5])),
    )
    return h @ w + bias

  def loss(output: Any, label: Any, sample_weight: Any = None) -> tf.Tensor:
    del sample_weight
    return tf.reduce_mean(
      tf.nn.sparse_softmax_cross_entropy_with_logits(label, output)
    )

  return tff.learning.models.FunctionalModel(
    initial_weights=(weights, ()),
    predict_on_batch_fn=predict,
    loss_fn=loss,
    metrics_fns=tff.learning.metrics.create_functional_metric_fns(
      _functional_metrics
    ),
    input_spec=case.input_spec(),
  )


MODELS: Mapping[str, ModelCase] = {
  case.name: case
  for case in (
    ModelCase('mlp', (5,), _mlp),
    ModelCase('cnn', (8, 8, 2), _cnn, tolerance=1e-5),
    ModelCase('rnn', (6, 3), _rnn, _functional_rnn),
  )
}
KINDS = ('functional', 'variable')


def to_datasets(
  client_data: Sequence[tuple[np.ndarray, np.ndarray]], *, epochs: int = 1
) -> list[tf.data.Dataset]:
  """The clients' examples in batches."""
  return [
    tf.data.Dataset.from_tensor_slices(examples)
    .batch(BATCH_SIZE)
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
  def make(case: ModelCase, kind: str) -> Round:
    return learning_process_round(
      build(case.model(kind)), to_datasets(case.client_data(), epochs=epochs)
    )

  return make


def _schedule(round_number: Any) -> Any:
  return 0.1 / (tf.cast(round_number, tf.float32) + 2.0)


def _recon_model(case: ModelCase) -> tff.learning.models.ReconstructionModel:
  model = case.keras_model()
  return tff.learning.models.ReconstructionModel.from_keras_model_and_layers(
    model,
    global_layers=model.layers[:-1],
    local_layers=model.layers[-1:],
    input_spec=case.input_spec(),
  )


def _fed_recon(case: ModelCase, kind: str) -> Round:
  del kind  # There are only those with variables.
  process = tff.learning.algorithms.build_fed_recon(
    functools.partial(_recon_model, case),
    loss_fn=_loss,
    metrics_fn=_metrics,
    client_optimizer_fn=_sgdm(),
    reconstruction_optimizer_fn=_sgdm(),
  )
  return learning_process_round(process, to_datasets(case.client_data()))


def _fed_recon_eval(case: ModelCase, kind: str) -> Round:
  del kind
  process = tff.learning.algorithms.build_fed_recon_eval(
    functools.partial(_recon_model, case),
    loss_fn=_loss,
    metrics_fn=_metrics,
    reconstruction_optimizer_fn=_sgdm(),
    dataset_split_fn=(
      tff.learning.models.ReconstructionModel.build_dataset_split_fn(
        recon_epochs=3, recon_steps_max=4, split_dataset=False
      )
    ),
  )
  return learning_process_round(process, to_datasets(case.client_data()))


def _kmeans(case: ModelCase, kind: str) -> Round:
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

  loss, num_examples = data.batch(BATCH_SIZE).reduce(
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

    num_batches = train.batch(BATCH_SIZE).repeat(2).reduce(0, step)
    return collections.OrderedDict(
      num_batches=num_batches, test=_evaluate_unbatched(model, test)
    )

  return run


def _personalization_eval(case: ModelCase, kind: str) -> Round:
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
TFF_ROUNDS: Mapping[str, Callable[[ModelCase, str], Round]] = {
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
TFF_ROUNDS_OF_ONE_KIND: Mapping[str, Callable[[ModelCase, str], Round]] = {
  'fed_recon': _fed_recon,
  'fed_recon_eval': _fed_recon_eval,
  'kmeans': _kmeans,
  'personalization_eval': _personalization_eval,
}


def _fed_fish(estimator: str) -> Callable[[ModelCase, str], Round]:
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


OWN_ROUNDS: Mapping[str, Callable[[ModelCase, str], Round]] = {
  'own_fed_avg': _of_process(
    lambda model: algorithms.build_fed_avg(model, _sgdm(), _adam())
  ),
  'own_fed_sgd': _of_process(
    lambda model: algorithms.build_fed_sgd(model, _adam())
  ),
  **{
    f'fed_fish_{estimator.name.lower()}': _fed_fish(estimator.name)
    for estimator in client_work.FisherEstimator
  },
}
ROUNDS = {**TFF_ROUNDS, **TFF_ROUNDS_OF_ONE_KIND, **OWN_ROUNDS}


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


def assert_agree(here: Any, there: Any, *, tolerance: float) -> None:
  """Asserts that two results are equal up to a relative tolerance.

  Relative to the largest element of each array: a sum's small elements may
  differ by the rounding of its large terms.

  Args:
    here: A nest of arrays.
    there: What it should be.
    tolerance: The tolerance; some times larger for the whole of a state.
  """
  if isinstance(here, Mapping) and 'state' in here:
    here, there = dict(here), dict(there)
    assert_agree(
      here.pop('state'), there.pop('state'), tolerance=_STATE_FACTOR * tolerance
    )
  for number, (a, b) in enumerate(
    zip(flatten(here), flatten(there), strict=True)
  ):
    scale = np.max(np.abs(b), initial=0.0) if b.dtype.kind == 'f' else 0.0
    np.testing.assert_allclose(
      a, b, rtol=0, atol=tolerance * scale, err_msg=f'leaf {number}'
    )

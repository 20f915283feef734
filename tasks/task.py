# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The definition of a benchmark: clients, a model and a metric.

TensorFlow is imported with the first task, so that what only names tasks and
their options does not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import typing
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import models

if typing.TYPE_CHECKING:
  import tensorflow as tf
  import tensorflow_federated as tff

# The attributes of a task that hold clients; the last one may be None.
SPLITS = ('train', 'validation', 'test', 'own_test')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
  """A benchmark: client data, a model and a metric to compare by.

  Held-out clients are divided into validation (for tuning and early decisions)
  and test (for reported results); training cohorts never contain them.

  Attributes:
    name: The name in the registry, for messages.
    train: The clients that cohorts are drawn from.
    validation: Held-out clients for decisions.
    test: Held-out clients for reported results.
    create_model: A function that returns a new model; its initial weights are a
      function of the task's seed. The model is a functional one; a Keras model
      compiled with its loss and metrics; or a result of
      `tff.learning.models.from_keras_model`. The attribute makes functional
      ones of all of these.
    freeze_statistics: Whether batch normalisation of a Keras model keeps its
      moving means and variances, as in `models.create_keras_model`.
    own_test: The clients' own test examples, under the same client ids as in
      the splits; None if there are none.
    metric: The name of the model's metric that methods are compared by.
    higher_is_better: Whether higher values of `metric` are better.
    feature_map: The feature map of closed-form methods; the model is then a
      linear classifier on it. None for models without such a part.
    label_sampler: A sampler of labels from the model's predictive distribution,
      for the sampled-label Fisher; None if the model does not define one.
    preprocess: A function that is applied to a client's arrays once, when they
      are read; None for data that needs none. The attributes `train`,
      `validation`, `test` and `own_test` hold preprocessed clients.
    cache_bytes: The budget for keeping preprocessed clients in memory, in
      bytes, for each of `train`, `validation`, `test` and `own_test`.
    eval_batch_size: The number of examples per batch in evaluation.
    transfer_options: The options that another task needs so that this task's
      model applies to its clients; None if the model is for this task only.
    tensor_names: The names of the model's trainable tensors, in the model's
      order; empty if they have no names, or are those of a Keras model.
    create_sized_model: A function that creates the model from the widths of its
      hidden layers and a seed; None if the model has only one size.
    synthetic: A name for synthetic data, such as 'generated pages'; None for real
      data.
    description: One line about the data, from tasks that inspect it.
    warnings: Possible mistakes in the data, each a sentence that names the
      option that resolves it.
  """

  name: str
  train: datasets.ClientData
  validation: datasets.ClientData
  test: datasets.ClientData
  create_model: Callable[
    [], tff.learning.models.FunctionalModel | tf.keras.Model
  ]
  metric: str
  higher_is_better: bool
  freeze_statistics: bool = False
  own_test: datasets.ClientData | None = None
  feature_map: models.FeatureMap | None = None
  label_sampler: models.LabelSampler | None = None
  preprocess: Callable[[datasets.Examples], datasets.Examples] | None = None
  cache_bytes: int = 2**30
  eval_batch_size: int = 128
  transfer_options: Mapping[str, Any] | None = None
  tensor_names: tuple[str, ...] = ()
  create_sized_model: (
    Callable[[Sequence[int], int], tff.learning.models.FunctionalModel] | None
  ) = None
  synthetic: str | None = None
  description: str = ''
  warnings: tuple[str, ...] = ()

  @property
  def title(self) -> str:
    """The name of the task, after the name of the data if it is synthetic."""
    return (
      f'{self.synthetic}, task {self.name}' if self.synthetic else self.name
    )

  def find_tensor_names(
    self, model: tff.learning.models.FunctionalModel | None = None
  ) -> tuple[str, ...]:
    """Returns the names of the model's trainable tensors; empty for none.

    Args:
      model: The task's model, if the caller has it; None to create it.
    """
    if self.tensor_names:
      return self.tensor_names
    model = self.create_model() if model is None else model
    return getattr(model, 'tensor_names', ())

  def named_tensors(self, field: str) -> tuple[str, ...]:
    """Returns the names of the model's tensors, of which it must have some.

    Args:
      field: The field of the config that chooses among them, for the message.
    """
    names = self.find_tensor_names()
    if not names:
      raise errors.InputError(
        f'Task {self.name!r} must have tensor_names, by which {field} chooses '
        'layers, such as models.keras_tensor_names(keras_model), got none.'
      )
    return names

  def create_checked_model(self) -> tff.learning.models.FunctionalModel:
    """Returns the model of `create_model` after checks against the clients.

    It must be a functional model or convertible to one, take the clients'
    examples, and have the loss and the task's metric.
    """
    model = self.create_model()
    self._check_examples(model.input_spec)
    # The names of metrics are known only once they are finalised.
    found = model.finalize_metrics(model.initialize_metrics_state())
    for name in ('loss', self.metric):
      if name not in found:
        raise errors.InputError(
          f'The model of task {self.name!r} must have the metric {name!r}, got '
          f'{", ".join(found) or "none"}.'
        )
    return model

  def _check_examples(self, input_spec: Any) -> None:
    """Raises InputError unless clients' examples fit the model's input."""
    import tensorflow as tf  # pylint: disable=g-import-not-at-top

    spec = self.train.element_spec
    try:
      tf.nest.assert_same_structure(spec, input_spec)
    except (TypeError, ValueError):
      raise errors.InputError(
        f'Clients of task {self.name!r} must have the arrays '
        f'{datasets.array_names(input_spec)}, as its model takes them, got '
        f'{datasets.array_names(spec)}.'
      ) from None
    for name, found, taken in zip(
      datasets.array_names(spec),
      tf.nest.flatten(spec),
      tf.nest.flatten(input_spec),
      strict=True,
    ):
      expected = tf.TensorSpec(taken.shape[1:], taken.dtype)
      if not expected.is_compatible_with(found):
        raise errors.InputError(
          f'Array {name!r} of task {self.name!r} must hold '
          f'{expected.dtype.name}{expected.shape.as_list()} per example, as '
          f'its model takes it, got {found.dtype.name}{found.shape.as_list()}.'
        )

  def __post_init__(self) -> None:
    create = self.create_model
    if not callable(create):
      raise errors.InputError(
        f'create_model of task {self.name!r} must be a function that returns '
        f'the model, lambda: model, got a {type(create).__name__}.'
      )
    # `dataclasses.replace` passes a function that is wrapped already.
    if isinstance(create, _FunctionalModelFn):
      create = create.create_model
    object.__setattr__(self, 'create_model', _FunctionalModelFn(create, self))
    for one, other in (
      ('train', 'validation'),
      ('train', 'test'),
      ('validation', 'test'),
    ):
      # Only held-out clients are iterated over: the others may be millions.
      known = getattr(self, one).client_ids
      for client_id in getattr(self, other).client_ids:
        if datasets.contains_id(known, client_id):
          raise errors.InputError(
            f'Each held-out client of task {self.name!r} must be in one split '
            f'only, got {client_id!r} in {one} and {other}.'
          )
    if self.preprocess is not None:
      for split in SPLITS:
        if getattr(self, split) is not None:
          preprocessed = self._preprocess(getattr(self, split))
          object.__setattr__(self, split, preprocessed)

  def _preprocess(self, data: datasets.ClientData) -> datasets.ClientData:
    """Returns clients preprocessed and cached."""
    preprocessed_type = _preprocessed_type()
    # `dataclasses.replace` passes clients that are preprocessed already.
    if isinstance(data, preprocessed_type):
      return data
    return preprocessed_type(
      datasets.PreprocessedClientData(data, self.preprocess),
      max_bytes=self.cache_bytes,
    )


# Without equality, which would compare the task that holds it.
@dataclasses.dataclass(frozen=True, eq=False)
class _FunctionalModelFn:
  """A task's `create_model`, whose models are all functional.

  Each call names a Keras model's layers and metrics as the first one.
  """

  create_model: Callable[[], Any]
  task: Task

  def __call__(self) -> tff.learning.models.FunctionalModel:
    try:
      return models.create_functional(
        self.create_model,
        _batch_spec(self.task.train.element_spec),
        freeze_statistics=self.task.freeze_statistics,
      )
    except errors.InputError as error:
      raise errors.InputError(
        f'create_model of task {self.task.name!r}: {error}'
      ) from error


def _batch_spec(element_spec: Any) -> tuple[Any, Any]:
  """Returns the specs (x, y) of a batch of examples."""
  import tensorflow as tf  # pylint: disable=g-import-not-at-top

  spec = tf.nest.map_structure(
    lambda tensor: tf.TensorSpec([None, *tensor.shape], tensor.dtype),
    element_spec,
  )
  return (spec['x'], spec['y']) if isinstance(spec, Mapping) else tuple(spec)


@functools.cache
def _preprocessed_type() -> type[datasets.CachedClientData]:
  """Returns the type that marks clients as preprocessed.

  The class is made here because its base imports TensorFlow.
  """

  class Preprocessed(datasets.CachedClientData):
    """Cached, preprocessed clients."""

  return Preprocessed

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a benchmark is: clients, a model and the metric that counts."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import models

import tensorflow as tf
import tensorflow_federated as tff

# The attributes of a task that hold clients; the last one may be None.
SPLITS = ('train', 'validation', 'test', 'own_test')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
  """A benchmark: client data, a model and the metric that counts.

  Held-out clients divide into validation (tuning, early decisions) and test
  (reported); neither is ever in a training cohort.

  Attributes:
    name: The name in the registry.
    train: Clients that cohorts are drawn from.
    validation: Held-out clients to decide by.
    test: Held-out clients to report.
    create_model: Returns the model, its initial weights a function of the
      task's seed.
    own_test: Test examples of clients' own, under the ids that they have in the
      splits; None where there are none.
    metric: Name of the model's metric to compare methods by.
    higher_is_better: Whether more of `metric` is better.
    feature_map: What methods with a closed form take features by; the model is
      then a linear classifier on it. None for models that have no such part.
    label_sampler: Draws labels from the model's predictive distribution, for
      the sampled-label Fisher; None where the model does not define one.
    preprocess: Applied to a client's arrays once, when it is read; None for
      data that is ready. The attributes `train`, `validation`, `test` and
      `own_test` give preprocessed clients.
    cache_bytes: Budget for keeping preprocessed clients in memory, in bytes,
      for each of `train`, `validation`, `test` and `own_test`.
    eval_batch_size: Examples a batch in evaluation.
    transfer_options: The options of another task with which this task's model
      can be applied to its clients; None where the model is for this task only.
    tensor_names: Names of the model's trainable tensors, in its order; none
      where the model has no names for them.
    create_sized_model: Creates the model with hidden layers of other widths,
      from these and a seed; None where there are no such models.
    made_up: What the data are where they were made up, such as 'generated
      pages'; None for data that somebody has collected.
    description: What a task that guesses has found in the data, in a line.
    warnings: What may be a mistake in the data, each a sentence that names the
      option that settles it.
  """

  name: str
  train: datasets.ClientData
  validation: datasets.ClientData
  test: datasets.ClientData
  create_model: Callable[[], tff.learning.models.FunctionalModel]
  metric: str
  higher_is_better: bool
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
  made_up: str | None = None
  description: str = ''
  warnings: tuple[str, ...] = ()

  @property
  def title(self) -> str:
    """The name, which for made-up data comes after what they are."""
    return f'{self.made_up}, task {self.name}' if self.made_up else self.name

  def create_checked_model(self) -> tff.learning.models.FunctionalModel:
    """Returns what `create_model` does, if it goes with the clients.

    Raises:
      errors.InputError: If it is no functional model, takes other examples than
        clients have, or lacks a metric by which it is judged.
    """
    if not callable(self.create_model):
      raise errors.InputError(
        f'create_model of task {self.name!r} is a '
        f'{type(self.create_model).__name__}; a function that returns the model '
        'was expected: lambda: model.'
      )
    model = self.create_model()
    if not isinstance(model, tff.learning.models.FunctionalModel):
      raise errors.InputError(
        f'create_model of task {self.name!r} returns a {type(model).__name__}; a '
        'functional model was expected, such as '
        'fedfish_tff.models.create_keras_classifier makes of a Keras model.'
      )
    self._check_examples(model.input_spec)
    # Their names are known when they are finalised.
    found = model.finalize_metrics(model.initialize_metrics_state())
    for name in ('loss', self.metric):
      if name not in found:
        raise errors.InputError(
          f'The model of task {self.name!r} has no metric {name!r}; it was '
          f'expected among {", ".join(found) or "its metrics, which are none"}.'
        )
    return model

  def _check_examples(self, input_spec: Any) -> None:
    """Raises InputError unless clients have what a model takes in batches."""
    spec = self.train.element_spec
    try:
      tf.nest.assert_same_structure(spec, input_spec)
    except (TypeError, ValueError):
      raise errors.InputError(
        f'Clients of task {self.name!r} have the arrays '
        f'{datasets.array_names(spec)}; {datasets.array_names(input_spec)} were '
        'expected, as its model takes them.'
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
          f'Array {name!r} of task {self.name!r} holds '
          f'{found.dtype.name}{found.shape.as_list()} an example; '
          f'{expected.dtype.name}{expected.shape.as_list()} was expected, as its '
          'model takes it.'
        )

  def __post_init__(self) -> None:
    for one, other in (
      ('train', 'validation'),
      ('train', 'test'),
      ('validation', 'test'),
    ):
      # Held-out clients are looked up among the others, which may be millions.
      known = getattr(self, one).client_ids
      for client_id in getattr(self, other).client_ids:
        if datasets.contains_id(known, client_id):
          raise errors.InputError(
            f'Client {client_id!r} of task {self.name!r} is in both {one} and '
            f'{other}; held-out clients were expected to be in one of them '
            'only.'
          )
    if self.preprocess is not None:
      for split in SPLITS:
        if getattr(self, split) is not None:
          preprocessed = _Preprocessed.of(getattr(self, split), self)
          object.__setattr__(self, split, preprocessed)


class _Preprocessed(datasets.CachedClientData):
  """Preprocessed and kept; a type of its own so that it is done once."""

  @classmethod
  def of(cls, data: datasets.ClientData, task: Task) -> datasets.ClientData:
    # `dataclasses.replace` hands over what is preprocessed already.
    if isinstance(data, cls):
      return data
    return cls(
      datasets.PreprocessedClientData(data, task.preprocess),
      max_bytes=task.cache_bytes,
    )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""LoRA: changes of a model's matrices by products of two thin ones.

Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models" (2021,
arXiv:2106.09685), equation 3: a frozen matrix W0 becomes W0 + (alpha / r) B A.
The sum is taken before the model is called instead of in its layers. This is
the same function and works for any functional model. A step takes as long as
with all weights, but few weights are trained, kept by optimizers and sent.
"""

from collections.abc import Sequence
import dataclasses
from typing import Any

from fedfish_tff import errors
from fedfish_tff.datasets import random_streams
from fedfish_tff.models import extended_model
from fedfish_tff.models import model_partition

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# The names of an adapter's tensors within the layer of its matrix.
_FACTORS = ('lora_a', 'lora_b')


@dataclasses.dataclass(frozen=True, kw_only=True)
class AdaptedModel:
  """A model with trained adapters and some trained tensors.

  Attributes:
    model: The model. Its trainable weights have each adapter's A [inputs, rank]
      and B [rank, outputs] in the place of its matrix, in the order of the
      plain model. Frozen weights are constants of its graph.
    tensor_names: The names of its trainable weights; those of adapters are a
      layer's 'lora_a' and 'lora_b'.
  """

  model: tff.learning.models.FunctionalModel
  tensor_names: tuple[str, ...]
  _part: model_partition.PartitionedModel
  _adapted: tuple[bool, ...]
  _scale: float

  def merge(self, weights: Any) -> tff.learning.models.ModelWeights:
    """Returns weights of the plain model that compute the same outputs.

    Args:
      weights: The weights of `model`: adapters, and tensors trained as a whole.
    """
    whole = self._part.merge(weights)
    return tff.learning.models.ModelWeights(
      tuple(
        np.asarray(w)
        for w in _merge(whole.trainable, self._adapted, self._scale)
      ),
      whole.non_trainable,
    )


def add_low_rank_adapters(
  model: tff.learning.models.FunctionalModel,
  *,
  tensor_names: Sequence[str],
  targets: Sequence[str],
  seed: int,
  rank: int = 8,
  alpha: float = 8.0,
  trained: Sequence[str] = (),
) -> AdaptedModel:
  """Freezes a model except for adapters of matrices and some whole tensors.

  B is initially zero, so the model's outputs do not change. A is normal, as in
  the paper, with the variance of its authors' code, 1 / (3 inputs).

  Args:
    model: The model, with matrices [inputs, outputs].
    tensor_names: A name for each of its trainable tensors, with slashes, such
      as 'layer_0/attention/self/query/kernel'.
    targets: The names of the layers with adapters of their matrices, or the
      ends of these names: 'query' for all layers of that name, or
      'layer_0/attention/self/query'. A layer's bias is frozen.
    seed: The seed, which alone decides the initial A.
    rank: The rank r of adapters; 8 in the paper for RoBERTa.
    alpha: The scale of adapters, which are multiplied by alpha / rank.
    trained: The names of layers or tensors that are trained as a whole, such as
      a classifier, as for `select_tensors`.

  Returns:
    The adapted model.
  """
  initial = tuple(map(np.asarray, tf.nest.flatten(model.initial_weights[0])))
  if len(tensor_names) != len(initial):
    raise errors.InputError(
      f'tensor_names must name each of the {len(initial)} trainable tensors of '
      f'the model, got {len(tensor_names)} names.'
    )
  errors.check_positive_integer('rank', rank)
  errors.check_range('alpha', alpha, above=0)
  adapted = _find_matrices(initial, tensor_names, targets)
  whole = (
    model_partition.select_tensors(tensor_names, trained)
    if trained
    else (False,) * len(initial)
  )
  weights, names, is_trained = [], [], []
  for number, (value, name) in enumerate(zip(initial, tensor_names)):
    weights.append(value)
    names.append(name)
    is_trained.append(whole[number])
    if not adapted[number]:
      continue
    if whole[number]:
      raise errors.InputError(
        f'Tensor {name!r} must have an adapter or be trained as a whole, got '
        'both.'
      )
    inputs, outputs = value.shape
    if rank > min(inputs, outputs):
      raise errors.InputError(
        f'rank must be at most {min(inputs, outputs)}, the smaller side of the '
        f'matrix {name!r}, got {rank}.'
      )
    stream = random_streams.random_generator('adapters', seed, number)
    a = stream.standard_normal([inputs, rank]) / np.sqrt(3 * inputs)
    weights += [a.astype(value.dtype), np.zeros([rank, outputs], value.dtype)]
    names += [f'{name.rpartition("/")[0]}/{factor}' for factor in _FACTORS]
    is_trained += [True, True]
  scale = float(alpha) / rank

  def merge(
    model_weights: Any, x: Any, unused_training: bool
  ) -> tuple[Any, Any]:
    extended, other = model_weights
    merged = tf.nest.pack_sequence_as(
      model.initial_weights[0], _merge(extended, adapted, scale)
    )
    return (merged, other), x

  part = model_partition.partition_model(
    extended_model.change_inputs(
      model, merge, (tuple(weights), model.initial_weights[1])
    ),
    is_trained,
  )
  return AdaptedModel(
    model=part.model,
    tensor_names=model_partition.split_tensors(names, is_trained)[0],
    _part=part,
    _adapted=adapted,
    _scale=scale,
  )


def _merge(
  tensors: Sequence[Any], adapted: Sequence[bool], scale: float
) -> tuple[Any, ...]:
  """Returns the plain model's tensors.

  Args:
    tensors: The plain model's arrays or tensors, each adapter after its matrix.
    adapted: Whether the plain model's tensors have an adapter, one by one.
    scale: The factor of adapters, alpha / rank.
  """
  rest = iter(tensors)
  return tuple(
    next(rest) + scale * (next(rest) @ next(rest))
    if has_adapter
    else next(rest)
    for has_adapter in adapted
  )


def _find_matrices(
  tensors: Sequence[np.ndarray],
  names: Sequence[str],
  targets: Sequence[str],
) -> tuple[bool, ...]:
  """Returns for each tensor whether it is a matrix of a target."""

  def is_of(name: str, target: str) -> bool:
    return f'/{name.rpartition("/")[0]}'.endswith(f'/{target}')

  found = [
    [tensor.ndim == 2 and is_of(name, target) for target in targets]
    for tensor, name in zip(tensors, names)
  ]
  for target, chosen in zip(targets, zip(*found)):
    if not target or not any(chosen):
      matrices = [n for n, t in zip(names, tensors) if t.ndim == 2]
      raise errors.InputError(
        'A target of adapters must be the end of the name of a layer with a '
        f'matrix, got {target!r}; the model has {", ".join(matrices)}.'
      )
  if not targets:
    raise errors.InputError('targets must name one layer or more, got none.')
  return tuple(any(chosen) for chosen in found)

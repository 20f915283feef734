# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The layers of a model that FedMA matches, and the tensors of each.

The shapes of a layer's tensors determine its kind, with u units:

  layer                       tensors
  dense layer, convolution    kernel [..., inputs, u], bias [u]
  LSTM                        kernel [inputs, 4 u], recurrent [u, 4 u], bias [4 u]
  embedding                   table [vocabulary, u]

The last layer, a kernel and a bias, is not matched.
"""

from collections.abc import Sequence
from typing import NamedTuple

from fedfish_tff import errors

import numpy as np
import tensorflow_federated as tff

# For each kind: the number of entries of a unit on the last axis, one per gate,
# and the shapes of the tensors after the kernel, in units.
_KINDS = (
  (4, ((1, 4), (4,))),  # LSTM.
  (1, ((1,),)),  # Dense layer, convolution.
  (1, ()),  # Embedding.
)


class HiddenLayer(NamedTuple):
  """A layer that is matched.

  Attributes:
    width: The number of its units.
    outputs: The positions of its tensors in the model. Their last axis is
      units, or the units of one gate after the other.
    inputs: The positions of the tensors that take its units as inputs: the next
      layer's first one, and an LSTM's recurrent one. The axis before the last
      is units, once, or h * w times in flattened images.
  """

  width: int
  outputs: tuple[int, ...]
  inputs: tuple[int, ...]

  @property
  def matched(self) -> tuple[int, ...]:
    """Positions of the tensors by which units are matched."""
    return tuple(p for p in self.outputs if p not in self.inputs)

  @property
  def recurrent(self) -> tuple[int, ...]:
    """Positions of the tensors between units of the layer."""
    return tuple(p for p in self.outputs if p in self.inputs)


def find_hidden_layers(
  model: tff.learning.models.FunctionalModel,
) -> list[HiddenLayer]:
  """Returns the layers that FedMA matches, in the model's order.

  The model's trainable tensors must be those of such layers, then a kernel and
  a bias.
  """
  shapes = [np.shape(tensor) for tensor in model.initial_weights[0]]
  layers, place = [], 0
  while place < len(shapes) - 2:
    layer = _find_layer(shapes, place)
    if layer is None:
      raise _error(shapes)
    layers.append(layer)
    place = layer.outputs[-1] + 1
  if (
    place != len(shapes) - 2
    or len(shapes[place]) != 2
    or shapes[place][1:] != shapes[place + 1]
  ):
    raise _error(shapes)
  return layers


def _find_layer(
  shapes: Sequence[tuple[int, ...]], place: int
) -> HiddenLayer | None:
  """Returns the layer with its kernel at this position, None if none has."""
  for gates, others in _KINDS:
    width, rest = divmod((shapes[place] or (0,))[-1], gates)
    end = place + 1 + len(others)
    scaled = [tuple(n * width for n in other) for other in others]
    if (
      end < len(shapes)
      and len(shapes[place]) > 1
      and not rest
      and list(shapes[place + 1 : end]) == scaled
      and len(shapes[end]) > 1
      and shapes[end][-2] % width == 0
    ):
      recurrent = [place + 1 + i for i, s in enumerate(others) if len(s) > 1]
      return HiddenLayer(width, tuple(range(place, end)), (*recurrent, end))
  return None


def _error(shapes: Sequence[tuple[int, ...]]) -> errors.InputError:
  return errors.InputError(
    'The model must have layers that FedMA can match, each a kernel and bias, '
    'an LSTM or an embedding, and then a dense layer, got tensors of the shapes '
    f'{list(shapes)}.'
  )

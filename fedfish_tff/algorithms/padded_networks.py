# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Networks of several widths as parts of one wide network.

A unit that has no weights, neither coming in nor going out, and no bias says
nothing if its activation is 0 at 0; and no gradient ever reaches it, since those
of the weights going out are products with what it says, and those of the weights
coming in, with the weights going out. So tensors of one shape hold networks of
any smaller widths, also while they are trained.
"""

from collections.abc import Callable
from collections.abc import Sequence

from fedfish_tff import errors
from fedfish_tff.aggregators import matched_average
from fedfish_tff.models import layers
from fedfish_tff.models import model_functions

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# From the widths of the hidden layers and a seed.
CreateModelFn = Callable[
  [Sequence[int], int], tff.learning.models.FunctionalModel
]


class PaddedNetworks:
  """Networks of the clients' widths, as parts of one of the largest widths.

  Attributes:
    widths: Of the clients' hidden layers.
    max_widths: Of the wide network's.
    model: The wide network.
  """

  def __init__(
    self,
    create_model: CreateModelFn,
    widths: tuple[int, ...],
    max_widths: tuple[int, ...],
    seed: int,
  ) -> None:
    """Checks that the networks are parts of the wide one.

    Args:
      create_model: From the widths of hidden layers, of units or filters, and
        the seed of the initial weights, to a classifier.
      widths: Of the clients' hidden layers.
      max_widths: Of the wide network's.
      seed: Of a network that is looked at.

    Raises:
      errors.InputError: If widths are no widths, or models do not qualify.
    """
    layers.check_sizes(widths=widths, max_widths=max_widths)
    if len(max_widths) != len(widths) or any(np.less(max_widths, widths)):
      raise errors.InputError(
        f'max_widths is {max_widths}; a width for each of the hidden layers '
        f'{widths}, and none below theirs, was expected.'
      )
    self.widths, self.max_widths = widths, max_widths
    self._create_model = create_model
    self.model = create_model(max_widths, seed)
    self._check(create_model(widths, seed))

  def first_places(self) -> list[np.ndarray]:
    """Where the units of a new network are: at the beginning of each layer."""
    return [np.arange(width, dtype=np.int32) for width in self.widths]

  def create(self, seed: int) -> list[np.ndarray]:
    """Returns the initial weights of a network, as a part of the wide one.

    Args:
      seed: Of the network.
    """
    model = self._create_model(self.widths, seed)
    return self._embed(list(map(np.asarray, model.initial_weights[0])))

  def _embed(self, tensors: list[np.ndarray]) -> list[np.ndarray]:
    for layer, units in enumerate(self.first_places()):
      width = self.max_widths[layer]
      own = tensors[2 * layer : 2 * layer + 2]
      tensors[2 * layer : 2 * layer + 2] = [widen(t, width) for t in own]
      following = 2 * layer + 2
      tensors[following] = matched_average.pad_inputs(
        tensors[following], units, width
      )
    return tensors

  def _check(self, own: tff.learning.models.FunctionalModel) -> None:
    """Raises InputError unless the networks can be parts of the wide one."""
    small, large = (
      list(map(np.asarray, m.initial_weights[0])) for m in (own, self.model)
    )
    widths = (*self.widths, *small[-1].shape)
    x, y = model_functions.split_batch(own.input_spec)
    if (
      own.initial_weights[1]
      or [bias.shape for bias in small[1::2]] != [(width,) for width in widths]
      or [kernel.shape[-1:] for kernel in small[::2]]
      != [(width,) for width in widths]
      # Normalisation has a scale and an offset.
      or any(kernel.ndim < 2 for kernel in small[::2])
      or any(
        kernel.shape[-2] % width for kernel, width in zip(small[2::2], widths)
      )
      or not (x.dtype.is_floating and y.dtype.is_integer)
      or [t.shape for t in self._embed(list(small))] != [t.shape for t in large]
    ):
      raise errors.InputError(
        f'create_model gives tensors of the shapes {[t.shape for t in small]} '
        f'for the hidden layers {self.widths}; kernel and bias for each of these '
        'and a last layer, of a classifier of numbers, were expected.'
      )
    stream = np.random.default_rng(0)
    x = tf.constant(
      stream.normal(size=[2 if s is None else s for s in x.shape]), x.dtype
    )
    small = [stream.normal(size=t.shape).astype(t.dtype) for t in small]
    parts = self._embed([np.ones_like(t) for t in small])
    large = self._embed(list(small))
    outputs = [
      np.asarray(
        model.predict_on_batch((tuple(tensors), ()), x, training=False)
      )
      for model, tensors in ((own, small), (self.model, large))
    ]
    gradients = model_functions.bind_model(self.model).loss_gradients(
      model_functions.FlatWeights(tuple(map(tf.constant, large)), ()),
      x,
      tf.zeros([2] + y.shape[1:], y.dtype),
    )
    error = np.abs(outputs[0] - outputs[1]).max() / np.abs(outputs[0]).max()
    if error > 1e-3 or any(
      np.any(g.numpy()[part == 0]) for g, part in zip(gradients, parts)
    ):
      raise errors.InputError(
        'create_model gives models that change, or learn something else, if '
        'units without weights are added; activations that are 0 at 0, and '
        'images flattened as [height, width, channels], were expected.'
      )


def widen(tensor: np.ndarray, width: int) -> np.ndarray:
  """Adds units without weights.

  Args:
    tensor: Whose last axis is units.
    width: How many there should be.
  """
  more = [(0, 0)] * (tensor.ndim - 1) + [(0, width - tensor.shape[-1])]
  return np.pad(tensor, more)

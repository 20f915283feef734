# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Networks of several widths as parts of one wide network.

An unused unit has zero incoming weights, outgoing weights and bias. Its output
is 0 if its activation is 0 at 0. No gradient ever reaches it: gradients of its
outgoing weights are products with its output, and those of its incoming weights
are products with its outgoing weights. (An LSTM's gate then lets half of a zero
in.) So tensors of one shape hold networks of any smaller widths, also during
training.
"""

from collections.abc import Callable
from collections.abc import Sequence

from fedfish_tff import errors
from fedfish_tff.aggregators import matched_average
from fedfish_tff.algorithms import matched_layers
from fedfish_tff.models import layers
from fedfish_tff.models import model_functions

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# Maps the widths of the hidden layers and a seed to a model.
CreateModelFn = Callable[
  [Sequence[int], int], tff.learning.models.FunctionalModel
]


class PaddedNetworks:
  """Networks of the clients' widths, as parts of one of the largest widths.

  Attributes:
    widths: The widths of the clients' hidden layers.
    max_widths: The widths of the wide network's hidden layers.
    model: The wide network.
    layers: The wide network's hidden layers.
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
      create_model: A function from the widths of hidden layers, in units or
        filters, and the seed of the initial weights, to a model that predicts
        classes.
      widths: The widths of the clients' hidden layers.
      max_widths: The widths of the wide network's hidden layers, each at least
        that of the clients.
      seed: The seed of a network that is built for the check.
    """
    layers.check_sizes(widths=widths, max_widths=max_widths)
    if len(max_widths) != len(widths) or any(np.less(max_widths, widths)):
      raise errors.InputError(
        f'max_widths must hold a width for each of the hidden layers {widths}, '
        f'none of them smaller, got {max_widths}.'
      )
    self.widths, self.max_widths = widths, max_widths
    self._create_model = create_model
    self.model = create_model(max_widths, seed)
    self.layers = matched_layers.find_hidden_layers(self.model)
    self._check(create_model(widths, seed))

  def first_places(self) -> list[np.ndarray]:
    """Returns the units' places in a new network: the first of each layer."""
    return [np.arange(width, dtype=np.int32) for width in self.widths]

  def create(self, seed: int) -> list[np.ndarray]:
    """Returns a network's initial weights, as a part of the wide network."""
    model = self._create_model(self.widths, seed)
    return self._embed(list(map(np.asarray, model.initial_weights[0])))

  def cut_new(self, tensors: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Returns a new network, in `first_places`, cut out of the wide one."""
    tensors = list(tensors)
    for layer, units in enumerate(self.first_places()):
      tensors = self.take(tensors, layer, units)
    return tensors

  def take(
    self, tensors: Sequence[np.ndarray], layer: int, units: np.ndarray
  ) -> list[np.ndarray]:
    """Returns a network with only some of a layer's units.

    Args:
      tensors: The tensors of a network in which the layer is wide.
      layer: The index of the layer in `layers`.
      units: The units' places in the wide layer, [units].
    """
    return self._change(matched_average.take_units, tensors, layer, units)

  def put(
    self, tensors: Sequence[np.ndarray], layer: int, units: np.ndarray
  ) -> list[np.ndarray]:
    """Returns a network with a layer made wide, which reverses `take`.

    Args:
      tensors: The tensors of a network in which the layer has only these units.
      layer: The index of the layer in `layers`.
      units: The units' places in the wide layer, [units].
    """
    return self._change(matched_average.pad_units, tensors, layer, units)

  def _change(
    self,
    change: Callable[..., np.ndarray],
    tensors: Sequence[np.ndarray],
    layer: int,
    units: np.ndarray,
  ) -> list[np.ndarray]:
    tensors, wide = list(tensors), self.layers[layer]
    for axis, places in ((-2, wide.inputs), (-1, wide.outputs)):
      for place in places:
        tensors[place] = change(tensors[place], units, wide.width, axis=axis)
    return tensors

  def _embed(self, tensors: list[np.ndarray]) -> list[np.ndarray]:
    for layer, units in enumerate(self.first_places()):
      tensors = self.put(tensors, layer, units)
    return tensors

  def _check(self, own: tff.learning.models.FunctionalModel) -> None:
    """Raises InputError unless the networks can be parts of the wide one."""
    small, large = (
      list(map(np.asarray, m.initial_weights[0])) for m in (own, self.model)
    )
    x, y = model_functions.split_batch(own.input_spec)
    own_layers = matched_layers.find_hidden_layers(own)
    if (
      own.initial_weights[1]
      or tuple(layer.width for layer in own_layers) != self.widths
      or tuple(layer.width for layer in self.layers) != self.max_widths
      or [layer[1:] for layer in own_layers]
      != [layer[1:] for layer in self.layers]
      or not y.dtype.is_integer
      or [t.shape for t in self._embed(small)] != [t.shape for t in large]
    ):
      raise errors.InputError(
        'create_model must give a kernel and a bias, an LSTM or an embedding '
        f'for each of the hidden layers {self.widths}, and a last layer of as '
        'many classes for all widths, got tensors of the shapes '
        f'{[t.shape for t in small]}.'
      )
    stream = np.random.default_rng(0)
    shape = [2 if s is None else s for s in x.shape]
    x = tf.constant(
      stream.normal(size=shape)
      if x.dtype.is_floating
      else stream.integers(len(small[0]), size=shape),  # Rows of an embedding.
      x.dtype,
    )
    small = [stream.normal(size=t.shape).astype(t.dtype) for t in small]
    parts = self._embed([np.ones_like(t) for t in small])
    large = self._embed(small)
    outputs = [
      np.asarray(
        model.predict_on_batch((tuple(tensors), ()), x, training=False)
      )
      for model, tensors in ((own, small), (self.model, large))
    ]
    # The first class may be padding, so this uses the last.
    labels = tf.fill(
      [2 if s is None else s for s in y.shape], len(small[-1]) - 1
    )
    gradients = model_functions.bind_model(self.model).loss_gradients(
      model_functions.FlatWeights(tuple(map(tf.constant, large)), ()),
      x,
      tf.cast(labels, y.dtype),
    )
    error = np.abs(outputs[0] - outputs[1]).max() / np.abs(outputs[0]).max()
    if error > 1e-3 or any(
      np.any(g.numpy()[part == 0]) for g, part in zip(gradients, parts)
    ):
      raise errors.InputError(
        'create_model must give models that units without weights do not '
        'change: their activations must be 0 at 0, and images flattened as '
        '[height, width, channels].'
      )

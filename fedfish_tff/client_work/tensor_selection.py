# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Selection of the tensors that a client sends, by their drift in training.

Zhang and Emerson, "Partial Weight Exchange in Federated Learning" (2023),
section 2, after Passban et al., "Training Mixed-Domain Translation Models via
Federated Learning" (NAACL 2022). The drift of a tensor is the l2 norm of its
change in a round of local training. Selection is by threshold, by share (the
memo's percentile), or of single coordinates (the sparse exchange of FL4Health,
the memo's code base).
"""

import abc
from collections.abc import Callable
from collections.abc import Sequence
import fractions
import math

from fedfish_tff import choices
from fedfish_tff import errors

import tensorflow as tf

_Tensors = tuple[tf.Tensor, ...]


class Selector(abc.ABC):
  """A selector of what a client sends; call `select` inside a graph.

  Attributes:
    per_coordinate: Whether masks have the shapes of the tensors. Otherwise they
      are scalars, one per tensor.
  """

  per_coordinate: bool = False

  @abc.abstractmethod
  def select(self, before: _Tensors, after: _Tensors) -> _Tensors:
    """Returns bool masks of what is sent, one per tensor.

    Args:
      before: The tensors before local training.
      after: The tensors after local training.
    """

  @abc.abstractmethod
  def mask_bits(self, shapes: Sequence[tf.TensorShape]) -> int:
    """Returns the number of bits in which a client encodes its masks."""


class _TensorSelector(Selector):
  """Sends whole tensors, or groups of them."""

  def __init__(
    self,
    choose: Callable[[tf.Tensor], tf.Tensor],
    normalize: bool,
    groups: Sequence[int] | None,
  ) -> None:
    """Initializes the selector.

    Args:
      choose: A function from the drifts of all groups [groups] to a bool for
        each.
      normalize: Whether drifts are divided by their numbers of elements.
      groups: The number of each tensor's group; None for one group per tensor.
    """
    self._choose = choose
    self._normalize = normalize
    self._groups = None if groups is None else _check_groups(groups)

  def select(self, before: _Tensors, after: _Tensors) -> _Tensors:
    groups = self._groups_of(len(before))
    squares, sizes = [], []
    for start, end in zip(before, after):
      squares.append(tf.reduce_sum(tf.square(tf.cast(end - start, tf.float32))))
      sizes.append(tf.cast(tf.size(start), tf.float32))
    number = max(groups) + 1
    drift = tf.sqrt(
      tf.math.unsorted_segment_sum(tf.stack(squares), groups, number)
    )
    if self._normalize:
      drift /= tf.math.unsorted_segment_sum(tf.stack(sizes), groups, number)
    chosen = self._choose(drift)
    return tuple(chosen[group] for group in groups)

  def mask_bits(self, shapes: Sequence[tf.TensorShape]) -> int:
    return max(self._groups_of(len(shapes))) + 1

  def _groups_of(self, num_tensors: int) -> tuple[int, ...]:
    groups = self._groups
    if groups is None:
      return tuple(range(num_tensors))
    if len(groups) != num_tensors:
      raise errors.InputError(
        f'There must be a group for each of the {num_tensors} trainable '
        f'tensors of the model, got groups for {len(groups)}.'
      )
    return groups


class _CoordinateSelector(Selector):
  """A selector of single coordinates, by their score."""

  per_coordinate = True

  def __init__(
    self,
    share: float,
    direction: choices.Direction,
    score: choices.CoordinateScore,
  ) -> None:
    self._share = share
    self._direction = direction
    self._score = score

  def select(self, before: _Tensors, after: _Tensors) -> _Tensors:
    scores = [
      tf.reshape(self._score_of(start, end), [-1])
      for start, end in zip(before, after)
    ]
    sizes = [score.shape[0] for score in scores]
    chosen = _best(
      tf.concat(scores, 0), _count(self._share, sum(sizes)), self._direction
    )
    return tuple(
      tf.reshape(part, start.shape)
      for part, start in zip(tf.split(chosen, sizes), before)
    )

  def mask_bits(self, shapes: Sequence[tf.TensorShape]) -> int:
    return sum(shape.num_elements() for shape in shapes)

  def _score_of(self, before: tf.Tensor, after: tf.Tensor) -> tf.Tensor:
    before, after = tf.cast(before, tf.float32), tf.cast(after, tf.float32)
    if self._score is choices.CoordinateScore.WEIGHT:
      return tf.abs(after)
    if self._score is choices.CoordinateScore.CHANGE:
      return tf.abs(after - before)
    return tf.abs(tf.abs(after) - tf.abs(before))


def check_selector(selector: Selector) -> None:
  """Raises TypeError unless `selector` is a `Selector`."""
  if not isinstance(selector, Selector):
    raise TypeError(
      'selector must be a client_work.Selector, such as '
      f'client_work.build_share_selector(0.3), got {selector!r}.'
    )


def group_by_layer(tensor_names: Sequence[str]) -> tuple[int, ...]:
  """Puts tensors of one layer, such as its kernel and bias, into one group.

  Args:
    tensor_names: One name per tensor, with slashes. The layer is the part
      before the last slash. A name without a slash is a layer of its own. There
      must be two layers or more.

  Returns:
    The number of each tensor's group, counted from 0 by first appearance.
  """
  layers = [
    name.rpartition('/')[0] or f'/{position}'
    for position, name in enumerate(tensor_names)
  ]
  numbers = {layer: n for n, layer in enumerate(dict.fromkeys(layers))}
  if not numbers:
    raise errors.InputError(
      'Grouping by layer needs a name for each tensor, got none.'
    )
  if len(numbers) == 1 < len(layers):
    raise errors.InputError(
      'The names of tensors must be of several layers, got one, '
      f'{layers[0]!r}, for all {len(layers)} tensors, so that either all or '
      'none would be sent.'
    )
  return tuple(numbers[layer] for layer in layers)


def build_share_selector(
  share: float,
  *,
  direction: choices.Direction = choices.Direction.LARGEST,
  normalize: bool = False,
  groups: Sequence[int] | None = None,
) -> Selector:
  """Builds a selector of the ceil(share * M) tensors that moved most, or least.

  Zhang and Emerson (2023), section 2. Among equal drifts, earlier tensors are
  chosen first.

  Args:
    share: p, the share of tensors, above 0 and at most 1.
    direction: Whether the largest or the smallest drifts are sent.
    normalize: Whether to divide a drift by the number of its elements, an
      option of FL4Health.
    groups: The number of each tensor's group, as from `group_by_layer`. A group
      is sent or kept as a whole. By default each tensor is a group of its own.
  """
  errors.check_range('share', share, above=0, most=1)
  errors.check_choice('direction', direction, choices.Direction)

  def choose(drift: tf.Tensor) -> tf.Tensor:
    return _best(drift, _count(share, drift.shape[0]), direction)

  return _TensorSelector(choose, normalize, groups)


def build_threshold_selector(
  threshold: float,
  *,
  direction: choices.Direction = choices.Direction.LARGEST,
  normalize: bool = False,
  groups: Sequence[int] | None = None,
) -> Selector:
  """Builds a selector of the tensors with a drift of at least a threshold.

  Zhang and Emerson (2023), section 2: DP_theta.

  Args:
    threshold: theta, the threshold, 0 or positive.
    direction: The direction: LARGEST sends drifts of at least theta, SMALLEST
      those of at most theta.
    normalize: Whether to divide a drift by the number of its elements.
    groups: The number of each tensor's group, as from `group_by_layer`.
  """
  errors.check_range('threshold', threshold, least=0)
  errors.check_choice('direction', direction, choices.Direction)

  def choose(drift: tf.Tensor) -> tf.Tensor:
    if direction is choices.Direction.LARGEST:
      return drift >= threshold
    return drift <= threshold

  return _TensorSelector(choose, normalize, groups)


def build_coordinate_selector(
  share: float,
  *,
  direction: choices.Direction = choices.Direction.LARGEST,
  score: choices.CoordinateScore = choices.CoordinateScore.CHANGE,
) -> Selector:
  """Builds a selector of the ceil(share * n) best of all n coordinates.

  This is the sparse exchange of FL4Health, over all tensors together. Among
  equal scores, earlier coordinates are chosen first.

  Args:
    share: The share, above 0 and at most 1.
    direction: Whether the largest or the smallest scores are sent.
    score: The score by which coordinates are chosen.
  """
  errors.check_range('share', share, above=0, most=1)
  errors.check_choice('direction', direction, choices.Direction)
  errors.check_choice('score', score, choices.CoordinateScore)
  return _CoordinateSelector(share, direction, score)


def _check_groups(groups: Sequence[int]) -> tuple[int, ...]:
  """Returns groups as a tuple; they must be numbered from 0 without a gap."""
  groups = tuple(groups)
  if sorted(set(groups)) != list(range(len(set(groups)))) or not groups:
    raise errors.InputError(
      'The groups of tensors must be numbers from 0 without a gap, one for '
      f'each tensor, got {groups}.'
    )
  return groups


def _best(
  values: tf.Tensor, count: int, direction: choices.Direction
) -> tf.Tensor:
  """Returns a bool [n], true for the `count` largest or smallest values."""
  size = values.shape[0]
  if count == size:
    # The result is the same for all values, NaN included.
    return tf.fill([size], True)
  if direction is choices.Direction.SMALLEST:
    values = -values
  # Among equal values, top_k takes the first.
  indices = tf.math.top_k(values, k=count, sorted=False).indices
  return tf.scatter_nd(indices[:, tf.newaxis], tf.fill([count], True), [size])


def _count(share: float, number: int) -> int:
  """Returns ceil(share * number) without rounding errors: 3 for 0.1 of 30."""
  return math.ceil(fractions.Fraction(repr(float(share))) * number)

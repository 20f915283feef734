# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Averages of layers with a different order of units at every client.

FedMA (Wang, Yurochkin, Sun, Papailiopoulos and Khazaeni, "Federated Learning
with Matched Averaging", ICLR 2020, arXiv:2002.06440) merges networks layer by
layer. In Algorithm 1, for layer n of all clients,

  1. `unit_rows` makes a row of each unit (neuron, filter, LSTM cell, component
     of an embedding): its incoming weights, then its biases;
  2. `match_units` finds units that match, and averages them; `unit_tensors`
     turns the result into a layer of the server;
  3. `pad_units` gives each client's layer n + 1 inputs in the server's order,
     so that it may be trained further.

The last layer is not matched but averaged by class: `average_last_layer`.
`take_units` cuts a client's own layers out of the server's, for the next round;
`pad_units` puts them back. Everything is NumPy, with tensors as in this
package's models:

  tensor             shape                        its units are
  dense kernel       [inputs, units]              columns
  convolution        [height, width, inputs,      filters
                      units]
  bias               [units]                      numbers
  embedding          [vocabulary, units]          columns; there is no bias
  LSTM kernel, bias  [inputs, 4 units], [4 units] a column of each gate
  LSTM recurrent     [units, 4 units]             matched by input weights,
                                                  see `average_recurrent`

Images are flattened from [height, width, channels]. So the inputs of a dense
layer after a convolution are the list of channels, height * width times.
"""

from collections.abc import Sequence
from typing import NamedTuple

from fedfish_tff import choices
from fedfish_tff import errors

import numpy as np
import numpy.typing as npt
from scipy import optimize

# The prior mean of biases; that of weights is 0.
_BIAS_MEAN = 0.1
# The maximal number of clients counted for a unit.
_COUNT_CAP = 10


class MatchedUnits(NamedTuple):
  """The server's units of a layer.

  Attributes:
    rows: The units' rows [L, D], as in `unit_rows`, of the clients' dtype.
    assignments: For each client, int64 [L_j]: the server's unit, below L, to
      which each of its units is matched. No two are the same.
    counts: The number of clients that have each unit, int64 [L]; at least 1.
  """

  rows: np.ndarray
  assignments: list[np.ndarray]
  counts: np.ndarray


def match_units(
  rows: Sequence[np.ndarray],
  generator: np.random.Generator,
  *,
  num_biases: int = 1,
  gamma: float = 7.0,
  sigma: float = 1.0,
  sigma0: float = 1.0,
  sweeps: int = 5,
  max_units: int = 700,
  average: choices.UnitAverage = choices.UnitAverage.MEAN,
) -> MatchedUnits:
  """Matches the units of one layer of all clients: BBP-MAP.

  The Hungarian algorithm of Yurochkin et al. (2019, arXiv:1905.12022) for the
  beta-Bernoulli process' posterior mode, with the scores of the authors' code.
  Let n = row / sigma. For a unit of the server, let G = m / sigma0 + (sum of n)
  and S = 1 / sigma0 + count / sigma, where m is 0, and 0.1 for biases. A
  client's unit is matched to this one with the score

    |n + G|^2 / (S + 1 / sigma) - |G|^2 / S + log(c / (J - c)),

  c = min(count, 10), of J clients, and becomes the k-th new unit with

    |n + m / sigma0|^2 / (1 / sigma0 + 1 / sigma) - |m|^2 / sigma0
      - 2 log k + 2 log(gamma / J).

  Clients are added in the order of their numbers of units, the widest first.
  Then, `sweeps` times and in random order, each is removed, with the units that
  only it has, and matched again.

  In the authors' code for images, m's 0.1 is at the first weight in layers
  between the first and the last; here it is at the biases in all layers. Log
  posteriors would have log(c / (J - c)) twice, like the other terms; the code
  has it once, and so has this function.

  Args:
    rows: For each client, finite floats [L_j, D]. L_j may differ, D not.
    generator: The source of the sweeps' orders. The result is a function of it
      and of the other arguments.
    num_biases: The number of biases at the end of a row: 1 for dense layers and
      convolutions, 4 for an LSTM, 0 for an embedding.
    gamma: The readiness to create new units: 7 as published for images, 1e-3
      for the LSTM.
    sigma: The variance of the clients' weights around the server's, positive.
    sigma0: The variance of the server's weights, positive.
    sweeps: The number of times that all clients are matched again.
    max_units: The server's maximal number of units, at least that of the widest
      client. The authors' code lets a client add one even then.
    average: The average that makes the server's rows.
  """
  shapes = [client.shape for client in rows]
  if len({shape[1:] for shape in shapes}) != 1 or len(shapes[0]) != 2:
    raise errors.InputError(
      'rows of the clients must be of one client at least, with the shape '
      f'[units, D] and the same D for all, got the shapes {shapes}.'
    )
  for position, client in enumerate(rows):
    if not np.isfinite(client).all():
      raise errors.InputError(f'rows of client {position} must be finite.')
  average = choices.UnitAverage(average)
  for name, value in (('gamma', gamma), ('sigma', sigma), ('sigma0', sigma0)):
    errors.check_range(name, value, above=0)
  matching = _Matching(rows, num_biases, gamma, sigma, sigma0, max_units)
  for position in sorted(range(len(rows)), key=lambda j: -len(rows[j])):
    matching.add(position)
  for _ in range(sweeps):
    for position in generator.permutation(len(rows)):
      matching.remove(position)
      matching.add(position)
  if average is choices.UnitAverage.POSTERIOR_MEAN:
    merged = matching.sums / matching.precisions()[:, np.newaxis]
    merged = merged.astype(rows[0].dtype)
  else:
    merged = _average_units(
      rows, matching.assignments, len(matching.counts), average
    )
  return MatchedUnits(merged, matching.assignments, matching.counts)


class _Matching:
  """The server's units, from the clients added so far.

  Attributes:
    sums: The sums G, float64 [L, D].
    counts: The number of clients that have each unit, int64 [L].
    assignments: The server's unit of each client's unit, as in `MatchedUnits`.
  """

  def __init__(
    self,
    rows: Sequence[np.ndarray],
    num_biases: int,
    gamma: float,
    sigma: float,
    sigma0: float,
    max_units: int,
  ) -> None:
    width = rows[0].shape[1]
    self._rows = [client.astype(np.float64) / sigma for client in rows]
    self._prior = np.zeros(width)
    self._prior[width - num_biases :] = _BIAS_MEAN / sigma0
    self._gamma, self._max_units = gamma, max_units
    self._precision, self._prior_precision = 1 / sigma, 1 / sigma0
    self.sums = np.zeros([0, width])
    self.counts = np.zeros(0, np.int64)
    self.assignments = [np.zeros(0, np.int64) for _ in rows]

  def precisions(self) -> np.ndarray:
    """Returns S, [L]."""
    return self._prior_precision + self._precision * self.counts

  def add(self, position: int) -> None:
    """Matches the units of a client."""
    rows = self._rows[position]
    _, units = optimize.linear_sum_assignment(self._scores(rows), maximize=True)
    # New units are interchangeable, so they are numbered in order.
    new = units >= len(self.counts)
    num_new = np.count_nonzero(new)
    units[new] = len(self.counts) + np.arange(num_new)
    self.sums = np.vstack([self.sums, np.tile(self._prior, [num_new, 1])])
    self.counts = np.append(self.counts, np.zeros(num_new, np.int64))
    self.sums[units] += rows
    self.counts[units] += 1
    self.assignments[position] = units

  def remove(self, position: int) -> None:
    """Removes a client, and the units that only it has."""
    units = self.assignments[position]
    self.assignments[position] = units[:0]
    self.sums[units] -= self._rows[position]
    self.counts[units] -= 1
    kept = self.counts > 0
    moved = np.cumsum(kept) - 1
    self.sums, self.counts = self.sums[kept], self.counts[kept]
    self.assignments = [moved[units] for units in self.assignments]

  def _scores(self, rows: np.ndarray) -> np.ndarray:
    """Returns a client's scores for the server's units, then for new ones."""
    num_clients, num_units = len(self._rows), len(self.counts)
    precisions = self.precisions()
    norms = np.square(self.sums).sum(axis=1)
    squares = np.square(rows).sum(axis=1, keepdims=True) + norms
    squares += 2 * rows @ self.sums.T  # |n + G|^2 for all pairs in one product.
    counts = np.minimum(self.counts, _COUNT_CAP)
    matched = squares / (precisions + self._precision) - norms / precisions
    matched += np.log(counts / (num_clients - counts))
    num_new = max(self._max_units, len(rows), num_units) - num_units
    order = np.arange(1, min(len(rows), num_new) + 1)
    new = np.square(rows + self._prior).sum(axis=1, keepdims=True)
    new /= self._prior_precision + self._precision
    new -= np.square(self._prior).sum() / self._prior_precision
    new = new - 2 * np.log(order) + 2 * np.log(self._gamma / num_clients)
    return np.hstack([matched, new])


def unit_rows(tensors: Sequence[np.ndarray], num_units: int) -> np.ndarray:
  """Returns a layer's units as rows.

  Args:
    tensors: The layer's tensors, mostly a kernel and its bias, which must be
      last. Their last axis is units, or the units of one gate after the other.
    num_units: L_j, the layer's number of units.

  Returns:
    [L_j, D], where a row is a unit's part of all tensors.
  """
  return np.vstack([tensor.reshape(-1, num_units) for tensor in tensors]).T


def unit_tensors(
  rows: np.ndarray, tensors: Sequence[np.ndarray], num_units: int
) -> list[np.ndarray]:
  """Returns rows as a layer's tensors, which reverses `unit_rows`.

  Args:
    rows: [L, D], as returned by `match_units`.
    tensors: The tensors of any client from which its rows were made.
    num_units: L_j, that client's number of units.

  Returns:
    Tensors of the same shapes except for the last axis, with L instead of L_j.
  """
  ends = np.cumsum([tensor.size // num_units for tensor in tensors])
  return [
    part.reshape(*tensor.shape[:-1], -1)
    for part, tensor in zip(np.split(rows.T, ends[:-1]), tensors)
  ]


def take_units(
  tensor: np.ndarray,
  assignment: npt.ArrayLike,
  num_units: int,
  *,
  axis: int = -1,
) -> np.ndarray:
  """Returns a client's part of the server's units, in each gate or place.

  Args:
    tensor: A tensor of the server's, of any kind of layer.
    assignment: The client's assignment in the layer of the units, int [L_j].
    num_units: L, the server's number of units in that layer.
    axis: The axis of units: -1 in tensors of their own layer, once or in each
      gate; -2, the inputs, in the next layer's kernel, once or h * w times.

  Returns:
    A tensor with L_j instead of L.
  """
  blocks = _split_units(tensor, num_units, axis)[:, assignment]
  return _join_units(blocks, tensor.shape, axis)


def pad_units(
  tensor: np.ndarray,
  assignment: npt.ArrayLike,
  num_units: int,
  *,
  axis: int = -1,
) -> np.ndarray:
  """Gives a client's layer the server's units, which reverses `take_units`.

  The weights of units that the client does not have are zero, so that the next
  layer computes the same.

  Args:
    tensor: A tensor of the client's, of any kind of layer.
    assignment: The client's assignment in the layer of the units, int [L_j].
    num_units: L, the server's number of units in that layer.
    axis: The axis of units, as in `take_units`.

  Returns:
    A tensor with L instead of L_j.
  """
  blocks = _split_units(tensor, len(assignment), axis)
  padded = np.zeros([len(blocks), num_units, blocks.shape[-1]], tensor.dtype)
  padded[:, assignment] = blocks
  return _join_units(padded, tensor.shape, axis)


def _split_units(tensor: np.ndarray, num_units: int, axis: int) -> np.ndarray:
  """Returns a tensor as [blocks, units, numbers]; the axis is -1 or -2."""
  return tensor.reshape(-1, num_units, tensor.shape[-1] if axis == -2 else 1)


def _join_units(
  blocks: np.ndarray, shape: tuple[int, ...], axis: int
) -> np.ndarray:
  """Reverses `_split_units`; the axis of units has another size in `shape`."""
  sizes = list(shape)
  sizes[axis] = -1
  return blocks.reshape(sizes)


def average_recurrent(
  recurrents: Sequence[np.ndarray],
  assignments: Sequence[np.ndarray],
  num_units: int,
  *,
  average: choices.UnitAverage = choices.UnitAverage.MEAN,
) -> np.ndarray:
  """Averages LSTMs' recurrent weights, once their units are matched.

  Units are permuted as inputs and as outputs, in each gate. A unit's weights
  are averaged over the clients that have the unit. The authors' code divides
  only these weights by the number of all clients, which is the same if all
  clients have all units.

  Args:
    recurrents: Each client's recurrent kernel, [L_j, 4 L_j].
    assignments: Each client's assignment, as `match_units` returns it for the
      input weights.
    num_units: L, the server's number of units, or more.
    average: The average, which decides whether sums are divided by all clients.
      Recurrent weights are not matched and have no posterior, so its mean is
      the mean.

  Returns:
    [L, 4 L].
  """
  padded = [
    pad_units(recurrent, assignment, num_units, axis=-2)
    for recurrent, assignment in zip(recurrents, assignments)
  ]
  rows = [
    unit_rows([recurrent], len(assignment))
    for recurrent, assignment in zip(padded, assignments)
  ]
  merged = _average_units(rows, assignments, num_units, average)
  return unit_tensors(merged, padded[:1], len(assignments[0]))[0]


def average_last_layer(
  kernels: Sequence[np.ndarray],
  biases: Sequence[np.ndarray],
  class_counts: npt.ArrayLike,
) -> tuple[np.ndarray, np.ndarray]:
  """Averages the last layer class by class, as FedMA's Algorithm 1 ends.

  With n_jk examples of class k at client j, the weights and the bias of class k
  are averaged with the weights n_jk / sum_j n_jk. So clients without examples
  of a class do not affect it. A class without any examples is averaged over all
  clients equally.

  Args:
    kernels: Each client's kernel, [D, K], with the server's inputs.
    biases: Each client's bias, [K].
    class_counts: n, the clients' numbers of examples per class, [J, K]. With
      ones all clients count equally, as in the authors' LSTM.

  Returns:
    (kernel [D, K], bias [K]).
  """
  shares = np.asarray(class_counts, np.float64)
  expected = len(kernels), kernels[0].shape[-1]
  if shares.shape != expected:
    raise errors.InputError(
      f'class_counts must have the shape {expected}, a row per client and a '
      f'column per class, got {shares.shape}.'
    )
  shares = np.where(shares.sum(axis=0) > 0, shares, 1)
  shares /= shares.sum(axis=0)
  kernel = np.einsum('jk,jdk->dk', shares, np.stack(kernels))
  bias = np.einsum('jk,jk->k', shares, np.stack(biases))
  return kernel.astype(kernels[0].dtype), bias.astype(biases[0].dtype)


def _average_units(
  rows: Sequence[np.ndarray],
  assignments: Sequence[np.ndarray],
  num_units: int,
  average: choices.UnitAverage,
) -> np.ndarray:
  """Returns [L, D]: each unit's mean over the clients that have it.

  Args:
    rows: Each client's rows, [L_j, D].
    assignments: Each client's assignment, int [L_j].
    num_units: L, the server's number of units; units that no client has are
      zero.
    average: The average; OVER_ALL divides by all clients.
  """
  sums = np.zeros([num_units, rows[0].shape[1]])
  counts = np.zeros([num_units, 1])
  for client, assignment in zip(rows, assignments):
    sums[assignment] += client
    counts[assignment] += 1
  if average is choices.UnitAverage.OVER_ALL:
    counts[:] = len(rows)
  return (sums / np.maximum(counts, 1)).astype(rows[0].dtype)

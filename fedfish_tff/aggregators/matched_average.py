# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Averages of layers whose units stand in another order at every client.

FedMA (Wang, Yurochkin, Sun, Papailiopoulos and Khazaeni, "Federated Learning
with Matched Averaging", ICLR 2020, arXiv:2002.06440) merges networks layer by
layer. In Algorithm 1, for layer n of all clients,

  1. `unit_rows` makes a row of each unit (neuron, filter, LSTM cell, component
     of an embedding): the weights that come in, then its biases;
  2. `match_units` finds the units that are one, and averages them; what comes
     out is a layer of the server again by `unit_tensors`;
  3. `pad_inputs` gives each client's layer n + 1 inputs in the server's order.
     It may be trained further then.

Instead of matching, the last layer is averaged by class: `average_last_layer`.
`take_units` and `take_inputs` cut a client's own layers out of the server's,
for the next round; `pad_units` puts them there. Everything is NumPy, with
tensors as in our models:

  tensor             shape                        its units are
  dense kernel       [inputs, units]              columns
  convolution        [height, width, inputs,      filters
                      units]
  bias               [units]                      numbers
  embedding          [vocabulary, units]          columns; there is no bias
  LSTM kernel, bias  [inputs, 4 units], [4 units] a column of each gate
  LSTM recurrent     [units, 4 units]             matched by what comes in alone,
                                                  see `average_recurrent`

Images are flattened from [height, width, channels], so that the inputs of a dense
layer after a convolution are the list of channels, height * width times.
"""

from collections.abc import Sequence
from typing import NamedTuple

from fedfish_tff import choices
from fedfish_tff import errors

import numpy as np
import numpy.typing as npt
from scipy import optimize

# The prior's mean of biases; that of weights is 0.
_BIAS_MEAN = 0.1
# Clients that a unit is counted for at most.
_COUNT_CAP = 10


class MatchedUnits(NamedTuple):
  """The server's units of a layer.

  Attributes:
    rows: [L, D], as of `unit_rows`, of the clients' dtype.
    assignments: For each client, int64 [L_j]: the server's unit, below L, that
      each of its units is. No two are the same.
    counts: int64 [L], how many clients have each unit; at least 1.
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
  Let n = row / sigma, and G = m / sigma0 + (sum of n) and S = 1 / sigma0 +
  count / sigma be those of one of the server's units, where m is 0, and 0.1 for
  biases. A client's unit goes to this one with the score

    |n + G|^2 / (S + 1 / sigma) - |G|^2 / S + log(c / (J - c)),

  c = min(count, 10), of J clients, and becomes the k-th new unit with

    |n + m / sigma0|^2 / (1 / sigma0 + 1 / sigma) - |m|^2 / sigma0
      - 2 log k + 2 log(gamma / J).

  Clients come in by the number of their units, the widest first. Then each is
  taken out, with the units that nobody else has, and matched again, all in
  random order and that `sweeps` times.

  The authors' code for images has m's 0.1 stand at the first weight in layers
  between the first and the last; here it stands at the biases in all. Log
  posteriors would have log(c / (J - c)) twice, as the terms beside it; the code
  has it once, and so it is here.

  Args:
    rows: For each client, finite floats [L_j, D]. L_j may differ.
    generator: Draws the orders of the sweeps; the result is a function of it and
      of the other arguments.
    num_biases: How many biases end a row: 1 for dense layers and convolutions, 4
      for an LSTM, 0 for an embedding.
    gamma: How readily there are new units: 7 as published for images, 1e-3 for
      the LSTM.
    sigma: Variance of the clients' weights around the server's.
    sigma0: Variance of the server's weights.
    sweeps: How often all clients are matched again.
    max_units: How many units the server may have, or as many as the widest client.
      The authors' code lets a client add one even then.
    average: What the server's rows are.

  Raises:
    errors.InputError: If there is no client, rows are not finite or their
      lengths differ, or gamma or a variance is not positive.
  """
  shapes = [client.shape for client in rows]
  if len({shape[1:] for shape in shapes}) != 1 or len(shapes[0]) != 2:
    raise errors.InputError(
      f'rows of the clients have the shapes {shapes}; one client at least, and '
      '[units, D] with the same D for all, was expected.'
    )
  for position, client in enumerate(rows):
    if not np.isfinite(client).all():
      raise errors.InputError(
        f'rows of client {position} are not finite; numbers were expected.'
      )
  average = choices.UnitAverage(average)
  for name, value in (('gamma', gamma), ('sigma', sigma), ('sigma0', sigma0)):
    if not 0 < value < np.inf:
      raise errors.InputError(
        f'{name} is {value}; a positive number was expected.'
      )
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
  """The server's units, of the clients that have been added.

  Attributes:
    sums: G, float64 [L, D].
    counts: int64 [L].
    assignments: As of `MatchedUnits`.
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
    """S, [L]."""
    return self._prior_precision + self._precision * self.counts

  def add(self, position: int) -> None:
    """Matches the units of a client."""
    rows = self._rows[position]
    _, units = optimize.linear_sum_assignment(self._scores(rows), maximize=True)
    # Which of the new ones a unit is makes no difference: they come in order.
    new = units >= len(self.counts)
    num_new = np.count_nonzero(new)
    units[new] = len(self.counts) + np.arange(num_new)
    self.sums = np.vstack([self.sums, np.tile(self._prior, [num_new, 1])])
    self.counts = np.append(self.counts, np.zeros(num_new, np.int64))
    self.sums[units] += rows
    self.counts[units] += 1
    self.assignments[position] = units

  def remove(self, position: int) -> None:
    """Takes a client out, and the units that it alone has."""
    units = self.assignments[position]
    self.assignments[position] = units[:0]
    self.sums[units] -= self._rows[position]
    self.counts[units] -= 1
    kept = self.counts > 0
    moved = np.cumsum(kept) - 1
    self.sums, self.counts = self.sums[kept], self.counts[kept]
    self.assignments = [moved[units] for units in self.assignments]

  def _scores(self, rows: np.ndarray) -> np.ndarray:
    """Of a client's units for the server's, then for new ones."""
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
    tensors: Whose last axis is units, or units of one gate after the other: in
      most cases a kernel and its bias, which must come last.
    num_units: L_j, of the layer.

  Returns:
    [L_j, D], where a row is a unit's part of all tensors.
  """
  return np.vstack([tensor.reshape(-1, num_units) for tensor in tensors]).T


def unit_tensors(
  rows: np.ndarray, tensors: Sequence[np.ndarray], num_units: int
) -> list[np.ndarray]:
  """Returns rows as a layer's tensors: what `unit_rows` did, undone.

  Args:
    rows: [L, D], as of `match_units`.
    tensors: Of any client, as they were made rows of.
    num_units: L_j, of that client.

  Returns:
    Tensors of the same shapes but for the last axis, where L_j has become L.
  """
  ends = np.cumsum([tensor.size // num_units for tensor in tensors])
  return [
    part.reshape(*tensor.shape[:-1], -1)
    for part, tensor in zip(np.split(rows.T, ends[:-1]), tensors)
  ]


def pad_inputs(
  kernel: np.ndarray, assignment: npt.ArrayLike, num_units: int
) -> np.ndarray:
  """Gives a client's layer the inputs of the server's layer before it.

  The weights of inputs that the client has not are zero, so that the layer
  computes what it did.

  Args:
    kernel: The client's, of any kind of layer: the axis before the last is
      inputs, once or h * w times the L_j units of the layer before.
    assignment: The client's, of the layer before, int [L_j].
    num_units: L, of the layer before.

  Returns:
    A kernel with L where there was L_j.
  """
  blocks = kernel.reshape(-1, len(assignment), kernel.shape[-1])
  padded = np.zeros([len(blocks), num_units, kernel.shape[-1]], kernel.dtype)
  padded[:, assignment] = blocks
  return padded.reshape(*kernel.shape[:-2], -1, kernel.shape[-1])


def take_inputs(
  kernel: np.ndarray, assignment: npt.ArrayLike, num_units: int
) -> np.ndarray:
  """Returns what a client has of the inputs: `pad_inputs`, undone.

  Args:
    kernel: Of the server, with L units in the layer before.
    assignment: The client's, of the layer before, int [L_j].
    num_units: L, of the layer before.

  Returns:
    A kernel with L_j where there was L.
  """
  blocks = kernel.reshape(-1, num_units, kernel.shape[-1])[:, assignment]
  return blocks.reshape(*kernel.shape[:-2], -1, kernel.shape[-1])


def take_units(
  tensor: np.ndarray, assignment: npt.ArrayLike, num_units: int
) -> np.ndarray:
  """Returns what a client has of a layer's units, of each gate.

  Args:
    tensor: Any of the server's layer, whose last axis is units.
    assignment: The client's, of this layer, int [L_j].
    num_units: L, of this layer.

  Returns:
    A tensor with L_j where there was L.
  """
  parts = tensor.reshape(-1, num_units)[:, assignment]
  return parts.reshape(*tensor.shape[:-1], -1)


def pad_units(
  tensor: np.ndarray, assignment: npt.ArrayLike, num_units: int
) -> np.ndarray:
  """Gives a client's layer the units of the server's: `take_units`, undone.

  The weights of units that the client has not are zero.

  Args:
    tensor: Any of the client's layer, whose last axis is units.
    assignment: The client's, of this layer, int [L_j].
    num_units: L, of this layer.

  Returns:
    A tensor with L where there was L_j.
  """
  parts = tensor.reshape(-1, len(assignment))
  padded = np.zeros([len(parts), num_units], tensor.dtype)
  padded[:, assignment] = parts
  return padded.reshape(*tensor.shape[:-1], -1)


def average_recurrent(
  recurrents: Sequence[np.ndarray],
  assignments: Sequence[np.ndarray],
  num_units: int,
  *,
  average: choices.UnitAverage = choices.UnitAverage.MEAN,
) -> np.ndarray:
  """Averages what LSTMs tell themselves, once their units are matched.

  Units are permuted where they come in and where they go out, in each gate, and
  a unit's weights averaged over the clients that have the unit. The authors'
  code divides these alone by the number of all clients, which is the same where
  all have all units.

  Args:
    recurrents: Of each client, [L_j, 4 L_j].
    assignments: Of each client, as `match_units` returns them for the weights of
      what comes in.
    num_units: L, or more.
    average: Whether it is divided by all clients. As they are not matched, they
      have no posterior, but its mean is the mean.

  Returns:
    [L, 4 L].
  """
  padded = [
    pad_inputs(recurrent, assignment, num_units)
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
  are averaged with the weights n_jk / sum_j n_jk. So clients without examples of
  a class have no say in it; a class of which nobody has any is averaged over
  all clients alike.

  Args:
    kernels: Of each client, [D, K], with the server's inputs.
    biases: Of each client, [K].
    class_counts: n, [J, K]. Of ones, all clients count alike, as the authors'
      LSTM has it.

  Returns:
    (kernel [D, K], bias [K]).

  Raises:
    errors.InputError: If the counts are of another shape.
  """
  shares = np.asarray(class_counts, np.float64)
  expected = len(kernels), kernels[0].shape[-1]
  if shares.shape != expected:
    raise errors.InputError(
      f'class_counts have the shape {shares.shape}; {expected}, a row a client '
      'and a column a class, was expected.'
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
  """Returns [L, D], of each unit the mean over the clients that have it.

  Args:
    rows: Of each client, [L_j, D].
    assignments: Of each client.
    num_units: L; units that nobody has are zero.
    average: Divided by all clients if it says so.
  """
  sums = np.zeros([num_units, rows[0].shape[1]])
  counts = np.zeros([num_units, 1])
  for client, assignment in zip(rows, assignments):
    sums[assignment] += client
    counts[assignment] += 1
  if average is choices.UnitAverage.OVER_ALL:
    counts[:] = len(rows)
  return (sums / np.maximum(counts, 1)).astype(rows[0].dtype)

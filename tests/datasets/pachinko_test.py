# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of two-level latent Dirichlet allocation."""

from fedfish_tff import errors
from fedfish_tff.datasets import pachinko
from fedfish_tff.datasets import partitions

from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
from scipy import stats


def _partition_one_by_one(rng, counts, parents, sizes, alpha, beta):
  """The paper's procedure, word by word: label counts of each client."""
  left = dict(enumerate(counts))
  result = []
  for size in sizes:
    coarse = sorted(set(parents))
    root = dict(zip(coarse, rng.dirichlet([alpha] * len(coarse))))
    below = {}
    for parent in coarse:
      children = [k for k, p in enumerate(parents) if p == parent]
      draw = rng.dirichlet([beta] * len(children))
      below[parent] = dict(zip(children, draw))
    row = [0] * len(counts)
    remaining = {p: [k for k in below[p] if left[k]] for p in coarse}
    for _ in range(size):
      options = [p for p in coarse if remaining[p]]
      weights = np.array([root[p] for p in options])
      parent = options[rng.choice(len(options), p=weights / weights.sum())]
      weights = np.array([below[parent][k] for k in remaining[parent]])
      label = remaining[parent][
        rng.choice(len(weights), p=weights / weights.sum())
      ]
      row[label] += 1
      left[label] -= 1
      if not left[label]:
        remaining[parent].remove(label)
    result.append(tuple(row))
  return tuple(result)


def _uniform_under(distribution, values, rng):
  """The randomised probability transform: uniform if values follow it."""
  below = distribution.cdf(values - 1)
  return below + rng.random(len(values)) * distribution.pmf(values)


class PartitionByPachinkoTest(parameterized.TestCase):
  @settings(max_examples=150)
  @given(
    labels=st.lists(st.integers(-3, 6), min_size=1, max_size=120).map(np.array),
    num_coarse=st.integers(1, 4),
    num_clients=st.integers(1, 12),
    examples_per_client=st.one_of(st.none(), st.integers(1, 12)),
    alpha=st.floats(0, 1e9, exclude_min=True),
    beta=st.floats(0, 1e9, exclude_min=True),
    seed=st.integers(0, 1000),
  )
  def test_is_a_partition_of_the_examples_drawn(
    self, labels, num_coarse, examples_per_client, **options
  ):
    num_clients = options['num_clients']

    def call():
      return pachinko.partition_by_pachinko(
        labels,
        labels % num_coarse,
        examples_per_client=examples_per_client,
        **options,
      )

    if num_clients * (examples_per_client or 1) > len(labels):
      with self.assertRaisesRegex(errors.InputError, 'cannot give'):
        call()
      return
    found = call()
    sizes = [len(indices) for indices in found]
    self.assertLen(found, num_clients)
    used = np.concatenate(found)
    self.assertLen(np.unique(used), len(used))
    self.assertBetween(used.min(), 0, len(labels) - 1)
    self.assertBetween(used.max(), 0, len(labels) - 1)
    if examples_per_client is None:
      self.assertLen(used, len(labels))
      self.assertLessEqual(max(sizes) - min(sizes), 1)
    else:
      self.assertEqual(sizes, [examples_per_client] * num_clients)
    left_over = partitions.unassigned_examples(found, len(labels))
    self.assertLen(left_over, len(labels) - len(used))
    for indices, again in zip(found, call()):
      self.assertEqual(indices.dtype, np.int64)
      np.testing.assert_array_equal(indices, np.sort(indices))
      np.testing.assert_array_equal(indices, again)

  def test_labels_are_dirichlet_multinomial_on_both_levels(self):
    # So many examples that none of the labels runs out.
    num_clients, size, alpha, beta = 400, 100, 0.1, 10.0
    labels = np.arange(500_000) % 100
    coarse = labels // 5
    found = pachinko.partition_by_pachinko(
      labels,
      coarse,
      num_clients=num_clients,
      examples_per_client=size,
      alpha=alpha,
      beta=beta,
      seed=0,
    )
    _, counts = partitions.count_labels(labels, found)
    self.assertLess(counts.sum(axis=0).max(), 5000)
    by_coarse = counts.reshape(num_clients, 20, 5)
    totals = by_coarse.sum(axis=2)
    rng = np.random.default_rng(0)
    for parent in range(0, 20, 5):
      uniform = _uniform_under(
        stats.betabinom(size, alpha, 19 * alpha), totals[:, parent], rng
      )
      self.assertGreater(stats.kstest(uniform, 'uniform').pvalue, 0.005)
    # Given how many examples a coarse label has, one of its five labels.
    rows = np.arange(num_clients)
    largest = totals.argmax(axis=1)
    for child in range(0, 5, 2):
      uniform = _uniform_under(
        stats.betabinom(totals[rows, largest], beta, 4 * beta),
        by_coarse[rows, largest, child],
        rng,
      )
      self.assertGreater(stats.kstest(uniform, 'uniform').pvalue, 0.005)

  def test_labels_that_run_out_leave_the_proportions(self):
    # Every label runs out, at a different time in every run.
    counts, parents, sizes = [2, 1, 2, 1], [0, 0, 1, 1], [2, 2, 2]
    labels = np.repeat(np.arange(4), counts)
    rng = np.random.default_rng(0)
    outcomes = {}
    for number in range(2000):
      found = pachinko.partition_by_pachinko(
        labels,
        np.array(parents)[labels],
        num_clients=3,
        alpha=0.5,
        beta=2.0,
        seed=number,
      )
      _, rows = partitions.count_labels(labels, found)
      expected = _partition_one_by_one(rng, counts, parents, sizes, 0.5, 2.0)
      for column, key in enumerate((tuple(map(tuple, rows)), expected)):
        outcomes.setdefault(key, [0, 0])[column] += 1
    table = np.array(list(outcomes.values()))
    rare = table.sum(axis=1) < 40
    table = np.concatenate([table[~rare], table[rare].sum(axis=0)[None]])
    self.assertGreater(len(table), 20)
    self.assertGreater(stats.chi2_contingency(table)[1], 0.01)

  def test_federated_cifar100(self):
    labels = np.random.default_rng(0).permutation(np.arange(50_000) % 100)
    found = pachinko.partition_by_pachinko(
      labels, labels // 5, num_clients=500, examples_per_client=100, seed=0
    )
    np.testing.assert_array_equal(
      np.sort(np.concatenate(found)), np.arange(50_000)
    )
    # Clients know few of the 20 coarse labels, but most labels under these.
    _, counts = partitions.count_labels(labels, found)
    by_coarse = counts.reshape(500, 20, 5)
    known = by_coarse.sum(axis=2) >= 20
    self.assertBetween(np.count_nonzero(known, axis=1).mean(), 1, 3)
    self.assertGreater(np.count_nonzero(by_coarse, axis=2)[known].mean(), 4.5)

  def test_limits_of_the_concentrations(self):
    labels = np.arange(100_000) % 20
    options = dict(num_clients=50, examples_per_client=100, seed=0)
    one_label = pachinko.partition_by_pachinko(
      labels, labels // 5, alpha=1e-9, beta=1e-9, **options
    )
    _, counts = partitions.count_labels(labels, one_label)
    np.testing.assert_array_equal(counts.max(axis=1), 100)
    even = pachinko.partition_by_pachinko(
      labels, labels // 5, alpha=1e9, beta=1e9, **options
    )
    _, counts = partitions.count_labels(labels, even)
    # Then a client's counts are multinomial with equal probabilities.
    statistic = ((counts - 5) ** 2 / 5).sum()
    self.assertBetween(stats.chi2(50 * 19).cdf(statistic), 0.005, 0.995)

  def test_labels_may_be_strings(self):
    labels = np.array(['oak', 'elm', 'cod', 'eel'] * 5)
    coarse = np.array(['tree', 'tree', 'fish', 'fish'] * 5)
    found = pachinko.partition_by_pachinko(
      labels, coarse, num_clients=4, seed=0
    )
    self.assertEqual([len(indices) for indices in found], [5] * 4)

  @parameterized.parameters(
    (dict(num_clients=0), 'num_clients .*0'),
    (dict(examples_per_client=0), 'examples_per_client .*0'),
    (dict(examples_per_client=6), '10 examples cannot give 2 clients'),
    (dict(alpha=0), 'alpha .*0'),
    (dict(beta=-1.0), 'beta .*-1.0'),
    (dict(labels=np.zeros([5, 2])), r'The labels .* shape \[5, 2\]'),
    (dict(coarse_labels=np.zeros([0])), r'The coarse labels .* shape \[0\]'),
    (dict(coarse_labels=np.zeros(9)), '10 labels and 9 coarse labels'),
    (
      dict(coarse_labels=np.arange(10)),
      'coarse .*0 and 5',
    ),
  )
  def test_bad_arguments(self, changed, regex):
    labels = np.arange(10) % 5
    arguments = dict(
      labels=labels, coarse_labels=labels // 2, num_clients=2, seed=0
    )
    with self.assertRaisesRegex(errors.InputError, regex):
      pachinko.partition_by_pachinko(**{**arguments, **changed})

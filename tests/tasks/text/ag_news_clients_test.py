# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the clients' samples: sizes, overlaps and class proportions."""

from fedfish_tff import errors
from tasks.text import ag_news_clients

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np
from scipy import stats

_LABELS = np.random.default_rng(0).permutation(np.repeat(range(4), 60))
_OPTIONS = dict(
  num_classes=4,
  num_clients=5,
  beta=0.5,
  client_fraction=0.75,
  validation_fraction=0.1,
  with_replacement=True,
  pool='whole',
  seed=0,
)


def _sample(labels=_LABELS, **options):
  return ag_news_clients.sample_clients(labels, **{**_OPTIONS, **options})


def _union(clients):
  return set(np.concatenate(list(clients.values())).tolist())


class AgNewsClientsTest(parameterized.TestCase):
  @hypothesis.settings(max_examples=40)
  @hypothesis.given(
    num_clients=strategies.integers(1, 12),
    beta=strategies.sampled_from([1e-3, 0.25, 1.0, 1000.0]),
    client_fraction=strategies.floats(0.1, 1),
    validation_fraction=strategies.floats(0.05, 0.5),
    with_replacement=strategies.booleans(),
    pool=strategies.sampled_from(['whole', 'divided']),
    seed=strategies.integers(0, 5),
  )
  def test_sizes_and_overlaps(self, **options):
    clients = _sample(**options)
    num_clients = options['num_clients']
    self.assertLen(clients.train, num_clients)
    self.assertNoCommonElements(
      _union(clients.train), _union(clients.validation)
    )
    training_pool = set(clients.training_pool().tolist())
    self.assertContainsSubset(_union(clients.train), training_pool)
    self.assertEqual(
      training_pool | _union(clients.validation), set(range(240))
    )
    self.assertLen(training_pool, 240 - len(_union(clients.validation)))
    whole = options['pool'] == 'whole'
    pools = (
      [240]
      if whole
      else [len(a) for a in np.array_split(np.arange(240), num_clients)]
    )
    held_out = [round(options['validation_fraction'] * n) for n in pools]
    self.assertEqual(
      [len(v) for v in clients.validation.values()], [h for h in held_out if h]
    )
    if whole:
      pools, held_out = pools * num_clients, held_out * num_clients
    for indices, size, validation in zip(
      clients.train.values(), pools, held_out, strict=True
    ):
      self.assertLen(
        indices, round(options['client_fraction'] * (size - validation))
      )
      if not options['with_replacement']:
        self.assertLen(set(indices.tolist()), len(indices))
    if not whole:
      total = sum(len(set(i.tolist())) for i in clients.train.values())
      self.assertLen(_union(clients.train), total)

  def test_validation_has_every_class_alike(self):
    (validation,) = _sample().validation.values()
    np.testing.assert_array_equal(np.bincount(_LABELS[validation]), [6] * 4)

  def test_clients_have_the_proportions_drawn(self):
    for number, indices in enumerate(_sample(seed=3).train.values()):
      proportions = ag_news_clients.draw_proportions(
        number, num_classes=4, beta=0.5, seed=3
      )
      np.testing.assert_allclose(
        np.bincount(_LABELS[indices], minlength=4),
        len(indices) * proportions,
        atol=1,
      )

  @parameterized.parameters(0.25, 1.0, 5.0)
  def test_proportions_are_a_dirichlet_draw(self, beta):
    drawn = np.array(
      [
        ag_news_clients.draw_proportions(n, num_classes=4, beta=beta, seed=0)
        for n in range(2000)
      ]
    )
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    expected = np.random.default_rng(1).dirichlet([beta] * 4, 2000)
    for one, other in (
      (drawn[:, 0], expected[:, 0]),
      (drawn[:, 3], expected[:, 3]),
      (drawn.max(axis=1), expected.max(axis=1)),
    ):
      # Fixed seeds: not a test that fails now and then.
      self.assertGreater(stats.ks_2samp(one, other).pvalue, 0.01)

  def test_a_client_does_not_depend_on_the_others(self):
    few, many = _sample(num_clients=3), _sample(num_clients=7)
    for client_id, indices in few.train.items():
      np.testing.assert_array_equal(indices, many.train[client_id])
    self.assertFalse(
      np.array_equal(few.train['client_0'], few.train['client_1'])
    )
    other = _sample(num_clients=3, seed=1)
    self.assertFalse(
      np.array_equal(few.train['client_0'], other.train['client_0'])
    )

  def test_ids_are_in_the_order_of_the_numbers(self):
    clients = _sample(num_clients=11, pool='divided')
    self.assertEqual(list(clients.train), sorted(clients.train))
    self.assertEqual(list(clients.train)[10], 'client_10')
    self.assertEqual(list(clients.validation)[2], 'validation_02')

  @parameterized.parameters(
    (dict(client_fraction=0), 'client_fraction 0 of the 216 examples'),
    (dict(validation_fraction=0), 'validation_fraction 0 of 240 examples'),
    (
      dict(pool='divided', num_clients=300),
      'validation_fraction 0.1 of 240 examples',
    ),
  )
  def test_bad_options(self, options, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      _sample(**options)

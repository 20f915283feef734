# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of generated features and their clients."""

from fedfish_tff import datasets
from tasks.features import generated_clients
from tasks.features import generated_features
from tests import usable_tasks

from absl.testing import parameterized
import numpy as np
from scipy import stats


def _create(**options):
  return generated_features.create_task(
    **{'seed': 0, 'num_features': 16, 'num_held_out': 3, **options}
  )


def _sizes(task):
  return [len(y) for _, y in usable_tasks.load_clients(task.train).values()]


class GeneratedFeaturesTest(parameterized.TestCase):
  def test_published_size(self):
    task = _create()
    self.assertLen(task.train.client_ids, 9275)
    split = datasets.PUBLISHED_SPLITS['inaturalist_users_120k']
    self.assertSequenceEqual(
      _sizes(task), split.size_law.draw(9275, seed=0).tolist()
    )
    kernel, _ = task.create_model().initial_weights[0]
    self.assertEqual(kernel.shape, (16, 1203))
    for data in (task.validation, task.test):
      self.assertLen(data.client_ids, 3)
      x, y = data.load_client(data.client_ids[0])
      self.assertEqual((x.shape, y.shape), ((100, 16), (100,)))
      self.assertEqual((x.dtype, y.dtype), (np.float32, np.int32))

  @parameterized.parameters(*datasets.PUBLISHED_SPLITS)
  def test_splits(self, split):
    task = _create(split=split, num_clients=20)
    self.assertLen(task.train.client_ids, 20)
    outline = datasets.PUBLISHED_SPLITS[split]
    sizes = _sizes(task)
    self.assertBetween(min(sizes), outline.size_law.smallest, max(sizes))
    self.assertLessEqual(max(sizes), outline.size_law.largest)
    _, labels = usable_tasks.pool(task.train)
    self.assertBetween(labels.min(), 0, outline.num_classes - 1)
    self.assertBetween(labels.max(), 0, outline.num_classes - 1)

  def test_clients_are_functions_of_seed_and_id(self):
    def load(seed, **options):
      task = _create(seed=seed, num_clients=5, **options)
      return task.train.load_client('client_3')[0]

    np.testing.assert_array_equal(load(0), load(0))
    np.testing.assert_array_equal(load(0), load(0, cache_megabytes=1))
    self.assertNotEqual(load(0).tobytes(), load(1).tobytes())


class FeatureGeneratorTest(parameterized.TestCase):
  def _generate(self, concentration, size, count, num_classes=4):
    generator = generated_clients.FeatureGenerator(
      num_classes=num_classes, num_features=2, separation=1.0, seed=0
    )
    return np.array(
      [
        np.bincount(
          generator.generate(f'c{n}', size, concentration)[1],
          minlength=num_classes,
        )
        for n in range(count)
      ]
    )

  def test_labels_are_from_dirichlet_proportions(self):
    shares = self._generate(None, 40_000, 1)[0] / 40_000
    size, concentration = 20, 3.0
    counts = self._generate(concentration, size, 4000)
    for label, share in enumerate(shares):
      # One class against the others: the beta-binomial distribution.
      expected = stats.betabinom(
        size, concentration * share, concentration * (1 - share)
      )
      found = np.bincount(counts[:, label], minlength=size + 1) / 4000
      distance = np.abs(
        np.cumsum(found) - expected.cdf(np.arange(size + 1))
      ).max()
      self.assertLess(distance, 0.03)

  @parameterized.parameters((1e-9, 1, 1), (1e9, 4, 4))
  def test_limits_of_the_concentration(self, concentration, low, high):
    counts = self._generate(concentration, 200, 20)
    num_labels = (counts > 0).sum(axis=1)
    self.assertBetween(num_labels.min(), low, high)
    self.assertBetween(num_labels.max(), low, high)

  def test_features_are_around_their_class(self):
    generator = generated_clients.FeatureGenerator(
      num_classes=3, num_features=5, separation=2.0, seed=0
    )
    x, y = generator.generate('a', 30_000, None)
    for label in range(3):
      deviations = x[y == label] - x[y == label].mean(axis=0)
      np.testing.assert_allclose(deviations.std(axis=0), 1, atol=0.03)
    other, other_y = generator.generate('b', 30_000, None)
    np.testing.assert_allclose(
      other[other_y == 1].mean(axis=0), x[y == 1].mean(axis=0), atol=0.06
    )

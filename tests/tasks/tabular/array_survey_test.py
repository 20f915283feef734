# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of surveys of arrays and of linear representations."""

from fedfish_tff import datasets
from fedfish_tff import errors
from tasks.tabular import array_survey
from tasks.tabular import linear_representation

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
from scipy import stats


def _warn(train, test, *, features=(0.0, 1.0), **settings):
  splits = {
    'train': datasets.InMemoryClientData({'a': _client(train, features)}),
    'test': datasets.InMemoryClientData({'b': _client(test, features)}),
  }
  settings = dict(is_regression=False, num_classes=0, scale=1.0) | settings
  found = array_survey.survey(
    splits, is_regression=settings['is_regression'], whole=True
  )
  return list(array_survey.warn(found, **settings))


def _client(labels, features):
  labels = np.asarray(labels)
  return np.resize(features, [len(labels), 2]), labels


class ArraySurveyTest(parameterized.TestCase):
  def test_nothing_to_warn_of(self):
    self.assertEmpty(_warn([0, 1, 2], [1, 2]))
    self.assertEmpty(_warn([0.5, 1], [2.0], is_regression=True))
    self.assertEmpty(_warn([[0.5, 1]], [[0, 1]], is_regression=True))

  @parameterized.named_parameters(
    ('counted_from_1', [1, 2, 3], [1], r'no client has examples of 0\.'),
    ('stray', [0, 1, 57], [0, 57], r"57 \(client 'a'\).* 2, 3, 4 and 52 more"),
    ('only_held_out', [0, 1], [2, 1], 'Only held-out .* examples of 2,'),
  )
  def test_classes(self, train, test, regex):
    (warning,) = _warn(train, test)
    self.assertRegex(warning, regex)
    # The user has settled it.
    self.assertEmpty(_warn(train, test, num_classes=max(train + test) + 1))

  @parameterized.parameters(
    ((1, 255), 255),
    ((0.0, 90.0), 100),
    ((-40.0, 3.0), 100),
    ((-90.0, 200.0), 1000),
    ((0.0, 900.0), 1000),
  )
  def test_large_features(self, features, scale):
    (warning,) = _warn([0, 1], [0], features=features)
    self.assertIn(f'task.scale={scale} ', warning)
    self.assertEmpty(_warn([0, 1], [0], features=features, scale=scale))

  def test_columns_of_different_sizes(self):
    (warning,) = _warn([0, 1], [0], features=(1e6, 2.0))
    self.assertRegex(warning, 'task.standardize=True .* the 1 smallest would')
    self.assertEmpty(_warn([0, 1], [0], features=(1e6, 2.0), scale=None))

  @parameterized.named_parameters(
    ('whole', [0.0, 3.0], [1.0]), ('one_hot', np.eye(2), np.eye(2))
  )
  def test_targets_that_may_be_classes(self, train, test):
    (warning,) = _warn(train, test, is_regression=True)
    self.assertIn('task.kind=classification', warning)

  def test_amounts_are_no_classes(self):
    amounts = np.arange(3000)
    self.assertEmpty(_warn(amounts, amounts, is_regression=True))
    self.assertEmpty(_warn([-1, 2], [10**9], is_regression=True))


class LinearClientsTest(absltest.TestCase):
  def test_examples_are_as_the_model_says(self):
    clients = linear_representation.LinearClients(seed=1, noise_stddev=0.5)
    basis = clients.representation
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-12)
    head = clients.head('a')
    self.assertAlmostEqual(head @ head, 2)
    self.assertGreater(np.abs(head - clients.head('b')).max(), 1e-3)
    x, y = clients.draw('a', 2000, round_number=3)
    self.assertEqual((x.shape, y.shape), ((2000, 20), (2000, 1)))
    self.assertEqual((x.dtype, y.dtype), (np.float32, np.float32))
    noise = (y[:, 0] - x @ basis @ head) / 0.5
    for values in (noise, x[:, 7]):
      self.assertGreater(stats.kstest(values, 'norm').pvalue, 1e-3)
    self.assertLess(np.abs(np.corrcoef(noise, x[:, 7])[0, 1]), 0.1)

  def test_draws_are_functions_of_seed_round_and_client(self):
    def draw(seed=0, round_number=1, client_id='a'):
      clients = linear_representation.LinearClients(seed=seed)
      return clients.draw(client_id, 4, round_number=round_number)[0]

    np.testing.assert_array_equal(draw(), draw())
    for other in (draw(seed=1), draw(round_number=2), draw(client_id='b')):
      self.assertEmpty(np.intersect1d(draw(), other))
    first, second = (
      linear_representation.LinearClients(seed=seed) for seed in (0, 1)
    )
    for a, b in (
      (first.representation, second.representation),
      (first.head('a'), second.head('a')),
    ):
      self.assertGreater(np.abs(a - b).max(), 1e-3)


class CreateTaskTest(absltest.TestCase):
  def test_all_clients_are_those_of_the_options(self):
    options = dict(seed=5, num_features=12, num_components=3, noise_stddev=0.01)
    task = linear_representation.create_task(
      num_clients=3, num_examples=100, **options
    )
    splits = {'client': 3, 'validation': 8, 'test': 8}
    drawn = linear_representation.LinearClients(**options)
    for (name, number), clients in zip(
      splits.items(), (task.train, task.validation, task.test)
    ):
      self.assertLen(clients.client_ids, number)
      for client_id in clients.client_ids:
        self.assertStartsWith(client_id, f'{name}_')
        x, y = clients.load_client(client_id)
        found = np.linalg.lstsq(x, y, rcond=None)[0][:, 0]
        np.testing.assert_allclose(
          found, drawn.representation @ drawn.head(client_id), atol=0.006
        )

  def test_more_components_than_features(self):
    with self.assertRaisesRegex(errors.InputError, 'num_components .*30'):
      linear_representation.create_task(seed=0, num_components=30)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the look at a stranger's arrays."""

from fedfish_tff import datasets
from tasks.tabular import array_survey

from absl.testing import parameterized
import numpy as np


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
    self.assertEmpty(_warn([0.5, 1], [-2.0], is_regression=True))

  @parameterized.named_parameters(
    ('counted_from_1', [1, 2, 3], [1], r'no client has examples of 0\.'),
    ('stray', [0, 1, 57], [0], r"57 \(client 'a'\).* 2, 3, 4 and 52 more"),
    ('only_held_out', [0, 1], [2, 1], 'Only held-out .* examples of 2,'),
  )
  def test_classes(self, train, test, regex):
    (warning,) = _warn(train, test)
    self.assertRegex(warning, regex)
    # The user has settled it.
    self.assertEmpty(_warn(train, test, num_classes=max(train + test) + 1))

  @parameterized.parameters(
    ((0, 255), 255), ((-40.0, 3.0), 100), ((0.0, 900.0), 1000)
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

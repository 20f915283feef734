# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Keyboards and n-grams on users who type what they have learned, and not."""

from fedfish_tff import errors
from launch.runs import keyboard_comparison
from tests.launch import trained_keyboards

from absl.testing import absltest
import pytest


class KeyboardComparisonTest(absltest.TestCase):
  def _compare(self, *workdirs):
    return keyboard_comparison.compare(
      workdirs, order=3, data_dir=trained_keyboards.data_dir()
    )

  def test_models_that_know_all_sentences(self):
    """All but "mine", which has no token, and one of two first words.

    Of roses are red, violets are blue, roses are mine.
    """
    table = self._compare(trained_keyboards.train())
    n_gram, federated, about = table.splitlines()[1:]
    self.assertStartsWith(n_gram, '3-gram ')
    self.assertStartsWith(federated, 'Federated CIFG ')
    self.assertIn('9 words of 2 held-out users', about)
    # Both words may come first; the others are certain.
    for row in (n_gram, federated):
      cells = row.split()
      self.assertEqual(cells[-3], '88.89')
      self.assertIn(cells[-6], ('66.67', '77.78'))

  @pytest.mark.thorough
  def test_the_server_s_model_comes_first(self):
    federated = trained_keyboards.train()
    central = trained_keyboards.train(',training=central')
    rows = self._compare(federated, central, federated).splitlines()
    self.assertStartsWith(rows[2], 'Server CIFG ')
    self.assertStartsWith(rows[3], 'Federated CIFG ')
    self.assertStartsWith(rows[4], f'Federated CIFG ({federated.name}) ')

  @pytest.mark.thorough
  def test_another_vocabulary_is_refused(self):
    other = trained_keyboards.train(vocabulary_size=6)
    with self.assertRaisesRegex(errors.InputError, 'vocabulary of .* is not'):
      self._compare(trained_keyboards.train(), other)

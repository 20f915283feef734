# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the confusion matrix."""

import dataclasses
import math

from launch.plots import confusion_matrix
from tests.launch.results import fake_runs

from absl.testing import absltest
import numpy as np


def _scores(table, names, prefix='test/global/'):
  return {
    f'{prefix}confusion_{one}_as_{other}': float(table[i][j])
    for i, one in enumerate(names)
    for j, other in enumerate(names)
  }


def _draw(table, names):
  values = _scores(table, names)
  run = dataclasses.replace(fake_runs.make_run(), values=values)
  return confusion_matrix.draw(fake_runs.named({'a': [run]}), 'train/loss')


class ConfusionMatrixTest(absltest.TestCase):
  def test_reads_what_it_finds(self):
    table, names = [[3, 1], [0, 8]], ['world', 'sci_tech']
    scores = {
      'test/global/accuracy': 0.5,
      **_scores([[0, 9], [9, 0]], names, 'other/'),
      **_scores(table, names),
    }
    counts, found = confusion_matrix.read_confusion(scores)
    np.testing.assert_array_equal(counts, table)
    self.assertEqual(found, names)

  def test_reads_nothing_where_something_is_missing(self):
    scores = _scores([[3, 1], [0, 8]], ['a', 'b'])
    self.assertIsNone(confusion_matrix.read_confusion({}))
    self.assertIsNone(
      confusion_matrix.read_confusion(
        {**scores, 'test/global/confusion_a_as_b': math.nan}
      )
    )
    del scores['test/global/confusion_b_as_a']
    self.assertIsNone(confusion_matrix.read_confusion(scores))

  def test_an_unfinished_run_has_none(self):
    frames = fake_runs.named({'a': [fake_runs.make_run()]})
    self.assertEmpty(confusion_matrix.draw(frames, 'train/loss'))

  def test_colours_are_shares_of_the_class(self):
    ((name, figure),) = _draw([[3, 1], [0, 0]], ['oak', 'sci_tech']).items()
    self.assertEqual(name, 'confusion_matrix')
    axis = figure.axes[0]
    np.testing.assert_allclose(
      axis.images[0].get_array(), [[0.75, 0.25], [0, 0]]
    )
    self.assertEqual(axis.texts[0].get_text(), '75.0 %\n3')
    labels = [tick.get_text() for tick in axis.get_yticklabels()]
    self.assertEqual(labels, ['oak', 'sci tech'])

  def test_many_classes_have_no_numbers(self):
    names = [f'class {i}' for i in range(30)]
    (figure,) = _draw(np.eye(30), names).values()
    self.assertEmpty(figure.axes[0].texts)
    figure.draw_without_rendering()

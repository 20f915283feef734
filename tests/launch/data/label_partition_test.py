# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the plot of clients by classes."""

from launch.data import label_partition
from launch.plots import style
from tests import temporary_folders

import numpy as np


def _draw(counts, title='', **kwargs):
  figure = label_partition.plot_label_partition(
    np.array(counts), title=title, **kwargs
  )
  upper, lower, _ = figure.axes
  return figure, upper, lower


def _labels(ticks):
  return [tick.get_text() for tick in ticks]


class LabelPartitionTest(temporary_folders.TestCase):
  def test_fields_are_shares_of_clients(self):
    figure, upper, lower = _draw(
      [[3, 1], [0, 0], [0, 8]], class_names=['oak', 'elm'], title='Leaves'
    )
    (image,) = lower.images
    np.testing.assert_allclose(image.get_array(), [[0.75, 0, 0], [0.25, 0, 1]])
    heights = [bar.get_height() for bar in upper.patches]
    self.assertEqual(heights, [4, 0, 8])
    self.assertEqual(_labels(lower.get_yticklabels()), ['oak', 'elm'])
    self.assertEqual(_labels(lower.get_xticklabels()), ['0', '1', '2'])
    self.assertEqual(figure.get_suptitle(), 'Leaves')

  def test_darker_means_more_also_in_grey(self):
    _, _, lower = _draw([[1]])
    (image,) = lower.images
    rgb = image.to_rgba(np.linspace(0, 1, 200))[:, :3]
    luminance = rgb @ [0.2126, 0.7152, 0.0722]
    self.assertTrue((np.diff(luminance) <= 1e-9).all())
    self.assertGreater(luminance[0] - luminance[-1], 0.8)

  def test_many_clients_are_ordered_and_the_figure_says_so(self):
    counts = np.eye(3, dtype=int)[np.arange(60) % 3] * 5
    _, _, lower = _draw(counts)
    (image,) = lower.images
    np.testing.assert_array_equal(
      image.get_array(), np.repeat(np.eye(3), 20, axis=1)
    )
    self.assertEmpty(lower.get_xticks())
    self.assertEqual(
      lower.get_xlabel(), '60 clients, ordered by their largest class'
    )

  def test_more_clients_than_columns(self):
    counts = np.random.default_rng(0).integers(9, size=(3400, 62)) + 1
    figure, _, lower = _draw(counts)
    self.assertStartsWith(lower.get_xlabel(), '400 of 3,400 clients')
    self.assertEqual(lower.images[0].get_array().shape, (62, 400))
    self.assertLessEqual(len(lower.get_yticks()), 32)
    path = self.folder / 'a.png'
    style.save_figure(figure, path)

  def test_groups_stand_together(self):
    counts = [[1, 2, 3, 4]]
    _, _, lower = _draw(counts, class_groups=['fish', 'bird', 'fish', 'bird'])
    np.testing.assert_allclose(
      lower.images[0].get_array()[:, 0], [0.2, 0.4, 0.1, 0.3]
    )
    self.assertEqual(_labels(lower.get_yticklabels()), ['1', '3', '0', '2'])
    self.assertLen(lower.lines, 1)

  def test_groups_name_many_classes(self):
    groups = [f'group {i}' for i in np.arange(100) % 4]
    _, _, lower = _draw(np.ones((2, 100), int), class_groups=groups)
    self.assertEqual(
      _labels(lower.get_yticklabels()), [f'group {i}' for i in range(4)]
    )
    np.testing.assert_allclose(lower.get_yticks(), [12, 37, 62, 87])

  def test_long_names_are_cut(self):
    _, _, lower = _draw([[1]], client_names=['www.example.org/a/b'])
    self.assertEqual(_labels(lower.get_xticklabels()), ['www.exa….org/a/b'])

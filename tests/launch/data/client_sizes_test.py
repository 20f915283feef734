# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the histogram of client sizes."""

import pathlib

from launch.data import client_sizes
from launch.plots import style

from absl.testing import absltest
import numpy as np


def _steps(axis):
  """Returns (counts, edges) of each line of a panel."""
  return [patch.get_data()[:2] for patch in axis.patches]


class ClientSizesTest(absltest.TestCase):
  def test_every_client_is_counted_once(self):
    rng = np.random.default_rng(0)
    sizes = {
      'train': (rng.pareto(1, 5000) * 3 + 1).astype(np.int64),
      'held_out': np.array([1, 1, 2]),
    }
    figure = client_sizes.plot_client_sizes({'examples': sizes}, title='')
    (axis,) = figure.axes
    self.assertEqual((axis.get_xscale(), axis.get_yscale()), ('log', 'log'))
    for (counts, edges), values in zip(_steps(axis), sizes.values()):
      self.assertEqual(counts.sum(), len(values))
      np.testing.assert_array_equal(counts, np.histogram(values, edges)[0])
      # No size stands on a border.
      np.testing.assert_array_equal(edges % 1, 0.5)
      self.assertGreater(np.diff(edges).min(), 0)
    self.assertEqual(
      [label.get_text() for label in figure.legends[0].get_texts()],
      ['train, 5,000 clients', 'held out, 3 clients'],
    )

  def test_panels_and_clients_without_words(self):
    figure = client_sizes.plot_client_sizes(
      {
        'examples': {'train': np.array([1, 2])},
        'words': {'train': np.array([0, 7])},
      },
      title='Pages',
    )
    examples, words = figure.axes
    self.assertEqual(examples.get_xlabel(), 'Examples of a client')
    self.assertEqual(words.get_xlabel(), 'Words of a client')
    self.assertEqual(examples.get_title(loc='right'), '')
    self.assertEqual(words.get_title(loc='right'), '1 clients have none')
    self.assertEmpty(figure.legends)
    self.assertEqual(figure.get_suptitle(), 'Pages')

  def test_any_sizes_can_be_drawn(self):
    path = pathlib.Path(self.create_tempdir().full_path) / 'a.png'
    for values in ([], [0], [1], [1, 1], [10**9], [1, 10**12]):
      figure = client_sizes.plot_client_sizes(
        {'words': {'train': np.array(values, np.int64)}}, title=''
      )
      style.save_figure(figure, path)

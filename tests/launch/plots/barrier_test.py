# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of panels of barriers, transfers and heat maps."""

from launch.plots import barrier
from launch.plots import heat_map
from launch.plots import panels
from launch.plots import transfer
from tests.launch import drawn_figures
from tests.launch.results import fake_runs

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np


class DrawTest(absltest.TestCase):
  def test_labels_tell_where_the_method_is_lower(self):
    runs = [fake_runs.make_run(a) for a in ('fed_avg', 'fed_fish')]
    frames = fake_runs.frames(runs)
    ((name, figure),) = barrier.draw(frames, 'csb/accuracy').items()
    self.assertEqual(name, 'barrier_accuracy')
    axis = figure.axes[0]
    self.assertLen(axis.collections[0].get_offsets(), len(fake_runs.ROUNDS))
    self.assertEqual(axis.get_xlabel(), 'FedFish: barrier in accuracy')
    self.assertEqual(axis.get_ylabel(), 'FedAvg: barrier in accuracy')
    # The method on the x axis is lower above the line.
    positions = {text.get_text(): text.get_position() for text in axis.texts}
    x, y = positions['lower for FedFish']
    self.assertGreater(y, x)
    x, y = positions['lower for FedAvg']
    self.assertLess(y, x)

  def test_a_method_without_barriers_is_named(self):
    runs = [fake_runs.make_run(a) for a in ('fed_avg', 'fed_fish', 'scaffold')]
    del runs[-1].columns['csb/accuracy']
    (figure,) = barrier.draw(fake_runs.frames(runs), 'csb/accuracy').values()
    note = figure.legends[0].get_title().get_text()
    self.assertEndsWith(note, 'Without a barrier to compare: SCAFFOLD.')

  def test_long_labels_fit(self):
    figure, (axis, *_) = panels.new_grid('abc', (panels.PAPER_COLUMN, 2.3))
    values, rate = np.zeros(2), 'client learning rate 0.01'
    barrier.compare_methods(
      axis, values, values, f'FedProx, {rate}', f'FedAvg, {rate}', 'accuracy'
    )
    self.assertEqual(
      [' '.join(text.get_text().split()) for text in axis.texts],
      ['lower for FedProx', 'lower for FedAvg'],
    )
    figure.draw_without_rendering()
    extent = axis.yaxis.label.get_window_extent()
    self.assertGreaterEqual(extent.y0, 0)
    self.assertLessEqual(extent.y1, figure.bbox.height)


class HeatMapTest(absltest.TestCase):
  def test_numbers_can_be_read_on_their_colour(self):
    _, (axis,) = panels.new_grid(['a'], (3, 2))
    image = heat_map.draw_table(axis, np.array([[0.0, np.nan, 1.0]]))
    heat_map.write_cells(image, np.array([['none', 'unknown', 'all']]))
    light, dark = axis.texts
    self.assertEqual((light.get_text(), dark.get_text()), ('none', 'all'))
    self.assertEqual(dark.get_color(), 'white')
    self.assertNotEqual(light.get_color(), 'white')

  def test_long_names_keep_their_ends(self):
    self.assertEqual(heat_map.shorten('abcdef', 6), 'abcdef')
    self.assertEqual(heat_map.shorten('abcdefg', 6), 'ab…efg')

  def test_names_stay_apart(self):
    _, (axis,) = panels.new_grid(['a'], (3, 2))
    names = [f'roberta/layer_{i}/query/kernel' for i in range(2)]
    heat_map.name_ticks(axis.yaxis, names, most_letters=24)
    self.assertEqual(
      [label.get_text() for label in axis.get_yticklabels()],
      [f'…ta/layer_{i}/query/kernel' for i in range(2)],
    )

  def test_names_that_would_touch_are_upright(self):
    for letters, rotation in ((1, 0), (20, 90)):
      _, (axis,) = panels.new_grid(['a'], (3, 2))
      heat_map.draw_table(axis, np.eye(4))
      heat_map.name_ticks(axis.xaxis, ['a' * letters] * 4)
      labels = axis.get_xticklabels()
      self.assertEqual({t.get_rotation() for t in labels}, {rotation})


_TARGETS = ('c4', 'cc_news', 'stackoverflow')


def _runs(targets):
  runs = fake_runs.make_setting_runs([(1, 6)], tasks=('c4',))
  return fake_runs.with_transfer(runs, targets=targets)


class PlotWorkdirTest(parameterized.TestCase):
  @parameterized.parameters(1, 3)
  def test_a_column_a_target_and_a_row_a_round(self, count):
    (run, *_) = _runs(targets=_TARGETS[:count])
    figures = transfer.plot_workdir_transfer(run.transfer, 'c4')
    self.assertEqual(
      list(figures), ['transfer_accuracy', 'transfer_perplexity']
    )
    figure = figures['transfer_accuracy']
    self.assertEqual(
      [axis.get_title('left').replace('\n', ' ') for axis in figure.axes],
      [f'{t}, round {n}' for n in (3, 6) for t in _TARGETS[:count]],
    )
    for i, axis in enumerate(figure.axes):
      (points,) = axis.containers
      first = 0.05 if i < count else 0.1
      ys = first + 0.002 * np.array([0, 25, 50])
      found = np.array(points.lines[0].get_ydata(), float)
      np.testing.assert_allclose(found, ys)
      # The interval of the clients.
      (bars,) = points.lines[2]
      ends = [path.vertices[:, 1] for path in bars.get_paths()]
      np.testing.assert_allclose(
        np.array(ends, float), ys[:, None] + [[-0.01, 0.01]]
      )
    drawn_figures.check_fits(self, figure)

  def test_clients_that_all_diverged(self):
    (run, *_) = _runs(targets=('c4',))
    scores = [
      s._replace(mean=np.nan, low=np.nan, high=np.nan)
      if s.round == 3
      else s._replace(low=np.nan, high=np.nan)
      for s in run.transfer
    ]
    figures = transfer.plot_workdir_transfer(scores, 'c4')
    (axis,) = figures['transfer_accuracy'].axes
    self.assertLen(axis.containers, 1)

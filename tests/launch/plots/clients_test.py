# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of plots of clients, barriers, transfers and heat maps."""

import dataclasses

from launch.plots import barrier
from launch.plots import catalogue
from launch.plots import clients
from launch.plots import heat_map
from launch.plots import panels
from launch.plots import transfer
from tests.launch import drawn_figures
from tests.launch.results import fake_runs

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pandas as pd

_BEFORE = np.array([0.4, 0.5, 0.6, 0.7])
_AFTER = np.array([0.6, 0.5, 0.5, 0.9])


def _make_run(before, after, metric):
  of_run = {
    str(i): {
      f'before/{metric}': one,
      f'few_shot_25/{metric}': one,
      f'after/{metric}': other,
    }
    for i, (one, other) in enumerate(zip(before, after))
  }
  # Too small a client to personalise.
  of_run['tiny'] = {f'global/{metric}': 1.0}
  return dataclasses.replace(fake_runs.make_run(), clients=of_run)


def _draw(scores, metric='accuracy'):
  """Returns the figures before and after, and of few shots."""
  groups = {label: [_make_run(*pair, metric)] for label, pair in scores.items()}
  frames = fake_runs.named(groups)
  return clients.draw_personalization(frames, f'eval/global/{metric}').values()


class DrawPersonalizationTest(parameterized.TestCase):
  @parameterized.parameters(
    ('accuracy', '2 gain, 1 lose'), ('mse', '1 gain, 2 lose')
  )
  def test_a_point_a_client_and_the_count_of_gains(self, metric, counts):
    scores = {'FedAvg': (_BEFORE, _AFTER), 'FedFish': (_BEFORE, _BEFORE)}
    figure, few_shot = _draw(scores, metric)
    first, second = figure.axes
    np.testing.assert_allclose(
      first.collections[0].get_offsets(), np.stack([_BEFORE, _AFTER], axis=1)
    )
    self.assertEqual(
      first.texts[0].get_text(), f'{counts}; mean 0.550 to 0.625'
    )
    self.assertStartsWith(second.texts[0].get_text(), '0 gain, 0 lose')
    for axis in figure.axes:
      self.assertEqual(axis.get_xlim(), first.get_ylim())
      self.assertEqual(axis.get_ylim(), first.get_ylim())
      # The diagonal goes from corner to corner.
      corners = [[end, end] for end in axis.get_xlim()]
      np.testing.assert_allclose(axis.lines[0].get_xydata(), corners)
    for of in (figure, few_shot):
      note = of.legends[0].get_title().get_text()
      self.assertStartsWith(note, '4 of 8 test clients per run.')
    axis = few_shot.axes[0]
    self.assertEqual(axis.xaxis.get_major_formatter()(0.25), '25%')
    # A line a client, and their mean.
    lines = axis.lines
    self.assertLen(lines, 5)
    np.testing.assert_allclose(
      lines[-1].get_xydata(), [[0, 0.55], [0.25, 0.55], [0.5, 0.625]]
    )

  def test_the_task_declares_what_is_a_gain(self):
    frames = fake_runs.named({'FedAvg': [_make_run(_BEFORE, _AFTER, 'error')]})
    runs = frames.runs.assign(metric='error', higher_is_better=False)
    figures = clients.draw_personalization(frames.of(runs), 'eval/global/error')
    axis = figures['personalization_error'].axes[0]
    self.assertStartsWith(axis.texts[0].get_text(), '1 gain, 2 lose')

  @parameterized.parameters(
    ('accuracy', 0.5, 0.0, 0.53),
    ('accuracy', 1.0, 0.0, 1.0),
    # A score in per cent.
    ('accuracy', 100.0, 0.0, 100.0),
    ('mse', 0.5, -0.03, 0.53),
  )
  def test_limits_fit_the_scores_and_shares(self, metric, largest, low, high):
    scores = np.array([0.0, largest])
    figure, _ = _draw({'FedAvg': (scores, scores)}, metric)
    np.testing.assert_allclose(figure.axes[0].get_xlim(), (low, high))

  def test_methods_without_clients_have_no_panel(self):
    self.assertEmpty(_draw({'FedAvg': ([], [])}))
    figure, _ = _draw({'FedAvg': ([], []), 'FedFish': (_BEFORE, _AFTER)})
    self.assertLen(figure.axes, 1)
    note = ' '.join(figure.legends[0].get_title().get_text().split())
    self.assertIn('Not drawn, without finite scores of clients: FedAvg.', note)


class DrawSpreadTest(absltest.TestCase):
  def test_clients_are_sorted_from_the_worst(self):
    values = [3.0, 1.0, np.nan, 2.0, 4.0]
    for name, expected in (('accuracy', [1, 2, 3, 4]), ('loss', [4, 3, 2, 1])):
      of_run = {str(i): {f'global/{name}': v} for i, v in enumerate(values)}
      run = dataclasses.replace(fake_runs.make_run(), clients=of_run)
      groups = {'FedAvg': [run], 'FedFish': [fake_runs.make_run()]}
      frames = fake_runs.named(groups)
      (figure,) = clients.draw_spread(frames, name).values()
      (line,) = figure.axes[0].lines
      np.testing.assert_array_equal(line.get_ydata(), expected)
      np.testing.assert_allclose(line.get_xdata(), [0.125, 0.375, 0.625, 0.875])
      self.assertIn(f'worst tenth {expected[0]}.000', line.get_label())


class DrawOwnSpreadTest(parameterized.TestCase):
  @parameterized.parameters(
    ('new_global', ['global model', 'own models'], [[0.1, 0.2], [0.3, 0.6]]),
    ('new_fine_tuned', ['after fine-tuning'] * 2, [[0.7, 0.8], [0.4, 0.5]]),
  )
  def test_each_method_has_the_model_that_it_promises(
    self, judged_by, models, expected
  ):
    first, other = (
      dataclasses.replace(fake_runs.make_run(seed=seed), judged_by=judged_by)
      for seed in (0, 1)
    )
    frames = fake_runs.named(
      {'FedAvg': [first, other], 'Ditto': [first], 'FedFish': [first]}
    )
    rows = {
      (0, 'a'): {'own_global': 0.2, 'own_fine_tuned': 0.7},
      (1, 'b'): {'own_global': 0.1, 'own_fine_tuned': 0.8},
      (2, 'a'): {'own_global': 0.2, 'own': 0.6, 'own_fine_tuned': 0.5},
      (2, 'b'): {'own_global': 0.1, 'own': 0.3, 'own_fine_tuned': 0.4},
      (2, 'c'): dict.fromkeys(('own_global', 'own', 'own_fine_tuned'), np.inf),
    }
    table = pd.DataFrame(
      list(rows.values()),
      index=pd.MultiIndex.from_tuples(rows, names=['run', 'client']),
    ).add_suffix('/accuracy')
    frames = dataclasses.replace(frames, own_clients=table)
    metric = 'eval/new_global/accuracy'
    ((name, figure),) = clients.draw_own_spread(frames, metric).items()
    self.assertIn(name, catalogue.name_figures(metric))
    lines = figure.axes[0].get_lines()
    np.testing.assert_allclose([line.get_ydata() for line in lines], expected)
    legend = [
      text.get_text().replace('\n', ' ')
      for of in figure.legends
      for text in (of.get_title(), *of.get_texts())
    ]
    for name, model in zip(('FedAvg', 'Ditto'), models):
      self.assertTrue(
        any(text.startswith(f'{name}, {model}: mean') for text in legend),
        legend,
      )
    told = ' '.join(legend)
    self.assertIn('Ditto: 1 of 3 clients have diverged', told)
    self.assertIn('1 to 2 seeds: their clients are one set', told)
    self.assertIn('Not drawn, without these scores: FedFish.', told)

  def test_without_own_test_data_there_is_none(self):
    frames = fake_runs.named({'FedAvg': [fake_runs.make_run()]})
    self.assertEmpty(clients.draw_own_spread(frames, 'eval/global/accuracy'))


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
    self.assertEqual(figure.axes[-1].get_ylabel(), 'Round')
    # The method on the x axis is lower above the line.
    positions = {text.get_text(): text.get_position() for text in axis.texts}
    x, y = positions['lower for FedFish']
    self.assertGreater(y, x)
    x, y = positions['lower for FedAvg']
    self.assertLess(y, x)

  def test_a_method_without_barriers_is_named(self):
    runs = [fake_runs.make_run(a) for a in ('fed_avg', 'fed_fish', 'scaffold')]
    del runs[-1].columns['csb/accuracy']
    runs[1] = dataclasses.replace(runs[1], diverged_round=6)
    (figure,) = barrier.draw(fake_runs.frames(runs), 'csb/accuracy').values()
    note = ' '.join(figure.legends[0].get_title().get_text().split())
    self.assertEndsWith(
      note,
      'Diverged in round 6: FedFish. Not drawn, without a barrier or a baseline: '
      'SCAFFOLD.',
    )

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
    scores = [s._replace(high=s.mean + 0.02) for s in run.transfer]
    scores.sort(key=lambda s: -s.round)
    figures = transfer.plot_workdir_transfer(scores, 'c4')
    self.assertEqual(
      list(figures), ['transfer_accuracy', 'transfer_perplexity']
    )
    figure = figures['transfer_accuracy']
    self.assertIn('95 % intervals', figure.get_suptitle().replace('\n', ' '))
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
        np.array(ends, float), ys[:, None] + [[-0.01, 0.02]]
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
    figure = figures['transfer_accuracy']
    self.assertNotIn('intervals', figure.get_suptitle())
    (axis,) = figure.axes
    self.assertLen(axis.containers, 1)

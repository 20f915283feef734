# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of choosing the plots of a sweep."""

import contextlib
import io
import math

from launch.configs import sweeps
from launch.plots import sweep_plots
from launch.results import column_titles
from tests.launch.sweeps import fake_sweeps

from absl.testing import parameterized
import numpy as np
import pandas as pd


class SweepPlotsTest(parameterized.TestCase):
  def _compare(self, runs, values):
    """Returns the number of compared workdirs by setting."""
    _, found = fake_sweeps.write_results(self, runs, values)
    comparisons = sweep_plots.find_comparisons(found)
    return {setting: len(of) for setting, of in comparisons.items()}

  def test_a_grid_of_rates_has_heat_maps(self):
    runs = fake_sweeps.grid(
      ['fed_avg', 'fed_fish'],
      local_epochs=(1, 8),
      client_learning_rate=(0.1, 1.0),
      server_learning_rate=(0.1, 1.0),
    )
    folder, found = fake_sweeps.write_results(
      self, runs, [i / 16 for i in range(15)]
    )
    figures = sweep_plots.draw_heat_maps(found)
    names = [f'learning_rates_{n}' for n in ('1_local_epoch', '8_local_epochs')]
    self.assertEqual(list(figures), names)
    for name, blank, first, second in (
      (names[0], 0, [0, 1, 2, 3], [8, 9, 10, 11]),
      # The run that is not finished is blank.
      (names[1], 1, [4, 5, 6, 7], [12, 13, 14, 15]),
    ):
      for axis, variant, values in zip(
        figures[name].axes, ('FedAvg', 'FedFish'), (first, second)
      ):
        self.assertEqual(axis.get_title('left'), variant)
        table = axis.images[0].get_array()
        np.testing.assert_allclose(
          table.compressed(), np.array(values[: table.count()]) / 16
        )
      self.assertEqual(table.mask.sum(), blank)
      note = figures[name].legends[0].get_title().get_text()
      told = '1 of 8 runs is not finished, so without results: FedFish'
      self.assertEqual(told in ' '.join(note.split()), blank > 0)
    with contextlib.redirect_stdout(io.StringIO()):
      drawn = sweep_plots.draw(folder, found)
    self.assertEqual(
      list(drawn), [folder.plots_path / f'{name}.png' for name in names]
    )

  @parameterized.named_parameters(
    (
      'methods_in_each_setting',
      {'local_epochs': (1, 8), 'seed': (0, 1)},
      {'1 local epoch': 4, '8 local epochs': 3},
    ),
    ('methods_of_one_setting', {'seed': (0, 1)}, {'': 4}),
    (
      'methods_at_each_of_one_rate',
      {'client_learning_rate': (0.1, 1.0)},
      {'client learning rate 0.1': 2, 'client learning rate 1.0': 2},
    ),
  )
  def test_other_sweeps_compare(self, fields, expected):
    runs = fake_sweeps.grid(['fed_avg', 'fed_fish'], **fields)
    # The last of eight runs is not finished.
    self.assertEqual(self._compare(runs, [0.5] * min(7, len(runs))), expected)

  def test_shares_that_are_sent_are_methods(self):
    full, parts = 'fed_avg', 'fed_avg,exchange=partial'
    runs = fake_sweeps.plan(
      [
        *sweeps.grid([full], {'local_epochs': (1, 8)}),
        *sweeps.grid(
          [parts], {'local_epochs': (1, 8), 'exchange.share': (0.1, 0.3)}
        ),
      ]
    )
    self.assertEqual(
      self._compare(runs, [0.5] * 6), {'1 local epoch': 3, '8 local epochs': 3}
    )

  def test_tuned_rates_do_not_part_methods(self):
    runs = fake_sweeps.plan(
      [
        sweeps.Run(
          variant,
          {
            'local_epochs': epochs,
            'client_learning_rate': rate,
            'server_learning_rate': 10 * rate,
          },
        )
        for variant, epochs, rate in (
          ('fed_avg', 1, 0.1),
          ('fed_avg', 8, 0.05),
          ('fed_fish', 1, 0.5),
          ('fed_fish', 8, 0.05),
        )
      ]
    )
    self.assertEqual(
      self._compare(runs, [0.5] * 4), {'1 local epoch': 2, '8 local epochs': 2}
    )

  def test_nothing_to_draw(self):
    runs = fake_sweeps.grid(['fed_avg'], seed=(0, 1))
    self.assertEmpty(
      sweep_plots.draw(*fake_sweeps.write_results(self, runs, []))
    )


class HeatMapTest(parameterized.TestCase):
  @parameterized.parameters(
    (True, '0.900', 'global'), (False, '0.100', 'personalized')
  )
  def test_draws(self, higher_is_better, best, group):
    values = {
      ('fed_avg', 0.1, 1.0): 0.1,
      ('fed_avg', 0.1, 0.5): 0.9,
      ('fed_avg', 0.01, 1.0): math.nan,
      ('fed_fish', 0.01, 0.5): 0.5,
    }
    figure = sweep_plots.plot_heat_map(
      pd.Series(values),
      columns={
        'fed_avg': 'validation/global/accuracy',
        'fed_fish': f'validation/{group}/accuracy',
      },
      higher_is_better=higher_is_better,
      title='Scores',
    )
    first, second, bar = figure.axes
    self.assertEqual(first.get_title(loc='left'), 'fed_avg')
    # The bar, or else each panel, tells what is scored.
    title = column_titles.title('validation/global/accuracy')
    own = [text.get_text().replace('\n', ' ') for text in first.texts]
    self.assertEqual(bar.get_ylabel() == title, group == 'global')
    self.assertEqual(title in own, group != 'global')
    # Rows are client rates, columns server rates, both rising.
    table = np.ma.filled(first.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(table, [[np.nan, np.nan], [0.9, 0.1]])
    # Colours end where four of five losses lie below.
    norm, most = first.images[0].norm, 0.9 if higher_is_better else 0.74
    np.testing.assert_allclose([norm.vmin, norm.vmax], [0.1, most])
    names = [
      [tick.get_text() for tick in ticks]
      for ticks in (second.get_xticklabels(), first.get_yticklabels())
    ]
    self.assertEqual(names, [['0.5', '1'], ['0.01', '0.1']])
    places = {t.get_text(): t.get_position() for t in first.texts}
    self.assertContainsSubset(['0.900', '0.100'], places)
    (frame,) = first.patches
    np.testing.assert_allclose(frame.get_center(), places[best])
    figure.draw_without_rendering()

  def test_nothing_finite(self):
    figure = sweep_plots.plot_heat_map(
      pd.Series({('fed_avg', 0.1, 1.0): math.nan}),
      columns={'fed_avg': 'validation/global/loss'},
      higher_is_better=False,
      title='Nothing',
    )
    figure.draw_without_rendering()
    self.assertEmpty(figure.axes[0].texts)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the tables and figures of the comparison, on synthetic runs."""

import itertools
import pathlib
from unittest import mock

from fedfish_tff import errors
from launch.plots import style
from research.equal_terms import figures
from research.equal_terms import ranks
from research.equal_terms import tables
from tests import repository
from tests.launch import binary_runner
from tests.launch import drawn_figures

from absl.testing import absltest
import numpy as np
import pandas as pd
from scipy import stats

report = binary_runner.load('research.equal_terms.report')
_SEEDS = range(8)
_METHODS = {'FedFish': 0.9, 'FedAvg': 0.8, 'SCAFFOLD': 0.6}
_MEGABYTES = {'FedFish': 3.0, 'FedAvg': 2.0, 'SCAFFOLD': 4.0}


def _runs(question='global'):
  """Returns runs whose order is the same with each seed, and their rounds."""
  noise = np.random.default_rng(0).uniform(0, 0.05, len(_SEEDS))
  runs, rounds = [], []
  for method, level in _METHODS.items():
    for seed in _SEEDS:
      key = dict(task='t', question=question, method=method, seed=seed)
      score = level + noise[seed]
      costs = dict(bytes=1e6 * _MEGABYTES[method], steps=50, seconds=9.0)
      runs.append(
        key
        | dict(settings='rate 0.1', score=score, worst_tenth=score - 0.1)
        | dict(client_std=0.2, new_clients=score, one_model=score)
        | dict(variant=method.lower(), fine_tuning_rates='0.1, 0.2')
        | costs
      )
      for part in (1, 2, 4):
        rounds.append(
          key
          | dict(round=part, score=level * part / 4)
          | {name: value * part / 4 for name, value in costs.items()}
        )
  return pd.DataFrame(runs), pd.DataFrame(rounds)


class DescribeTest(absltest.TestCase):
  def test_equal_orders(self):
    runs, rounds = _runs()
    table, test, target = tables.describe(runs, rounds)
    self.assertEqual(list(table.index), list(_METHODS))
    self.assertEqual(list(table['rank']), [1, 2, 3])
    self.assertEqual(test.num_blocks, 8)
    # A rank of one beside the control, of an error of sqrt(3 * 4 / (6 * 8)).
    p = 2 * stats.norm.sf(2.0)
    np.testing.assert_allclose(
      table['p_holm'][['FedFish', 'SCAFFOLD']], [2 * p, 2 * p]
    )
    np.testing.assert_allclose(
      table['difference'].astype(float), [0.1, 0, -0.2], atol=1e-12
    )
    scores = runs.groupby('method')['score']
    np.testing.assert_allclose(
      table['mean'].astype(float), scores.mean()[table.index]
    )
    self.assertEqual(list(table['n']), [8, 8, 8])
    # Two of the three reach 0.8, FedFish with 4 rounds of 4.
    self.assertAlmostEqual(target, 0.8)
    np.testing.assert_array_equal(table['to_round'], [4, 4, np.nan])
    np.testing.assert_array_equal(table['to_bytes'], [3e6, 2e6, np.nan])

  def test_a_seed_that_has_stopped_is_no_mean_of_the_others(self):
    runs, rounds = _runs()
    stopped = rounds.query('method != "FedFish" or seed != 3 or round < 4')
    table, _, target = tables.describe(runs, stopped)
    self.assertTrue(np.isnan(table['to_round']['FedFish']))
    self.assertAlmostEqual(target, 0.6)

  def test_verdicts_need_a_corrected_p_below_the_level(self):
    table, *_ = tables.describe(*_runs())
    words = [tables.verdict(row) for _, row in table.iterrows()]
    # 2 * 2 * P(Z > 2) is 0.091.
    self.assertEqual(words, ['undecided', 'baseline', 'undecided'])
    table['p_holm'] /= 2
    words = [tables.verdict(row) for _, row in table.iterrows()]
    self.assertEqual(words, ['better', 'baseline', 'worse'])

  def test_a_diverged_run_ranks_last_and_is_told(self):
    runs, rounds = _runs()
    runs.loc[(runs['method'] == 'FedFish') & (runs['seed'] == 0), 'score'] = (
      np.nan
    )
    # It has ended after the first evaluation.
    rounds = rounds.query('method != "FedFish" or seed != 0 or round == 1')
    _, test, _ = tables.describe(runs, rounds)
    self.assertAlmostEqual(test.ranks['FedFish'], (7 * 1 + 3) / 8)
    page = tables.format_section(runs, rounds, title='t')
    self.assertRegex(page, r'FedFish .*1 diverged')
    self.assertRegex(page, r'FedFish +\| diverged \|')
    # Of costs, and of leads by round.
    self.assertRegex(page, r'FedFish .*\| not in all seeds')
    self.assertRegex(page, r'FedFish .*\+0.100, 7 of 7')
    self.assertEqual(page.count('Means of FedFish leave out runs that'), 2)

  def test_leads_by_round(self):
    runs, rounds = _runs()
    # After half of its rounds, FedFish is ahead in all seeds but one.
    is_behind = rounds.eval('method == "FedFish" and seed == 3 and round == 2')
    rounds.loc[is_behind, 'score'] -= 0.1
    # An asynchronous method, whose rounds have fewer answers.
    other = rounds[rounds['method'] == 'SCAFFOLD']
    rounds = pd.concat(
      [rounds, other.assign(method='FedBuff', round=other['round'] * 2)]
    )
    leads = tables.find_leads(rounds)
    self.assertEqual(set(leads), {'FedFish', 'SCAFFOLD'})
    self.assertEqual(list(leads['FedFish']), [1, 2, 4])
    for number, mean, wins in ((1, 0.025, 8), (2, 0.0375, 7), (4, 0.1, 8)):
      lead = leads['FedFish'][number]
      self.assertAlmostEqual(lead.mean, mean)
      self.assertEqual((lead.wins, lead.n), (wins, 8))
    # All 2^8 flips of signs, and two of them as extreme.
    self.assertAlmostEqual(leads['FedFish'][4].p, 2 / 2**8)
    more = runs[runs['method'] == 'SCAFFOLD'].assign(method='FedBuff')
    page = tables.format_section(pd.concat([runs, more]), rounds, title='t')
    self.assertRegex(page, r'FedFish +\| +\+0\.025, 8 of 8, p = 0\.0078 \|')
    self.assertIn('Without FedBuff, whose rounds are others', page)
    # No other method has the rounds of FedAvg, so there is nothing to compare.
    is_avg = rounds['method'] == 'FedAvg'
    rounds.loc[is_avg, 'round'] *= 3
    page = tables.format_section(runs, rounds, title='t')
    self.assertNotIn('t: leads by round', page)

  def test_leads_at_the_end_of_a_faster_method(self):
    runs, rounds = _runs()
    # FedAvg has 0.2, 0.4 and 0.8 after 2.25, 4.5 and 9 seconds, and FedFish 0.225,
    # 0.45 and 0.9; SCAFFOLD ends with 0.6.
    for share, of_avg, of_fish in ((0.5, 0.4, 0.45), (0.51, 0.8, 0.9)):
      both = runs.copy(), rounds.copy()
      for table in both:
        table.loc[table['method'] == 'SCAFFOLD', 'seconds'] *= share
      described, *_ = tables.describe(*both)
      leads = tables.find_time_leads(described, both[1])
      self.assertEqual(list(leads), ['SCAFFOLD'])
      self.assertEqual(list(leads['SCAFFOLD']), ['FedAvg', 'FedFish'])
      found = [lead.mean for lead in leads['SCAFFOLD'].values()]
      np.testing.assert_allclose(found, [0.6 - of_avg, 0.6 - of_fish])
      told = [
        f'{0.6 - other:+.3f}, {8 if other < 0.6 else 0} of 8, p = 0.0078'
        for other in (of_avg, of_fish)
      ]
      page = tables.format_section(*both, title='t')
      self.assertIn(
        ['SCAFFOLD', f'{9 * share:.3g}', *told], _tables_in(page)[-2]
      )
    # Runs that have diverged: before the end, before the last evaluation, and
    # before the end of the faster one.
    last, seed = rounds['round'] == 4, rounds['seed']
    is_scaffold = rounds['method'] == 'SCAFFOLD'
    rounds.loc[is_scaffold, 'seconds'] *= 0.5
    rounds.loc[is_scaffold & last & (seed == 0), 'score'] = np.nan
    cut = is_scaffold & last & (seed == 1)
    cut |= (rounds['method'] == 'FedAvg') & ~(rounds['round'] < 2) & (seed == 2)
    leads = tables.find_time_leads(described, rounds[~cut])['SCAFFOLD']
    self.assertEqual([lead.n for lead in leads.values()], [5, 6])
    np.testing.assert_allclose(leads['FedAvg'].mean, 0.6 - 0.4)
    page = tables.format_section(*_runs(), title='t')
    self.assertNotIn('leads by time', page)

  def test_ranks_beyond_the_critical_difference(self):
    runs, rounds = _runs()
    page = tables.format_section(runs, rounds, title='t')
    # 2.343 * sqrt(3 * 4 / (6 * 8)) with Demsar's table 5.
    self.assertIn('critical difference is 1.17', page)
    self.assertRegex(page, r'FedFish +\| 1\.00 +\| SCAFFOLD')
    self.assertRegex(page, r'FedAvg +\| 2\.00 +\| none')

  def test_costs_have_three_digits_or_are_integers_or_unknown(self):
    runs, rounds = _runs()
    for table in (runs, rounds):
      table.loc[table['method'] == 'FedFish', 'seconds'] = np.nan
    steps = {'FedFish': 999.7, 'FedAvg': 99.96, 'SCAFFOLD': 12345.6}
    runs['steps'] = runs['method'].map(steps)
    page = tables.format_section(runs, rounds, title='t')
    self.assertEqual(
      [row[3:] for row in _tables_in(page)[1][1:]],
      [
        ['1000', 'unknown', '4', '3', 'unknown'],
        ['100', '9', '4', '2', '9'],
        ['12346', '9', 'never', 'never', 'never'],
      ],
    )

  def test_fine_tuning_by_the_same_candidates(self):
    runs, rounds = _runs('personal')
    is_fish = runs['method'] == 'FedFish'
    page = tables.format_section(runs, rounds, title='t')
    self.assertIn('is that of 0.1, 0.2 which is best on validation cl', page)
    runs.loc[is_fish, 'fine_tuning_rates'] = np.nan
    page = tables.format_section(runs, rounds, title='t')
    self.assertIn('clients, but for FedFish, whose own field it is.', page)
    # One seed is enough.
    runs.loc[is_fish, 'fine_tuning_rates'] = '0.1, 0.2'
    runs.loc[is_fish & (runs['seed'] == 3), 'fine_tuning_rates'] = '0.1'
    with self.assertRaisesRegex(
      errors.InputError, 'got 0.1, 0.2 of FedFish; 0.1 of FedFish'
    ):
      tables.format_section(runs, rounds, title='t')

  def test_a_method_without_a_seed_and_no_baseline_are_refused(self):
    runs, rounds = _runs()
    with self.assertRaisesRegex(errors.InputError, 'FedFish'):
      tables.describe(runs[1:], rounds)
    with self.assertRaisesRegex(errors.InputError, "The baseline .*'FedAvg'"):
      tables.describe(runs[runs['method'] != 'FedAvg'], rounds)


def _tables_in(text):
  """Returns the rows of each table of a text in Markdown, as stripped cells."""
  groups = itertools.groupby(text.splitlines(), lambda s: s.startswith('|'))
  return [
    [
      [cell.strip() for cell in line.strip('|').split('|')]
      for line in lines
      if not set(line) <= set('|-: ')
    ]
    for is_table, lines in groups
    if is_table
  ]


class PageTest(absltest.TestCase):
  def test_the_page_has_the_scores_and_costs_of_all_that_was_measured(self):
    raw = [
      pd.read_csv(repository.ROOT / f'docs/results/equal_terms_{name}.csv')
      for name in ('runs', 'rounds')
    ]
    runs, rounds = (frame.groupby(tables.SECTION, sort=False) for frame in raw)
    expected = []
    for key, of in runs:
      section = tables.format_section(of, rounds.get_group(key), title='t')
      expected += _tables_in(section)[:2]
    for _, asked in raw[0].groupby('question'):
      for tasks in tables.tasks_to_join(asked):
        of = asked[asked['task'].isin(tasks)]
        test = ranks.rank(tables.join_tasks(of))
        expected += _tables_in(tables.format_joined(of, test, title='t'))
    page = (repository.ROOT / 'docs/equal_terms.md').read_text()
    self.assertCountEqual(_tables_in(page), expected)


class JoinTasksTest(absltest.TestCase):
  def _join(self, *titles):
    runs, _ = _runs()
    tasks = [
      runs.assign(task=f't{i}').replace({'method': {'SCAFFOLD': title}})
      for i, title in enumerate(titles)
    ]
    two = runs[runs['method'] != 'SCAFFOLD'].assign(task='two')
    return pd.concat([*tasks, two])

  def test_a_method_of_other_values_in_each_task_is_named_without_them(self):
    runs = self._join('Damped, fast, by 0.1', 'Damped, fast, by 0.01')
    most, every = tables.tasks_to_join(runs)
    self.assertEqual((most, every), (['t0', 't1'], ['t0', 't1', 'two']))
    of_all = tables.join_tasks(runs)
    self.assertCountEqual(of_all, ['FedAvg', 'FedFish'])
    self.assertLen(of_all, 3 * len(_SEEDS))
    runs = runs[runs['task'].isin(most)]
    scores = tables.join_tasks(runs)
    self.assertCountEqual(scores, ['FedAvg', 'FedFish', 'Damped, fast'])
    self.assertLen(scores, 2 * len(_SEEDS))
    test = ranks.rank(scores)
    page = tables.format_joined(runs, test, title='t')
    self.assertIn('16 seeds of t0; t1.', page)
    # With equal orders: one rank, and an error of sqrt(3 * 4 / (6 * 16)).
    p = f'{2 * 2 * stats.norm.sf(8**0.5):.2g}'
    self.assertIn(['FedFish', '1.00', p, 'better'], _tables_in(page)[0])

  def test_a_method_that_lacks_a_task_is_named(self):
    runs = self._join('SCAFFOLD', 'SCAFFOLD')
    runs = runs[runs['task'] != 'two']
    more = runs[(runs['task'] == 't0') & (runs['method'] == 'FedFish')]
    runs = pd.concat([runs, more.assign(method='FedCM', variant='fed_cm')])
    scores = tables.join_tasks(runs)
    self.assertNotIn('FedCM', scores)
    page = tables.format_joined(runs, ranks.rank(scores), title='t')
    self.assertIn('Not measured on each of these: FedCM.', page)

  def test_tasks_that_share_the_baseline_alone_are_not_joined(self):
    runs = self._join('SCAFFOLD', 'SCAFFOLD')
    self.assertEmpty(tables.tasks_to_join(runs[runs['task'] == 't0']))
    is_shared = (runs['task'] != 'two') | (runs['method'] == 'FedAvg')
    self.assertEqual(tables.tasks_to_join(runs[is_shared]), [['t0', 't1']])

  def test_each_set_of_common_methods_has_all_of_its_tasks(self):
    """With 3, 2, 3 and 4 methods, three tasks share 3, and all share 2."""
    runs = self._join('SCAFFOLD', 'SCAFFOLD', 'SCAFFOLD')
    more = runs[(runs['task'] == 't2') & (runs['method'] == 'FedFish')]
    runs = pd.concat([runs, more.assign(method='FedCM', variant='fed_cm')])
    self.assertEqual(
      tables.tasks_to_join(runs),
      [['t2', 't0', 't1'], ['t2', 't0', 't1', 'two']],
    )


class FrontTest(absltest.TestCase):
  def test_methods_that_no_other_beats(self):
    points = pd.DataFrame(
      {
        'cost': [1, 2, 2, 3, 3, 4, np.nan],
        'score': [0.5, 0.5, 0.7, 0.6, 0.7, 0.9, 1.0],
      },
      list('abcdefg'),
    )
    found = figures.front(points['cost'], points['score'])
    # By the definition, pair by pair.
    known = points.dropna()
    expected = [
      one
      for one, (cost, score) in known.iterrows()
      if not any(
        (c <= cost and s >= score) and (c, s) != (cost, score)
        for c, s in known.to_numpy()
      )
    ]
    self.assertEqual(found, expected)
    self.assertEqual(found, ['a', 'c', 'f'])


class SpreadTest(absltest.TestCase):
  def test_names_keep_their_order_and_distance(self):
    values = pd.Series([0.95, 0.2, 0.97, 0.21, 0.96, 0.5], list('abcdef'))
    found = figures.spread(values, 0.1)
    np.testing.assert_allclose(found, [0.8, 0.2, 1.0, 0.3, 0.9, 0.5])
    self.assertEqual(list(found.index), list(values.index))


class DrawTest(absltest.TestCase):
  def _axes(self, figure):
    drawn_figures.check_fits(self, figure)
    return figure.axes

  def _texts(self, axis):
    return [text.get_text() for text in axis.texts]

  def test_ranks_and_bars_of_undecided_methods(self):
    _, test, _ = tables.describe(*_runs())
    (axis,) = self._axes(figures.draw_ranks({'t': test}))
    places = axis.collections[0].get_offsets().tolist()
    self.assertEqual(places, [[1, 0], [2, 1], [3, 2]])
    names = [label.get_text() for label in axis.get_yticklabels()]
    self.assertEqual(names, list(_METHODS))
    self.assertEqual(axis.get_xticks().tolist(), [1, 2, 3])
    low, high = axis.get_ylim()
    self.assertGreater(low, high, 'The best method is at the top.')
    bars = [line.get_ydata().tolist() for line in axis.lines]
    # FedAvg is within 1.17 of both others, and they are not of each other.
    self.assertEqual(bars, [[0, 1], [1, 2], [-0.9, -0.9]])
    np.testing.assert_allclose(axis.lines[-1].get_xdata(), [1, 2.17], atol=0.01)

  def test_costs_so_far_and_methods_that_no_other_beats(self):
    _, rounds = _runs()
    first = rounds['round'] == 1
    # All share the point before training.
    start = rounds[first].assign(round=0, bytes=0.0, seconds=0.0, score=0.1)
    rounds.loc[first & (rounds['method'] == 'SCAFFOLD'), 'bytes'] = 1e5
    rounds = pd.concat([start, rounds])
    axis, seconds = self._axes(figures.draw_costs({'t': rounds}))
    self.assertEqual(seconds.get_xlabel(), 'Simulated seconds')
    np.testing.assert_allclose(
      axis.lines[1].get_xydata(),
      [[0, 0.1], [0.75, 0.225], [1.5, 0.45], [3, 0.9]],
    )
    self.assertEqual(self._texts(axis), sorted(_METHODS))
    # SCAFFOLD begins with the fewest bytes, and time is equal for all.
    is_pale = [
      [line.get_color() == style.PALE for line in of.lines]
      for of in (axis, seconds)
    ]
    self.assertEqual(is_pale, [[False, False, False], [True, False, True]])

  def test_a_method_has_one_look_and_the_end_of_its_line_is_told(self):
    _, rounds = _runs()
    # The name of a method has its tuned values, which differ between tasks.
    valued = rounds.replace({'method': {'FedFish': 'FedFish, damping 0.1'}})
    ended = rounds.query('method != "SCAFFOLD" or seed != 0 or round == 1')
    figure = figures.draw_costs({'a': ended, 'b': valued})
    colors = [
      {line.get_color() for line in axis.lines if line.get_zorder() > 1}
      for axis in self._axes(figure)
    ]
    self.assertEqual(colors[1], colors[3])
    (legend,) = figure.legends
    told = ' '.join(legend.get_title().get_text().split())
    self.assertEndsWith(told, 'Lines end where a seed diverged: SCAFFOLD (a).')

  def test_personal_models_against_the_servers(self):
    runs, rounds = _runs('personal')
    runs['one_model'] /= 2
    table, *_ = tables.describe(runs, rounds)
    (axis,) = self._axes(figures.draw_personal({'t': table}))
    self.assertEqual(self._texts(axis), list(_METHODS))
    rows = [row for _, row in table.iterrows()]
    for container, row in zip(axis.containers, rows, strict=True):
      point, _, (bar,) = container.lines
      x = row['mean'] / 2
      np.testing.assert_allclose(point.get_xydata(), [[x, row['mean']]])
      (ends,) = bar.get_segments()
      np.testing.assert_allclose(ends, [[x, row['low']], [x, row['high']]])


class BinaryTest(absltest.TestCase):
  def test_pages_and_figures(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    sections = {
      # Nothing is tuned there.
      'u: one model': [f.assign(task='u', settings='') for f in _runs()],
      't: one model': _runs(),
      't: personal models': _runs('personal'),
    }
    for name, parts in zip(('runs', 'rounds'), zip(*sections.values())):
      pd.concat(parts).to_csv(folder / f'equal_terms_{name}.csv', index=False)
    with mock.patch.object(style, 'save_figure', autospec=True) as save:
      outcome = binary_runner.run_here(
        'research.equal_terms.report',
        f'--input_dir={folder}',
        f'--output_dir={folder}/report',
      )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    pages = {p.stem: p.read_text() for p in (folder / 'report').iterdir()}
    self.assertIn('2 tasks: one model', pages.pop('global_t_u'))
    names = ('global_u', 'global_t', 'personal_t')
    for name, (title, of) in zip(names, sections.items()):
      self.assertIn(pages[name], outcome.stdout)
      self.assertEqual(pages.pop(name), tables.format_section(*of, title=title))
    self.assertEmpty(pages)
    titles = {
      path.stem: [axis.get_title('left') for axis in figure.axes]
      for (figure, path), _ in save.call_args_list
    }
    one = {'ranks': list(sections), 'joint_ranks': ['2 tasks: one model']}
    one['costs'] = [title for title in sections for _ in range(2)]
    self.assertEqual(titles, {**one, 'personal_global': ['t: personal models']})

  def test_bad_arguments(self):
    folder = self.create_tempdir().full_path
    output = f'--output_dir={folder}/report'
    for message, *arguments in (
      ('equal_terms_runs.csv must be', output, f'--input_dir={folder}'),
      ('--output_dir is needed', f'--input_dir={folder}'),
      ("Unexpected argument 'runs'", output, 'runs'),
    ):
      outcome = binary_runner.run_here(
        'research.equal_terms.report', *arguments
      )
      self.assertEqual(outcome.code, 2)
      self.assertIn(message, outcome.stderr)


if __name__ == '__main__':
  absltest.main()

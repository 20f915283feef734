# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the catalogue of plots."""

import dataclasses
import pathlib
import warnings

from fedfish_tff import errors
from launch.plots import catalogue
from launch.results import run_reader
from tests.launch.results import fake_runs

from absl.testing import absltest
import numpy as np


def _groups(**kwargs):
  return run_reader.group_runs(
    [
      fake_runs.make_run(a, s, **kwargs)
      for a in ('fed_avg', 'fed_fish')
      for s in (0, 1)
    ]
  )


def _request(groups, metric='eval/global/accuracy', **kwargs):
  return catalogue.Request(groups, metric, **kwargs)


def _draw(plot, groups, **kwargs):
  return catalogue.draw(_request(groups, **kwargs), [plot])


class ChooseMetricTest(absltest.TestCase):
  def test_default(self):
    run = fake_runs.make_run()
    self.assertEqual(
      catalogue.choose_metric([run], None), 'eval/global/accuracy'
    )
    run.columns.pop('eval/global/accuracy')
    self.assertEqual(catalogue.choose_metric([run], None), 'train/loss')
    run.columns['eval/global/num_examples'] = run.columns['round']
    run.columns['eval/global/mse'] = run.columns['round']
    self.assertEqual(catalogue.choose_metric([run], None), 'eval/global/mse')

  def test_an_unknown_metric_lists_what_there_is(self):
    with self.assertRaisesRegex(errors.InputError, 'nothing.*csb/accuracy'):
      catalogue.choose_metric([fake_runs.make_run()], 'nothing')


class DrawTest(absltest.TestCase):
  def test_a_curve_for_each_x_axis_the_runs_have(self):
    figures = _draw(catalogue.draw_curves, _groups())
    self.assertEqual(
      list(figures),
      [
        f'eval_global_accuracy_by_{x}'
        for x in ('round', 'local_steps', 'bytes')
      ],
    )
    title = figures['eval_global_accuracy_by_round'].axes[0].get_title('left')
    self.assertEqual(
      title, 'Accuracy, global model on held-out clients (digits)'
    )
    groups = _groups()
    for runs in groups.values():
      for run in runs:
        del run.columns['communication/wire_bytes_total']
    figures = _draw(catalogue.draw_curves, groups)
    self.assertNotIn('eval_global_accuracy_by_bytes', figures)

  def test_barriers_are_paired_by_seed_and_round(self):
    ((name, figure),) = _draw(catalogue.draw_barriers, _groups()).items()
    self.assertEqual(name, 'barrier_accuracy_fedfish_fedavg')
    points = figure.axes[0].collections[0].get_offsets()
    self.assertLen(points, 2 * len(fake_runs.ROUNDS))
    np.testing.assert_allclose(points[:, 1] - points[:, 0], 0.1)

  def test_files_of_long_labels_have_short_names_of_their_own(self):
    long = 'FedFish, ' + 100 * 'a field and its value, '
    groups = dict(zip([f'{long}1', f'{long}2'], _groups().values()))
    (one,) = _draw(catalogue.draw_barriers, groups)
    groups = dict(zip([f'{long}1', f'{long}3'], _groups().values()))
    (other,) = _draw(catalogue.draw_barriers, groups)
    self.assertNotEqual(one, other)
    self.assertLess(len(one), 100)

  def test_many_methods_fit(self):
    algorithms = [f'a_rather_long_method_{i}' for i in range(8)]
    runs = [fake_runs.make_run(a, evaluated=True) for a in algorithms]
    groups = run_reader.group_runs(runs)
    figures = catalogue.draw(
      _request(groups, x_axes=['round']),
      [
        catalogue.draw_curves,
        catalogue.draw_personalization,
        catalogue.draw_client_spread,
      ],
    )
    for name, figure in figures.items():
      with self.subTest(name), warnings.catch_warnings():
        # Matplotlib warns where there is no room for the axes.
        warnings.simplefilter('error')
        figure.draw_without_rendering()
        bounds = figure.bbox
        texts = [text for key in figure.legends for text in key.get_texts()]
        for axis in figure.axes:
          texts += [axis.title, axis.xaxis.label, axis.yaxis.label]
          texts += axis.texts
        for text in texts:
          box = text.get_window_extent()
          self.assertGreaterEqual(box.x0, bounds.x0 - 1, text)
          self.assertLessEqual(box.x1, bounds.x1 + 1, text)

  def test_barriers_of_other_local_epochs_are_not_compared(self):
    runs = [fake_runs.make_setting_run(local_epochs=e) for e in (1, 8)]
    groups = run_reader.group_runs(runs)
    self.assertEmpty(_draw(catalogue.draw_barriers, groups))

  def test_one_method_has_no_barrier_plot(self):
    groups = run_reader.group_runs([fake_runs.make_run()])
    self.assertEmpty(_draw(catalogue.draw_barriers, groups))

  def test_clients_of_evaluated_runs(self):
    clients = [
      'personalization_accuracy',
      'few_shot_accuracy',
      'client_spread_accuracy',
    ]
    figures = catalogue.draw(_request(_groups(evaluated=True)))
    self.assertContainsSubset(clients, figures)
    # Five clients a seed; the sixth is too small to personalise.
    points = figures['personalization_accuracy'].axes[1].collections[0]
    self.assertLen(points.get_offsets(), 10)
    self.assertLen(
      figures['client_spread_accuracy'].axes[0].lines[0].get_xdata(), 12
    )
    figures = catalogue.draw(_request(_groups()))
    self.assertNoCommonElements(clients, figures)


class DrawExchangeTest(absltest.TestCase):
  def test_what_was_sent_after_the_initial_model(self):
    run = fake_runs.make_run()
    self.assertEmpty(_draw(catalogue.draw_exchange, {'a': [run]}))
    run.columns['aggregator/sent/dense/kernel'] = np.array([np.nan, 0.5, 1.0])
    run.columns['aggregator/sent/dense/bias'] = np.array([np.nan, 0.25, 0.0])
    for selection, what in (
      ('share', 'Share of the clients that sent it'),
      ('coordinates', 'Share of its weights that clients sent'),
    ):
      run.config['exchange'] = fake_runs.make_exchange(selection=selection)
      ((name, figure),) = _draw(catalogue.draw_exchange, {'a': [run]}).items()
      self.assertEqual(name, 'exchanged_tensors')
      axis, bar = figure.axes
      np.testing.assert_allclose(
        axis.images[0].get_array(), [[0.5, 1], [0.25, 0]]
      )
      self.assertEqual(
        [tick.get_text() for tick in axis.get_yticklabels()],
        ['dense/kernel', 'dense/bias'],
      )
      self.assertEqual(bar.get_ylabel(), what)

  def test_classes_of_a_finished_run(self):
    run = fake_runs.make_run()
    self.assertEmpty(_draw(catalogue.draw_confusion, {'a': [run]}))
    values = {
      f'test/global/confusion_{one}_as_{other}': 1.0
      for one in ('a', 'b')
      for other in ('a', 'b')
    }
    run = dataclasses.replace(run, values=values)
    self.assertEqual(
      list(_draw(catalogue.draw_confusion, {'a': [run]})), ['confusion_matrix']
    )


class PlotWorkdirTest(absltest.TestCase):
  def test_it_fills_the_folder_of_plots(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    workdir = fake_runs.write_workdir(folder / 'w', evaluated=True)
    paths = catalogue.plot_workdir(workdir)
    self.assertContainsSubset(
      [
        'csb_accuracy_by_round.png',
        'eval_global_accuracy_by_bytes.png',
        'personalization_accuracy.png',
        'train_loss_by_round.png',
      ],
      [path.name for path in paths],
    )
    self.assertSameElements(paths, (workdir / 'plots').iterdir())

  def test_a_folder_that_cannot_be_made_is_named(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / 'plots').write_text('a file')
    with self.assertRaisesRegex(errors.InputError, 'Cannot write .*plots'):
      catalogue.write_figures({}, folder / 'plots')


if __name__ == '__main__':
  absltest.main()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the choice of plots."""

import dataclasses
import pathlib
import warnings

from fedfish_tff import errors
from launch.plots import curves
from launch.plots import run_plots
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


class ChooseMetricTest(absltest.TestCase):
  def test_default(self):
    run = fake_runs.make_run()
    self.assertEqual(
      run_plots.choose_metric([run], None), 'eval/global/accuracy'
    )
    run.columns.pop('eval/global/accuracy')
    self.assertEqual(run_plots.choose_metric([run], None), 'train/loss')
    run.columns['eval/global/num_examples'] = run.columns['round']
    run.columns['eval/global/mse'] = run.columns['round']
    self.assertEqual(run_plots.choose_metric([run], None), 'eval/global/mse')

  def test_an_unknown_metric_lists_what_there_is(self):
    with self.assertRaisesRegex(errors.InputError, 'nothing.*csb/accuracy'):
      run_plots.choose_metric([fake_runs.make_run()], 'nothing')


class DrawTest(absltest.TestCase):
  def test_a_curve_for_each_x_axis_the_runs_have(self):
    figures = run_plots.draw_curves(
      _groups(), 'eval/global/accuracy', list(curves.X_AXES)
    )
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
    figures = run_plots.draw_curves(
      groups, 'eval/global/accuracy', list(curves.X_AXES)
    )
    self.assertNotIn('eval_global_accuracy_by_bytes', figures)

  def test_barriers_are_paired_by_seed_and_round(self):
    ((name, figure),) = run_plots.draw_barriers(_groups(), 'accuracy').items()
    self.assertEqual(name, 'barrier_accuracy_fedfish_fedavg')
    points = figure.axes[0].collections[0].get_offsets()
    self.assertLen(points, 2 * len(fake_runs.ROUNDS))
    np.testing.assert_allclose(points[:, 1] - points[:, 0], 0.1)

  def test_files_of_long_labels_have_short_names_of_their_own(self):
    long = 'FedFish, ' + 100 * 'a field and its value, '
    groups = dict(zip([f'{long}1', f'{long}2'], _groups().values()))
    (one,) = run_plots.draw_barriers(groups, 'accuracy')
    groups = dict(zip([f'{long}1', f'{long}3'], _groups().values()))
    (other,) = run_plots.draw_barriers(groups, 'accuracy')
    self.assertNotEqual(one, other)
    self.assertLess(len(one), 100)

  def test_many_methods_fit(self):
    algorithms = [f'a_rather_long_method_{i}' for i in range(8)]
    runs = [fake_runs.make_run(a, evaluated=True) for a in algorithms]
    groups = run_reader.group_runs(runs)
    figures = run_plots.draw_clients(groups, 'accuracy')
    figures.update(
      run_plots.draw_curves(groups, 'eval/global/accuracy', ['round'])
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
    self.assertEmpty(run_plots.draw_barriers(groups, 'accuracy'))

  def test_one_method_has_no_barrier_plot(self):
    groups = run_reader.group_runs([fake_runs.make_run()])
    self.assertEmpty(run_plots.draw_barriers(groups, 'accuracy'))

  def test_clients_of_evaluated_runs(self):
    figures = run_plots.draw_clients(_groups(evaluated=True), 'accuracy')
    self.assertEqual(
      list(figures),
      [
        'personalization_accuracy',
        'few_shot_accuracy',
        'client_spread_accuracy',
      ],
    )
    # Five clients a seed; the sixth is too small to personalise.
    points = figures['personalization_accuracy'].axes[1].collections[0]
    self.assertLen(points.get_offsets(), 10)
    self.assertLen(
      figures['client_spread_accuracy'].axes[0].lines[0].get_xdata(), 12
    )
    self.assertEmpty(run_plots.draw_clients(_groups(), 'accuracy'))


class DrawExchangeTest(absltest.TestCase):
  def test_what_was_sent_after_the_initial_model(self):
    run = fake_runs.make_run()
    self.assertEmpty(run_plots.draw_exchange(run))
    run.columns['aggregator/sent/dense/kernel'] = np.array([np.nan, 0.5, 1.0])
    run.columns['aggregator/sent/dense/bias'] = np.array([np.nan, 0.25, 0.0])
    for selection, what in (
      ('share', 'Share of the clients that sent it'),
      ('coordinates', 'Share of its weights that clients sent'),
    ):
      run.config['exchange'] = fake_runs.make_exchange(selection=selection)
      ((name, figure),) = run_plots.draw_exchange(run).items()
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
    self.assertEmpty(run_plots.draw_confusion(run))
    test = {
      f'global/confusion_{one}_as_{other}': 1.0
      for one in ('a', 'b')
      for other in ('a', 'b')
    }
    run = dataclasses.replace(run, test=test)
    self.assertEqual(list(run_plots.draw_confusion(run)), ['confusion_matrix'])


class PlotWorkdirTest(absltest.TestCase):
  def test_it_fills_the_folder_of_plots(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    workdir = fake_runs.write_workdir(folder / 'w', evaluated=True)
    paths = run_plots.plot_workdir(workdir)
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
      run_plots.write_figures({}, folder / 'plots')


if __name__ == '__main__':
  absltest.main()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the plots of held-out clients."""

import dataclasses

from launch.plots import clients
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
    self.assertStartsWith(
      figure.legends[0].get_title().get_text(), '4 of 8 test clients per run.'
    )
    # A line a client, and their mean.
    lines = few_shot.axes[0].lines
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
    runs = {
      name: [dataclasses.replace(fake_runs.make_run(), judged_by=judged_by)]
      for name in ('FedAvg', 'Ditto')
    }
    frames = fake_runs.named(runs)
    rows = {
      ('FedAvg', 'a'): {'own_global': 0.2, 'own_fine_tuned': 0.7},
      ('FedAvg', 'b'): {'own_global': 0.1, 'own_fine_tuned': 0.8},
      ('Ditto', 'a'): {'own_global': 0.2, 'own': 0.6, 'own_fine_tuned': 0.5},
      ('Ditto', 'b'): {'own_global': 0.1, 'own': 0.3, 'own_fine_tuned': 0.4},
      ('Ditto', 'c'): dict.fromkeys(
        ('own_global', 'own', 'own_fine_tuned'), np.inf
      ),
    }
    index = {label: i for i, label in frames.runs['label'].items()}
    table = pd.DataFrame(
      list(rows.values()),
      index=pd.MultiIndex.from_tuples(
        [(index[label], client) for label, client in rows],
        names=['run', 'client'],
      ),
    ).add_suffix('/accuracy')
    frames = dataclasses.replace(frames, own_clients=table)
    (figure,) = clients.draw_own_spread(
      frames, 'eval/new_global/accuracy'
    ).values()
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
    self.assertIn('Ditto: 1 of 3 clients have diverged', ' '.join(legend))

  def test_without_own_test_data_there_is_none(self):
    frames = fake_runs.named({'FedAvg': [fake_runs.make_run()]})
    self.assertEmpty(clients.draw_own_spread(frames, 'eval/global/accuracy'))

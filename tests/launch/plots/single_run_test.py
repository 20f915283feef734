# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the plots of a single run."""

import dataclasses
import math

from launch.plots import single_run
from tests.launch.results import fake_runs

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np


def _frames(run=None):
  return fake_runs.named({'a': [run or fake_runs.make_run()]})


def _draw_shares(shares):
  """Draws what a run has sent in rounds 1, 2, ...; nothing at first."""
  run = fake_runs.make_run()
  rounds = np.arange(len(next(iter(shares.values()))) + 1.0)
  columns = {'round': rounds} | {
    f'aggregator/sent/{name}': np.append(np.nan, values)
    for name, values in shares.items()
  }
  run = dataclasses.replace(run, columns=columns)
  return single_run.draw_exchanged_tensors(_frames(run), 'train/loss')


def _draw_tensors(names, num_rounds=4):
  rng = np.random.default_rng(0)
  shares = {name: rng.random(num_rounds) for name in names}
  return shares, _draw_shares(shares)['exchanged_tensors']


def _labels(axis):
  return [tick.get_text() for tick in axis.get_yticklabels()]


def _transformer(num_layers):
  """Names of 201 tensors, with 12 layers."""
  names = [f'model/embeddings/part_{i}' for i in range(5)]
  for layer in range(num_layers):
    names += [f'model/layer_{layer}/attention/{i}' for i in range(10)]
    names += [f'model/layer_{layer}/dense/{i}' for i in range(6)]
  return [*names, *(f'classifier/{i}' for i in range(4))]


class ExchangedTensorsTest(parameterized.TestCase):
  def test_tensors_from_the_first_by_rounds(self):
    shares, figure = _draw_tensors(['a/kernel', 'a/bias'])
    axis, bar = figure.axes
    (image,) = axis.images
    np.testing.assert_allclose(
      image.get_array(), [shares['a/kernel'], shares['a/bias']]
    )
    self.assertEqual(_labels(axis), ['a/kernel', 'a/bias'])
    left, right, bottom, top = image.get_extent()
    self.assertEqual((left, right), (0.5, 4.5))
    # The first tensor is at the top.
    self.assertGreater(bottom, top)
    self.assertEqual(bar.get_ylabel(), 'Share of its weights that clients sent')

  def test_runs_that_send_everything_have_no_figure(self):
    frames = _frames()
    self.assertEmpty(single_run.draw_exchanged_tensors(frames, 'train/loss'))

  @parameterized.parameters(46, 300)
  def test_names_of_many_tensors_have_room(self, number):
    names = _transformer(20)[:number]
    _, figure = _draw_tensors(names)
    figure.draw_without_rendering()
    boxes = [
      tick.get_window_extent() for tick in figure.axes[0].get_yticklabels()
    ]
    self.assertGreater(len(boxes), 3)
    for one, other in zip(boxes, boxes[1:]):
      self.assertFalse(one.overlaps(other))

  def test_parts_are_as_small_as_there_is_room_for(self):
    _, figure = _draw_tensors(_transformer(12))
    self.assertEqual(
      _labels(figure.axes[0]),
      [
        'model/embeddings',
        *(
          f'model/layer_{i}/{part}'
          for i in range(12)
          for part in ('attention', 'dense')
        ),
        'classifier',
      ],
    )

  def test_names_without_parts(self):
    _, figure = _draw_tensors([f'{i}_8x8' for i in range(150)])
    labels = _labels(figure.axes[0])
    self.assertBetween(len(labels), 20, 75)
    self.assertEqual(labels[0], '0_8x8')

  def test_many_rounds_are_averaged(self):
    shares = {'a': np.array([0.0, 1.0] * 600), 'b': np.zeros(1200)}
    shares['a'][:6] = np.nan
    figure = _draw_shares(shares)['exchanged_tensors']
    table = np.ma.filled(figure.axes[0].images[0].get_array(), np.nan)
    self.assertEqual(table.shape, (2, 400))
    self.assertTrue(np.isnan(table[0, :2]).all())
    # Every three: 0, 1, 0 and 1, 0, 1 in turns.
    np.testing.assert_allclose(table[0, 2:4], [1 / 3, 2 / 3])
    self.assertEqual(figure.axes[0].images[0].get_extent()[1], 1200.5)


def _draw_units(run):
  return single_run.draw_matched_units(_frames(run), 'loss')


class MatchedUnitsTest(absltest.TestCase):
  def test_units_of_several_clients_and_of_one_by_layer_and_round(self):
    run = fake_runs.make_run()
    self.assertEmpty(_draw_units(run))
    counts = {'layer_0': ([59, 61], [4, 9]), 'layer_1': ([20, 20], [0, 1])}
    columns = {'round': np.arange(3.0)}
    for layer, (units, alone) in counts.items():
      # The initial model is nobody's.
      columns[f'fed_ma/{layer}/units'] = np.array([np.nan, *units])
      columns[f'fed_ma/{layer}/of_one_client'] = np.array([np.nan, *alone])
    empty = {name: np.isnan(values) for name, values in columns.items()}
    run = dataclasses.replace(run, columns=columns, empty=empty)
    figure = _draw_units(run)['matched_units']
    for axis, (units, alone) in zip(figure.axes, counts.values(), strict=True):
      several, one = axis.containers
      shared = np.subtract(units, alone)
      for bars, low, high in (
        (several, 0 * shared, shared),
        (one, shared, units),
      ):
        self.assertEqual([bar.get_x() + 0.4 for bar in bars], [1, 2])
        np.testing.assert_array_equal([bar.get_y() for bar in bars], low)
        np.testing.assert_array_equal(
          [bar.get_y() + bar.get_height() for bar in bars], high
        )


def _scores(table, names, prefix='test/global/'):
  return {
    f'{prefix}confusion_{one}_as_{other}': float(table[i][j])
    for i, one in enumerate(names)
    for j, other in enumerate(names)
  }


def _draw_classes(table, names):
  values = {'test/global/accuracy': 0.5, **_scores(table, names)}
  values |= _scores(np.ones_like(table), names, 'other/')
  run = dataclasses.replace(fake_runs.make_run(), values=values)
  return single_run.draw_confusion_matrix(_frames(run), 'train/loss')


class ConfusionMatrixTest(absltest.TestCase):
  def test_reads_nothing_where_something_is_missing(self):
    scores = _scores([[3, 1], [0, 8]], ['a', 'b'])
    self.assertIsNone(single_run.read_confusion({}))
    self.assertIsNone(
      single_run.read_confusion(
        {**scores, 'test/global/confusion_a_as_b': math.nan}
      )
    )
    del scores['test/global/confusion_b_as_a']
    self.assertIsNone(single_run.read_confusion(scores))

  def test_an_unfinished_run_has_none(self):
    frames = _frames()
    self.assertEmpty(single_run.draw_confusion_matrix(frames, 'train/loss'))

  def test_colours_are_shares_of_the_class(self):
    ((name, figure),) = _draw_classes(
      [[3, 1], [0, 0]], ['oak', 'sci_tech']
    ).items()
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
    (figure,) = _draw_classes(np.eye(30), names).values()
    self.assertEmpty(figure.axes[0].texts)
    figure.draw_without_rendering()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the heat map of what was sent."""

import dataclasses

from launch.plots import exchanged_tensors
from tests.launch.results import fake_runs

from absl.testing import parameterized
import numpy as np


def _draw_shares(shares, selection='share'):
  """Draws what a run has sent in rounds 1, 2, ...; nothing at first."""
  run = fake_runs.make_run()
  rounds = np.arange(len(next(iter(shares.values()))) + 1.0)
  columns = {'round': rounds} | {
    f'aggregator/sent/{name}': np.append(np.nan, values)
    for name, values in shares.items()
  }
  run = dataclasses.replace(run, columns=columns)
  run.config['exchange'] = fake_runs.make_exchange(selection=selection)
  return exchanged_tensors.draw(fake_runs.named({'a': [run]}), 'train/loss')


def _draw(names, num_rounds=4, **kwargs):
  rng = np.random.default_rng(0)
  shares = {name: rng.random(num_rounds) for name in names}
  return shares, _draw_shares(shares, **kwargs)['exchanged_tensors']


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
    shares, figure = _draw(['a/kernel', 'a/bias'])
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
    self.assertEqual(bar.get_ylabel(), 'Share of the clients that sent it')
    _, figure = _draw(['a'], selection='coordinates')
    self.assertEqual(
      figure.axes[1].get_ylabel(), 'Share of its weights that clients sent'
    )

  def test_runs_that_send_everything_have_no_figure(self):
    frames = fake_runs.named({'a': [fake_runs.make_run()]})
    self.assertEmpty(exchanged_tensors.draw(frames, 'train/loss'))

  @parameterized.parameters(46, 300)
  def test_names_of_many_tensors_have_room(self, number):
    names = _transformer(20)[:number]
    _, figure = _draw(names)
    figure.draw_without_rendering()
    boxes = [
      tick.get_window_extent() for tick in figure.axes[0].get_yticklabels()
    ]
    self.assertGreater(len(boxes), 3)
    for one, other in zip(boxes, boxes[1:]):
      self.assertFalse(one.overlaps(other))

  def test_parts_are_as_small_as_there_is_room_for(self):
    _, figure = _draw(_transformer(12))
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
    _, figure = _draw([f'{i}_8x8' for i in range(150)])
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

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the sizes and texts of clients and of their own tests."""

from fedfish_tff import datasets
from fedfish_tff import errors
from launch.data import client_sizes
from launch.data import client_texts
from launch.data import own_test
from launch.plots import style
from tests import temporary_folders

from absl.testing import parameterized
import numpy as np
import tensorflow as tf


def _steps(axis):
  """Returns (counts, edges) of each line of a panel."""
  return [patch.get_data()[:2] for patch in axis.patches]


class ClientSizesTest(temporary_folders.TestCase):
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
    path = self.folder / 'a.png'
    for values in ([], [0], [1], [1, 1], [10**9], [1, 10**12]):
      figure = client_sizes.plot_client_sizes(
        {'words': {'train': np.array(values, np.int64)}}, title=''
      )
      style.save_figure(figure, path)


class ClientTextsTest(temporary_folders.TestCase):
  @parameterized.parameters(
    ([b'good', b'b\xffd'], tf.string, "client 'client 1'.*UTF-8.*byte 1"),
    ([1], tf.int64, "'text' of client 'client 0'.*int64"),
  )
  def test_what_cannot_be_read_is_named(self, texts, dtype, message):
    folder = self.folder / 'clients'
    features = {'text': tf.TensorSpec([], dtype)}
    with datasets.GroupedWriter(folder, features=features) as writer:
      for i, text in enumerate(texts):
        writer.write('train', f'client {i}', [{'text': text}])
    with self.assertRaisesRegex(errors.InputError, message):
      list(client_texts.read_texts(folder))


_CLIENTS = [np.arange(0, 20), np.arange(20, 22), np.array([22])]

_NAMES = ['a', 'b', 'c']


def _hold_out(names=_NAMES, clients=_CLIENTS, *, seed=0, fraction=0.3):
  return own_test.hold_out(names, clients, 30, fraction=fraction, seed=seed)


class HoldOutTest(parameterized.TestCase):
  @parameterized.parameters(
    (0.3, [6, 1, 0]), (0.99, [19, 1, 0]), (0.001, [1, 1, 0])
  )
  def test_numbers(self, fraction, expected):
    is_test = _hold_out(fraction=fraction)
    self.assertEqual([is_test[rows].sum() for rows in _CLIENTS], expected)
    self.assertFalse(is_test[23:].any())

  def test_a_function_of_seed_and_client(self):
    np.testing.assert_array_equal(
      _hold_out()[:20], _hold_out(_NAMES[:1], _CLIENTS[:1])[:20]
    )
    for other in (_hold_out(seed=1), _hold_out(['z', 'b', 'c'])):
      self.assertTrue((_hold_out()[:20] != other[:20]).any())

  def test_each_example_is_as_likely(self):
    total = sum(_hold_out(seed=seed)[:20].astype(int) for seed in range(400))
    # Five standard deviations of a binomial.
    np.testing.assert_allclose(total, 120, atol=5 * np.sqrt(400 * 0.3 * 0.7))

  @parameterized.parameters(0.0, 1.0, -0.1, float('nan'))
  def test_bad_fractions(self, fraction):
    with self.assertRaisesRegex(errors.InputError, 'above 0 and below 1, got'):
      _hold_out(fraction=fraction)

  def test_clients_of_one_example(self):
    with self.assertRaisesRegex(errors.InputError, '2 examples, got 1 of 1'):
      _hold_out(['c'], [np.array([22])])

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the sizes, classes and texts of clients and of their own tests."""

from fedfish_tff import datasets
from fedfish_tff import errors
from launch.data import client_sizes
from launch.data import client_texts
from launch.data import label_partition
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


def _draw(counts, title='', **kwargs):
  figure = label_partition.plot_label_partition(
    np.array(counts), title=title, **kwargs
  )
  upper, lower, _ = figure.axes
  return figure, upper, lower


def _labels(ticks):
  return [tick.get_text() for tick in ticks]


class LabelPartitionTest(temporary_folders.TestCase):
  def test_fields_are_shares_of_clients(self):
    figure, upper, lower = _draw(
      [[3, 1], [0, 0], [0, 8]], class_names=['oak', 'elm'], title='Leaves'
    )
    (image,) = lower.images
    np.testing.assert_allclose(image.get_array(), [[0.75, 0, 0], [0.25, 0, 1]])
    heights = [bar.get_height() for bar in upper.patches]
    self.assertEqual(heights, [4, 0, 8])
    self.assertEqual(_labels(lower.get_yticklabels()), ['oak', 'elm'])
    self.assertEqual(_labels(lower.get_xticklabels()), ['0', '1', '2'])
    self.assertEqual(figure.get_suptitle(), 'Leaves')

  def test_darker_means_more_also_in_grey(self):
    _, _, lower = _draw([[1]])
    (image,) = lower.images
    rgb = image.to_rgba(np.linspace(0, 1, 200))[:, :3]
    luminance = rgb @ [0.2126, 0.7152, 0.0722]
    self.assertTrue((np.diff(luminance) <= 1e-9).all())
    self.assertGreater(luminance[0] - luminance[-1], 0.8)

  def test_many_clients_are_ordered_and_the_figure_says_so(self):
    counts = np.eye(3, dtype=int)[np.arange(60) % 3] * 5
    _, _, lower = _draw(counts)
    (image,) = lower.images
    np.testing.assert_array_equal(
      image.get_array(), np.repeat(np.eye(3), 20, axis=1)
    )
    self.assertEmpty(lower.get_xticks())
    self.assertEqual(
      lower.get_xlabel(), '60 clients, ordered by their largest class'
    )

  def test_more_clients_than_columns(self):
    counts = np.random.default_rng(0).integers(9, size=(3400, 62)) + 1
    figure, _, lower = _draw(counts)
    self.assertStartsWith(lower.get_xlabel(), '400 of 3,400 clients')
    self.assertEqual(lower.images[0].get_array().shape, (62, 400))
    self.assertLessEqual(len(lower.get_yticks()), 32)
    path = self.folder / 'a.png'
    style.save_figure(figure, path)

  def test_groups_stand_together(self):
    counts = [[1, 2, 3, 4]]
    _, _, lower = _draw(counts, class_groups=['fish', 'bird', 'fish', 'bird'])
    np.testing.assert_allclose(
      lower.images[0].get_array()[:, 0], [0.2, 0.4, 0.1, 0.3]
    )
    self.assertEqual(_labels(lower.get_yticklabels()), ['1', '3', '0', '2'])
    self.assertLen(lower.lines, 1)

  def test_groups_name_many_classes(self):
    groups = [f'group {i}' for i in np.arange(100) % 4]
    _, _, lower = _draw(np.ones((2, 100), int), class_groups=groups)
    self.assertEqual(
      _labels(lower.get_yticklabels()), [f'group {i}' for i in range(4)]
    )
    np.testing.assert_allclose(lower.get_yticks(), [12, 37, 62, 87])

  def test_long_names_are_cut(self):
    _, _, lower = _draw([[1]], client_names=['www.example.org/a/b'])
    self.assertEqual(_labels(lower.get_xticklabels()), ['www.exa….org/a/b'])

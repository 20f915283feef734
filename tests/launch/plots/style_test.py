# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the plots' style."""

import subprocess
import sys
import warnings
from xml.etree import ElementTree

from launch.plots import heat_map
from launch.plots import style
from tests import processes
from tests import temporary_folders
from tests.launch import binary_runner

from absl.testing import absltest
from absl.testing import parameterized
import matplotlib


@style.styled
def _figure():
  figure = style.new_figure(3, 2)
  figure.subplots().plot([0, 1], [0, 1])
  return figure


class SlugTest(absltest.TestCase):
  def test_files_of_long_labels_have_short_names_of_their_own(self):
    self.assertEqual(style.slug('FedAvg, beta 0.5'), 'fedavg_beta_0.5')
    long = 'FedFish, ' + 100 * 'a field and its value, '
    one, other = style.slug(long + '1'), style.slug(long + '2')
    self.assertNotEqual(one, other)
    self.assertLess(len(one), 100)

  def test_texts_of_equal_slugs_have_names_of_their_own(self):
    texts = ['alpha -0.1', 'alpha 0.1', 'alpha 0.2']
    names = style.slugs(texts)
    self.assertEqual(list(names), texts)
    self.assertLen(set(names.values()), 3)
    self.assertEqual(names['alpha 0.2'], 'alpha_0.2')


class SeriesLooksTest(absltest.TestCase):
  def test_a_method_looks_the_same_in_every_plot(self):
    alone = style.method_looks(['FedFish'])
    among = style.method_looks(['Other', 'FedAvg', 'FedFish, digits'])
    self.assertEqual(alone['FedFish'], among['FedFish, digits'])

  def test_sixteen_methods_differ_in_colour_and_in_line_or_marker(self):
    looks = style.method_looks(['FedFish', *'abcdefghijklmno']).values()
    self.assertLen({look['color'] for look in looks}, 16)
    shapes = {(look['marker'], str(look['linestyle'])) for look in looks}
    self.assertLen(shapes, 16)

  def test_an_unknown_method_has_a_look_of_its_own(self):
    alone = style.method_looks(['Mine'])['Mine']
    among = style.method_looks(['FedAvg', 'Mine', 'FedProx'])
    self.assertEqual(among['Mine'], alone)
    self.assertNotEqual(style.method_looks(['Yours'])['Yours'], alone)

  def test_more_methods_than_styles(self):
    labels = [str(i) for i in range(20)]
    self.assertEqual(list(style.method_looks(labels)), labels)

  def test_variants_differ_and_the_name_alone_goes_first(self):
    labels = ['FedFish, damping 0', 'FedFish, damping 1', 'FedFish']
    looks = style.method_looks(labels)
    self.assertLen({look['color'] for look in looks.values()}, 3)
    self.assertEqual(
      looks['FedFish'], style.method_looks(['FedFish'])['FedFish']
    )


class SaveFigureTest(temporary_folders.TestCase):
  @parameterized.parameters(
    ('png', b'\x89PNG'), ('pdf', b'%PDF'), ('svg', b'<?xml')
  )
  def test_names_are_text_and_bytes_repeat(self, suffix, magic):
    for name in ('a', 'b'):
      figure = _figure()
      figure.axes[0].set_title('costs $\\frac{ a $x$\x1b[31m\n\x00')
      heat_map.name_ticks(figure.axes[0].xaxis, ['$\\bad$', '\x1b[0m'])
      with warnings.catch_warnings():
        warnings.simplefilter('error')  # Such as of missing glyphs.
        style.save_figure(figure, self.folder / f'{name}.{suffix}')
    path = self.folder / f'a.{suffix}'
    content = path.read_bytes()
    self.assertStartsWith(content, magic)
    self.assertEqual(content, path.with_stem('b').read_bytes())
    self.assertLen(list(self.folder.iterdir()), 2)
    if suffix == 'svg':
      texts = ''.join(ElementTree.parse(path).getroot().itertext())
      self.assertIn(r'costs $\frac{ a $x$\x1b[31m', texts)

  def test_a_users_style_is_not_ours(self):
    style.save_figure(_figure(), self.folder / 'a.png')
    user = {
      'text.usetex': True,
      'font.family': 'serif',
      'image.cmap': 'jet',
      'axes.facecolor': 'black',
      'savefig.bbox': 'tight',
    }
    with matplotlib.rc_context(user):
      style.save_figure(_figure(), self.folder / 'b.png')
    self.assertEqual(
      (self.folder / 'a.png').read_bytes(), (self.folder / 'b.png').read_bytes()
    )

  def test_an_unreadable_matplotlibrc_is_not_read(self):
    folder = self.create_tempdir()
    folder.create_file('matplotlibrc', b'text.usetex: True\n\xff\n', mode='wb')
    outcome = subprocess.run(
      [sys.executable, '-c', 'import launch.plots.style'],
      cwd=folder.full_path,
      env={**binary_runner.environment(), 'MATPLOTLIBRC': folder.full_path},
      capture_output=True,
      text=True,
      timeout=processes.HANG_SECONDS,
    )
    self.assertEqual((outcome.returncode, outcome.stderr), (0, ''))


class LabelsTest(parameterized.TestCase):
  @parameterized.parameters(
    (0.87, '0.870'), (0, '0.000'), (1e-4, '0.0001'), (12345.0, '1.23e+04')
  )
  def test_format_value(self, value, text):
    self.assertEqual(style.format_value(value), text)

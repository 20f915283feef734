# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Only the marked part of a file is written."""

import pathlib

from fedfish_tff import errors
from launch.benchmarks import markdown_file

from absl.testing import absltest


class MarkdownFileTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._path = pathlib.Path(self.create_tempdir().full_path, 'README.md')

  def test_new_file_can_be_written_again(self):
    markdown_file.check(self._path)
    markdown_file.write(self._path, 'first')
    markdown_file.write(self._path, 'second')
    text = self._path.read_text()
    self.assertIn('\nsecond\n', text)
    self.assertNotIn('first', text)
    self.assertTrue(text.endswith('-->\n'))

  def test_rest_of_the_file_stays(self):
    marks = f'{markdown_file.BEGIN}\n{markdown_file.END}'
    self._path.write_text(f'# Ein Käse\n\n{marks}\nafter\n')
    markdown_file.write(self._path, 'table')
    self.assertEqual(
      self._path.read_text(),
      f'# Ein Käse\n\n{marks}\nafter\n'.replace(
        markdown_file.END, f'table\n{markdown_file.END}'
      ),
    )
    self.assertLen(list(self._path.parent.iterdir()), 1)

  def test_file_without_marks_is_refused(self):
    for text in ('# Mine\n', markdown_file.BEGIN, markdown_file.END):
      self._path.write_text(text)
      for act in (
        lambda: markdown_file.check(self._path),
        lambda: markdown_file.write(self._path, 'table'),
      ):
        with self.assertRaisesRegex(errors.InputError, 'README.md'):
          act()
      self.assertEqual(self._path.read_text(), text)

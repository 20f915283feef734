# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of pictures in folders."""

import os
import struct
import warnings
import zlib

from fedfish_tff import errors
from launch.data import labelled_dataset
from launch.data import picture_folder
from tests import temporary_folders

from absl.testing import parameterized
import numpy as np
from PIL import Image


def _pixels(seed, size=(5, 4), channels=3):
  rng = np.random.default_rng(seed)
  return rng.integers(0, 256, (*size, channels)[: 2 + (channels > 1)], np.uint8)


def _triangle(before, after):
  """Returns the weights of pixels in means of a triangle's form."""
  scale = before / after
  middles = (np.arange(after)[:, None] + 0.5) * scale
  distances = np.abs(np.arange(before) + 0.5 - middles) / scale
  weights = np.maximum(1 - distances, 0)
  return weights / weights.sum(axis=1, keepdims=True)


class PictureFolderTest(temporary_folders.TestCase):
  def _save(self, path, pixels, **options):
    path = self.folder / path
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **options)
    return path

  def _read(self, split='train', **options):
    found = picture_folder.find(str(self.folder), split)
    return picture_folder.read(found, **options)

  def _refused(self, regex, **options):
    with self.assertRaisesRegex(errors.InputError, regex) as context:
      self._read(**options)
    self.assertNotIn('\n', str(context.exception))

  def test_clients_and_classes(self):
    expected = {}
    for number, path in enumerate(
      (
        'b/cat/1.png',
        'a/dog/2.bmp',
        'a/cat/3.PNG',
        'c/emu/4.webp',
        'a/cat/0.tif',
      )
    ):
      lossless = {'lossless': True} if path.endswith('webp') else {}
      expected[path] = _pixels(number)
      self._save(path, expected[path], **lossless)
    (self.folder / 'c/cat').mkdir()
    (self.folder / 'a/.DS_Store').write_text('left by a file manager')
    (self.folder / 'a/notes.txt').write_text('not a picture')
    data = self._read()
    paths = sorted(expected)
    np.testing.assert_array_equal(data.x, [expected[path] for path in paths])
    self.assertEqual(
      [data.class_names['class'][y] for y in data.labels],
      [path.split('/')[1] for path in paths],
    )
    self.assertEqual(
      list(data.others[labelled_dataset.CLIENT]),
      [path.split('/')[0] for path in paths],
    )
    self.assertEqual(list(data.unused), ['a/notes.txt'])
    self.assertTrue(data.is_image)

  def test_classes_alone_in_the_order_of_numbers(self):
    for name in ('10', '9', 'x', '0'):
      self._save(f'{name}/1.png', _pixels(0))
    data = self._read()
    self.assertEqual(list(data.class_names['class']), ['0', '9', '10', 'x'])
    self.assertEmpty(data.others)

  def test_a_folder_of_splits(self):
    self._save('train/0/1.png', _pixels(0))
    self._save('test/1/1.png', _pixels(1))
    np.testing.assert_array_equal(self._read('test').x, [_pixels(1)])
    self.assertEqual(self._read().class_names, {'class': ['0']})
    self._refused("--split must name a folder .* got 'valid'", split='valid')

  def test_a_folder_named_like_a_split_is_not_guessed(self):
    self._save('train/1.png', _pixels(0))
    self._save('bus/1.png', _pixels(1))
    self._refused('splits alone beside train, .* got bus;')

  def test_a_table_does_not_stand_beside_pictures(self):
    self._save('plot.png', _pixels(0))
    find = picture_folder.find
    self.assertIsNone(find(str(self.folder), 'train', is_table=True))
    self._save('cat/1.png', _pixels(0))
    with self.assertRaisesRegex(errors.InputError, 'both, .* cat/1.png;'):
      find(str(self.folder), 'train', is_table=True)

  def test_a_folder_without_pictures(self):
    (self.folder / '1').mkdir()
    (self.folder / '1/a.gif').write_bytes(b'GIF89a')
    self.assertIsNone(picture_folder.find(str(self.folder), 'train'))
    self.assertIsNone(picture_folder.find('mnist', 'train'))

  def test_grey_and_16_bits(self):
    grey = _pixels(0, channels=1)
    self._save('0/1.png', grey)
    np.testing.assert_array_equal(self._read().x, grey[None, ..., None])
    deep = grey.astype(np.uint16) * 257
    self._save('0/1.png', deep)
    data = self._read()
    self.assertEqual((data.x.dtype, data.is_image), (np.uint16, False))
    np.testing.assert_array_equal(data.x, deep[None, ..., None])
    self._save('0/2.png', grey)
    self._refused('one depth, got I;16 in .*/0/1.png, L in .*/0/2.png')

  def test_pixels_that_are_not_numbers(self):
    pixels = np.ones((4, 3), np.float32)
    self._save('0/1.tif', pixels)
    self._save('0/2.tif', np.where(np.eye(4, 3), np.nan, pixels))
    self._refused('The pictures of .* each of 2 examples, got NaN .* in 1;')

  def test_a_photograph_is_turned(self):
    exif = Image.Exif()
    exif[274] = 6  # Viewers turn it clockwise.
    self._save('0/1.png', _pixels(0), exif=exif)
    np.testing.assert_array_equal(self._read().x[0], np.rot90(_pixels(0), -1))

  def test_damaged_metadata(self):
    # The name of a camera, at a place behind the end.
    exif = b'Exif\0\0II*\0' + struct.pack(
      '<IHHHIII', 8, 1, 271, 2, 10_000, 500, 0
    )
    path = self._save('0/1.jpg', _pixels(0), exif=exif)
    with warnings.catch_warnings(record=True) as warned:
      expected = np.asarray(Image.open(path))
      self.assertLen(warned, 1)
      np.testing.assert_array_equal(self._read().x[0], expected)
    self.assertLen(warned, 1)

  @parameterized.parameters(np.uint8, np.uint16, np.int32, np.float32)
  def test_resized_pictures_are_weighted_means(self, dtype):
    pixels = (np.random.default_rng(0).random([13, 21]) * 250).astype(dtype)
    suffix = 'png' if dtype in (np.uint8, np.uint16) else 'tif'
    self._save(f'0/1.{suffix}', pixels)
    x = self._read(image_size=(4, 7)).x
    self.assertEqual(x.dtype, dtype)
    expected = _triangle(13, 4) @ pixels @ _triangle(21, 7).T
    # Whole numbers are rounded after each axis.
    atol = 1e-3 if dtype == np.float32 else 1.1
    np.testing.assert_allclose(x[0, ..., 0], expected, atol=atol)

  def test_the_middle_of_big_endian_pictures(self):
    deep = np.full([8, 8], 1000, '>u2')
    image = Image.frombytes('I;16B', (8, 8), deep.tobytes())
    (self.folder / '0').mkdir()
    image.save(self.folder / '0/1.tif')
    x = self._read(image_size=(2, 4)).x
    np.testing.assert_array_equal(x, np.full([1, 2, 4, 1], 1000))

  def test_other_sizes(self):
    self._save('a/0/1.png', _pixels(0))
    self._save('b/0/1.png', _pixels(0, size=(4, 5)))
    self._refused(
      'got 4 x 5 in .*/a/0/1.png and 5 x 4 in .*/b/0/1.png; --image_size'
    )
    self.assertEqual(self._read(image_size=(3, 7)).x.shape, (2, 3, 7, 3))

  def test_every_truncation_is_reported(self):
    for suffix in ('png', 'jpg', 'bmp'):
      self._save('0/0.png', _pixels(0))
      path = self._save(f'0/1.{suffix}', _pixels(1))
      content = path.read_bytes()
      for length in range(0, len(content) - 30, 11):
        path.write_bytes(content[:length])
        self._refused(rf'{path} must be a picture \(PNG, .*\): .*\.$')
      path.unlink()

  def test_other_contents(self):
    self._save('0/1.png', _pixels(0))
    path = self.folder / '0/2.png'
    Image.fromarray(_pixels(0)).save(path, 'GIF')
    self._refused('0/2.png must be .*: Pillow cannot identify its content.$')
    path.unlink()
    os.mkfifo(path)
    self._refused('Cannot read .*/0/2.png: Not a regular file')

  def test_places(self):
    self._save('a/0/1.png', _pixels(0))
    (self.folder / 'b/0').mkdir(parents=True)
    self._refused('must hold pictures .* got none in b.$')
    (self.folder / 'b/0').rmdir()
    (self.folder / 'b').rmdir()
    self._save('a/2.png', _pixels(0))
    self._refused('CLIENT/CLASS, got a/0/1.png and a/2.png')

  @parameterized.parameters('1.png', '1/1/1/1.png')
  def test_pictures_at_other_depths(self, path):
    self._save(path, _pixels(0))
    self._refused(f'CLIENT/CLASS, got {path}')

  @parameterized.parameters('0/2.png', '1')
  def test_links_are_not_followed(self, name):
    self._save('0/1.png', _pixels(0))
    outside = self.create_tempdir().full_path
    Image.fromarray(_pixels(1)).save(os.path.join(outside, '2.png'))
    os.symlink(outside, self.folder / name)
    self._refused(f'/{name} must be a picture, got a link')

  def test_sizes_are_checked_before_pixels_are_read(self):
    path = self._save('0/1.png', _pixels(0))
    content = bytearray(path.read_bytes())
    content[16:24] = struct.pack('>II', 10_000, 10_000)
    content[29:33] = struct.pack('>I', zlib.crc32(content[12:29]))
    path.write_bytes(content)
    self._refused('0/1.png must be .*: Image size .* exceeds limit')

  def test_many_pictures_larger_than_their_files(self):
    blank = np.zeros([4000, 5000], np.uint8)
    first = self._save('0/00.png', blank)
    for number in range(1, 15):
      os.link(first, self.folder / f'0/{number:02}.png')
    self._refused(r'15 pictures of .* got 300,000,000 if .*; --image_size')
    self.assertEqual(self._read(image_size=(1, 1)).x.sum(), 0)

  def test_names_that_are_no_text(self):
    self._save('0/1.png', _pixels(0))
    os.mkdir(os.fsencode(self.folder) + b'/\xff')
    os.link(self.folder / '0/1.png', os.fsencode(self.folder) + b'/\xff/1.png')
    self._refused(r"UTF-8, got \('.udcff', '1.png'\)")

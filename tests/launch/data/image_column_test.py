# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of decoding columns of images."""

import io
import struct
import zlib

from fedfish_tff import errors
from launch.data import image_column

from absl.testing import parameterized
import numpy as np
from PIL import Image
import pyarrow as pa

_DEEP = np.arange(30, dtype=np.uint16).reshape(6, 5) * 2000
_GREY = np.arange(30, dtype=np.uint8).reshape(6, 5) * 8
_RGB = np.stack([_GREY, _GREY + 1, _GREY + 2], axis=-1)


def _encode(image, form='PNG', **options):
  if isinstance(image, np.ndarray):
    image = Image.fromarray(image)
  file = io.BytesIO()
  image.save(file, form, **options)
  return file.getvalue()


def _deep_png(color, channels):
  """Returns a PNG of 16 bits, which Pillow does not write in colour."""
  pixels = np.repeat(_DEEP[..., None], channels, axis=-1).astype('>u2')
  rows = b''.join(b'\0' + row.tobytes() for row in pixels)
  header = struct.pack('>IIBBBBB', 5, 6, 16, color, 0, 0, 0)
  chunks = {b'IHDR': header, b'IDAT': zlib.compress(rows), b'IEND': b''}
  return b'\x89PNG\r\n\x1a\n' + b''.join(
    struct.pack('>I', len(data))
    + kind
    + data
    + struct.pack('>I', zlib.crc32(kind + data))
    for kind, data in chunks.items()
  )


def _tiff(bits, kind, samples=1):
  """Returns a TIFF of one strip with other types than Pillow writes."""
  data = bytes(30 * samples * bits // 8)
  tags = [(256, 5), (257, 6), (258, bits), (259, 1), (262, 1), (273, 8)]
  tags += [(277, samples), (278, 6), (279, len(data)), (339, kind)]
  entries = b''.join(struct.pack('<HHII', t, 4, 1, v) for t, v in tags)
  return (
    b'II*\0'
    + struct.pack('<I', 8 + len(data))
    + data
    + struct.pack('<H', len(tags))
    + entries
    + bytes(4)
  )


def _rotated():
  exif = Image.Exif()
  exif[274] = 6  # The camera was turned: viewers turn the image clockwise.
  return _encode(_GREY, exif=exif)


def _with_palette(**options):
  image = Image.new('P', (5, 6), 1)
  image.putpalette([0, 0, 0, 10, 20, 30])
  return _encode(image, **options)


class ImageColumnTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('uint16', _encode(_DEEP), _DEEP[..., None]),
    (
      'big_endian',
      _encode(
        Image.frombytes('I;16B', (5, 6), _DEEP.astype('>u2').tobytes()), 'TIFF'
      ),
      _DEEP[..., None],
    ),
    (
      'int32',
      _encode(_DEEP.astype('i4') - 9, 'TIFF'),
      _DEEP.astype('i4')[..., None] - 9,
    ),
    (
      'float',
      _encode(_DEEP.astype('f4') / 7, 'TIFF'),
      (_DEEP.astype('f4') / 7)[..., None],
    ),
    (
      'one_bit',
      _encode(Image.fromarray(_GREY > 99)),
      255 * (_GREY > 99).astype('u1')[..., None],
    ),
    ('grey_and_alpha', _encode(_RGB[..., :2]), _RGB[..., :2]),
    ('palette', _with_palette(), np.uint8([[[10, 20, 30]] * 5] * 6)),
    (
      'transparent_palette',
      _with_palette(transparency=1),
      np.uint8([[[10, 20, 30, 0]] * 5] * 6),
    ),
    (
      'transparent_grey',
      _encode(_GREY, transparency=8),
      np.stack([_GREY, 255 * (_GREY != 8)], -1).astype('u1'),
    ),
    ('rotated', _rotated(), np.rot90(_GREY, -1)[..., None]),
    ('web', _encode(_RGB, 'WEBP', lossless=True), _RGB),
  )
  def test_values_are_kept(self, content, expected):
    pixels = image_column.decode(pa.array([content]), 'x')[0]
    self.assertEqual(pixels.dtype, expected.dtype)
    np.testing.assert_array_equal(pixels, expected)

  def test_grey_among_coloured_images(self):
    contents = [_encode(image) for image in (_GREY, _RGB, _RGB[..., :2])]
    pixels = image_column.decode(pa.array(contents), 'x')
    opaque = np.full_like(_GREY, 255)
    for found, channels in zip(
      pixels,
      (
        [_GREY, _GREY, _GREY, opaque],
        [*np.moveaxis(_RGB, -1, 0), opaque],
        [_GREY, _GREY, _GREY, _RGB[..., 1]],
      ),
    ):
      np.testing.assert_array_equal(found, np.stack(channels, axis=-1))

  @parameterized.named_parameters(
    (
      'postscript',
      [b'%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 5 6\n%%EndComments\n'],
      'PNG, JPEG.* cannot identify',
    ),
    ('gif', [_encode(_GREY, 'GIF')], 'cannot identify'),
    ('deep_colours', [_deep_png(2, 3)], 'uint16 do not fit the mode RGB'),
    ('deep_alpha', [_deep_png(4, 2)], 'uint16 do not fit the mode RGBA'),
    ('uint32', [_tiff(32, 1)], 'uint32 do not fit the mode I of'),
    ('int8', [_tiff(8, 2)], 'int8 do not fit the mode L of'),
    (
      'cmyk',
      [_encode(Image.new('CMYK', (5, 6)), 'JPEG')],
      'mode CMYK is neither',
    ),
    (
      'frames',
      [
        _encode(
          _GREY, 'TIFF', save_all=True, append_images=[Image.fromarray(_RGB)]
        )
      ],
      'it has 2 frames',
    ),
    (
      'depths',
      [_encode(_GREY), _encode(_DEEP)],
      'one depth, got L in row 0, I.* in row 1',
    ),
    (
      'sizes',
      [_encode(_GREY), _rotated()],
      'got 5 x 6 in row 0 and 6 x 5 in row 1',
    ),
    (
      'path',
      [{'bytes': None, 'path': 'a.png'}],
      "Row 0 of .* path 'a.png' alone; to_parquet",
    ),
    ('no_path', [{'bytes': None}], 'path None alone'),
  )
  def test_refused(self, contents, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      image_column.decode(pa.array(contents), 'x')

  def test_images_of_other_sizes_are_resized(self):
    flat = [np.full([6, 5], 7, np.uint8), np.full([3, 9], 9, np.uint8)]
    pixels = image_column.decode(
      pa.array([_encode(image) for image in flat]), 'x', (2, 4)
    )
    np.testing.assert_array_equal(
      pixels[..., 0], [np.full([2, 4], 7), np.full([2, 4], 9)]
    )

  def test_sizes_are_checked_before_pixels_are_read(self):
    content = bytearray(_encode(_RGB))
    content[16:24] = struct.pack('>II', 10_000, 10_000)
    content[29:33] = struct.pack('>I', zlib.crc32(content[12:29]))
    with self.assertRaisesRegex(errors.InputError, 'Row 0 .* exceeds limit'):
      image_column.decode(pa.array([bytes(content)]), 'x')

  def test_channels_without_a_name_are_refused(self):
    tag = struct.pack('<HHI', 338, 3, 1)
    content = _encode(Image.new('RGBA', (5, 6)), 'TIFF')
    self.assertIn(tag + b'\2', content)
    content = content.replace(tag + b'\2', tag + b'\0')
    with self.assertRaisesRegex(errors.InputError, '4 channels, .* keeps 3'):
      image_column.decode(pa.array([content]), 'x')

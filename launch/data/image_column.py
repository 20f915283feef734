# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decodes a column of images without a change of their values."""

import io

from fedfish_tff import errors

import numpy as np
from PIL import Image
from PIL import ImageOps
import pyarrow as pa
import tqdm

# Pillow would open others as well, some of them by programs such as Ghostscript.
FORMATS = ('PNG', 'JPEG', 'TIFF', 'BMP', 'WEBP')
# Equal modes without a palette, and without or with a transparent colour.
_PLAIN = {'1': 'L', 'P': 'RGB'}
_WITH_ALPHA = {'1': 'LA', 'L': 'LA', 'RGB': 'RGBA', 'P': 'RGBA', 'PA': 'RGBA'}
_BYTES = ('L', 'LA', 'RGB', 'RGBA')
_WIDE = ('I;16', 'I;16B', 'I', 'F')
# Tags of TIFF.
_BITS, _SAMPLES, _KIND = 258, 277, 339
_KINDS = {1: 'u', 2: 'i', 3: 'f'}
_PNG_BITS_BYTE = 24


def decode(column: pa.Array, name: str) -> np.ndarray:
  """Returns images of one size, [n, height, width, channels].

  A camera's rotation is applied. Palettes become colours, transparency a
  channel, and grey images among coloured ones coloured.

  Args:
    column: The encoded images, as bytes or structs with the field bytes.
    name: The column's name.

  Returns:
    The pixels: uint8, or one channel of more bits in the images' own type.

  Raises:
    errors.InputError: If a value is no image of `FORMATS`, holds several, or
      values that Pillow would round; or if images differ in size or depth.
  """
  paths = None
  if pa.types.is_struct(column.type):
    if column.type.get_field_index('path') >= 0:
      paths = column.field('path')
    column = column.field('bytes')
  images = []
  for i, value in enumerate(
    tqdm.tqdm(column, desc='decode', unit=' images', disable=None)
  ):
    row = f'Row {i} of column {name!r}'
    if not value.is_valid:
      raise errors.InputError(
        f'{row} must hold the bytes of an image, got the path '
        f"{paths and paths[i].as_py()!r:.80} alone; to_parquet of Hugging Face's "
        'library writes the bytes.'
      )
    try:
      images.append(_open(value.as_py()))
    # Pillow's decoders may raise any error.
    except Exception as error:
      raise errors.InputError(
        f'{row} must be an image ({", ".join(FORMATS)}) in bytes: '
        f'{" ".join(str(error).split())}'
      ) from error
    if images[i].size != images[0].size:
      sizes = [f'{image.width} x {image.height}' for image in images]
      raise errors.InputError(
        f'The images of column {name!r} must have one size, got {sizes[0]} in '
        f'row 0 and {sizes[i]} in row {i}.'
      )
  modes = {image.mode: i for i, image in enumerate(images)}
  if len(modes) > 1 and not modes.keys() <= set(_BYTES):
    found = ', '.join(f'{mode} in row {i}' for mode, i in modes.items())
    raise errors.InputError(
      f'The images of column {name!r} must have one depth, got {found}.'
    )
  mode = max(modes, key=_BYTES.index) if len(modes) > 1 else images[0].mode
  if 'LA' in modes and mode == 'RGB':
    mode = 'RGBA'
  pixels = np.stack([np.asarray(image.convert(mode)) for image in images])
  return pixels if pixels.ndim == 4 else pixels[..., np.newaxis]


def _open(content: bytes) -> Image.Image:
  """Returns an image with its pixels; raises an error if it is unusable."""
  image = Image.open(io.BytesIO(content), formats=FORMATS)
  frames = getattr(image, 'n_frames', 1)
  if frames != 1:
    raise ValueError(f'it has {frames} frames.')
  stored = _stored_type(image, content)
  image = ImageOps.exif_transpose(image)
  if image.has_transparency_data:
    mode, known = _WITH_ALPHA.get(image.mode, image.mode), _BYTES
  else:
    mode, known = _PLAIN.get(image.mode, image.mode), _BYTES + _WIDE
  if mode not in known:
    raise ValueError(f'the mode {mode} is neither grey nor RGB.')
  image = image.convert(mode)
  if not np.can_cast(stored, np.asarray(image).dtype):
    raise ValueError(
      f'its values of {stored.name} do not fit the mode {mode} of Pillow.'
    )
  return image


def _stored_type(image: Image.Image, content: bytes) -> np.dtype:
  """Returns the type of an encoded image's values, which Pillow may cut."""
  bits, kind = 8, 'u'
  if image.format == 'PNG':
    bits = content[_PNG_BITS_BYTE]
  elif image.format == 'TIFF':
    tags = image.tag_v2
    samples, channels = tags.get(_SAMPLES, 1), len(image.getbands())
    if samples != channels:
      raise ValueError(
        f'it has {samples} channels, of which Pillow keeps {channels}.'
      )
    bits = max(tags.get(_BITS, (1,)))
    kind = _KINDS[tags.get(_KIND, (1,))[0]]
  size = next(size for size in (1, 2, 4, 8) if bits <= 8 * size)
  return np.dtype(f'{kind}{size}')

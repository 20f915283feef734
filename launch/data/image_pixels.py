# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decodes images without a change of their values."""

from collections.abc import Iterator
import contextlib
import io
import warnings

from fedfish_tff import errors

import numpy as np
from PIL import Image
from PIL import ImageOps

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


@contextlib.contextmanager
def warnings_settled() -> Iterator[None]:
  """Lets `decode` refuse images by their headers, and pass damaged metadata.

  Pillow only warns of an image of more than 89 million pixels. It also warns of
  cameras' metadata that it cannot read, whose pixels are whole.
  """
  # Around a loop, because filters of warnings hold for all threads.
  with warnings.catch_warnings():
    warnings.filterwarnings('ignore', category=UserWarning, module='PIL')
    warnings.simplefilter('error', Image.DecompressionBombWarning)
    yield


def decode(content: bytes) -> Image.Image:
  """Returns an image with its pixels.

  A camera's rotation is applied. Palettes become colours, and transparency a
  channel.

  Args:
    content: The encoded image.

  Raises:
    Exception: Any, if it is no image of `FORMATS`, holds several, or values
      that Pillow would round.
  """
  try:
    image = Image.open(io.BytesIO(content), formats=FORMATS)
  except Image.UnidentifiedImageError:
    # Pillow's own message has an address in memory.
    raise ValueError('Pillow cannot identify its content.') from None
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


def resize(image: Image.Image, size: tuple[int, int]) -> Image.Image:
  """Returns an image of another size, averaged over its pixels where smaller.

  The image of `decode` is stretched to the size, (height, width).
  """
  if image.mode == 'I;16B':
    # Pillow averages bytes of this mode in the wrong order.
    image = Image.fromarray(np.asarray(image).astype('<u2'))
  height, width = size
  return image.resize((width, height), Image.Resampling.BILINEAR)


class ImageStack:
  """Images of one size, which become one array."""

  def __init__(self, title: str) -> None:
    """Starts without images.

    Args:
      title: The images, for errors, such as "The images of column 'x'".
    """
    self._title = title
    self._images = []
    # The place of the first image of each mode.
    self._modes = {}
    self._first_place = ''

  def add(self, image: Image.Image, place: str) -> None:
    """Appends an image of `decode`, of the first one's size.

    `place` names it in errors.
    """
    self.check(image, place)
    self._first_place = self._first_place or place
    self._modes.setdefault(image.mode, place)
    self._images.append(image)

  def check(self, image: Image.Image, place: str) -> None:
    """Raises an InputError if an image differs from the first one in size."""
    first = self._images[0] if self._images else image
    if image.size != first.size:
      raise errors.InputError(
        f'{self._title} must have one size, got {first.width} x {first.height} '
        f'in {self._first_place} and {image.width} x {image.height} in {place}; '
        '--image_size=HEIGHT,WIDTH resizes them.'
      )

  def to_array(self) -> np.ndarray:
    """Returns the pixels, [n, height, width, channels], of images of one depth.

    Grey images among coloured ones become coloured, and get a channel of
    transparency if another one has it.

    Returns:
      uint8, or one channel of more bits in the images' own type.
    """
    modes = self._modes
    if len(modes) > 1 and not modes.keys() <= set(_BYTES):
      found = ', '.join(f'{mode} in {place}' for mode, place in modes.items())
      raise errors.InputError(
        f'{self._title} must have one depth, got {found}.'
      )
    mode = max(modes, key=_BYTES.index) if len(modes) > 1 else next(iter(modes))
    if 'LA' in modes and mode == 'RGB':
      mode = 'RGBA'
    pixels = np.stack(
      [np.asarray(image.convert(mode)) for image in self._images]
    )
    return pixels if pixels.ndim == 4 else pixels[..., np.newaxis]


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

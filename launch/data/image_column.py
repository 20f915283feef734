# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decodes a column of images."""

import io

from fedfish_tff import errors

import numpy as np
from PIL import Image
import pyarrow as pa
import tqdm


def decode(column: pa.Array, name: str) -> np.ndarray:
  """Returns images of one size as uint8 [n, height, width, channels]."""
  if pa.types.is_struct(column.type):
    column = column.field('bytes')
  images = []
  for i, value in enumerate(
    tqdm.tqdm(column, desc='decode', unit=' images', disable=None)
  ):
    try:
      image = Image.open(io.BytesIO(value.as_py()))
      if image.mode not in ('L', 'RGB', 'RGBA'):
        image = image.convert('L' if image.mode == '1' else 'RGB')
      images.append(np.asarray(image))
    # Pillow's decoders may raise any error.
    except Exception as error:
      raise errors.InputError(
        f'Row {i} of column {name!r} must be an image, such as PNG or JPEG, in '
        f'bytes: {" ".join(str(error).split())}'
      ) from error
    if images[i].shape != images[0].shape:
      raise errors.InputError(
        f'The images of column {name!r} must have one size, got '
        f'{list(images[0].shape)} in row 0 and {list(images[i].shape)} in row {i}.'
      )
  pixels = np.stack(images)
  return pixels if pixels.ndim == 4 else pixels[..., np.newaxis]

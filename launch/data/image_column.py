# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decodes a column of images."""

from fedfish_tff import errors
from launch.data import image_pixels

import numpy as np
import pyarrow as pa
import tqdm


def decode(
  column: pa.Array, name: str, size: tuple[int, int] | None = None
) -> np.ndarray:
  """Returns images of one size, [n, height, width, channels].

  Args:
    column: The encoded images, as bytes or structs with the field bytes.
    name: The column's name, for errors.
    size: The height and width to which images are resized; None if they have
      one size.

  Returns:
    The pixels, of the dtype of `image_pixels.ImageStack.to_array`.
  """
  paths = None
  if pa.types.is_struct(column.type):
    if column.type.get_field_index('path') >= 0:
      paths = column.field('path')
    column = column.field('bytes')
  images = image_pixels.ImageStack(f'The images of column {name!r}')
  with image_pixels.warnings_settled():
    for i, value in enumerate(
      tqdm.tqdm(column, desc='decode', unit=' images', disable=None)
    ):
      row = f'Row {i} of column {name!r}'
      if not value.is_valid:
        raise errors.InputError(
          f'{row} must hold the bytes of an image, got the path '
          f'{paths and paths[i].as_py()!r:.80} alone; to_parquet of Hugging '
          "Face's library writes the bytes."
        )
      try:
        image = image_pixels.decode(value.as_py())
        if size is not None:
          image = image_pixels.resize(image, size)
      # Pillow's decoders may raise any error.
      except Exception as error:
        raise errors.InputError(
          f'{row} must be an image ({", ".join(image_pixels.FORMATS)}) in '
          f'bytes: {" ".join(str(error).split())}'
        ) from error
      images.add(image, f'row {i}')
  return images.to_array()

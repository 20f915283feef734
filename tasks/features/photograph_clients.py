# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients of photographs, in the files that TFF's loaders write."""

from collections.abc import Mapping
from collections.abc import Sequence
import hashlib
import os
import pathlib
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from tasks import class_labels

from absl import logging
import numpy as np
import tensorflow as tf

_HELD_OUT_CLIENT_EXAMPLES = 100
# The features that TFF writes.
_FEATURES = {
  'image/encoded_jpeg': tf.io.FixedLenFeature([], tf.string),
  'class': tf.io.FixedLenFeature([], tf.int64),
}
# Must change whenever the result of `_decode` changes.
_DECODING = 'central square, bilinear, rounded'


class Records:
  """Some records of a TFRecord file."""

  def __init__(
    self, path: pathlib.Path, offsets: Sequence[int] | None = None
  ) -> None:
    """Stores the arguments; reads nothing yet.

    Args:
      path: A TFRecord file of photographs.
      offsets: The offsets of the records in bytes; None for all records.
    """
    self._path = path
    self._offsets = offsets

  def read(self) -> list[bytes]:
    """Returns the records' payloads."""
    offsets = self._offsets
    if offsets is None:
      offsets = _record_offsets(self._path)
    return [datasets.read_record(self._path, offset) for offset in offsets]


def _record_offsets(path: str | os.PathLike[str]) -> list[int]:
  return [offset for offset, *_ in datasets.scan_records(path)]


def user_records(folder: pathlib.Path) -> dict[str, Records]:
  """Returns the records of each user that has photographs."""
  with os.scandir(folder) as entries:
    sizes = {
      entry.name: entry.stat().st_size for entry in entries if entry.is_file()
    }
  # TFF also writes empty files, for users whose photographs it did not find.
  users = sorted(name for name, size in sizes.items() if size)
  if not users:
    raise errors.InputError(
      f'The folder {folder} must hold a TFRecord file of each user, got no '
      f'photographs ({len(sizes)} empty files).'
    )
  if len(users) < len(sizes):
    logging.warning(
      '%d of %d users in %s have no photographs and are left out.',
      len(sizes) - len(users),
      len(sizes),
      folder,
    )
  return {user: Records(folder / user) for user in users}


def held_out_records(path: pathlib.Path) -> dict[str, Records]:
  """Divides held-out photographs at random, in the same way for every seed.

  Kept features then serve all seeds.
  """
  offsets = np.array(_record_offsets(path), np.int64)
  if len(offsets) < 2 * datasets.MIN_FEW_SHOT_EXAMPLES:
    raise errors.InputError(
      f'The file {path} must hold at least '
      f'{2 * datasets.MIN_FEW_SHOT_EXAMPLES} photographs, for validation and '
      f'testing, got {len(offsets)}.'
    )
  stream = datasets.random_generator('held-out photographs')
  num_clients = max(2, round(len(offsets) / _HELD_OUT_CLIENT_EXAMPLES))
  parts = np.array_split(stream.permutation(offsets), num_clients)
  return {
    f'held_out_{number:04d}': Records(path, np.sort(part).tolist())
    for number, part in enumerate(parts)
  }


class PhotographClientData(datasets.ClientData):
  """Clients of photographs, which are decoded when a client is loaded."""

  def __init__(
    self,
    records: Mapping[str, Records],
    *,
    image_size: int,
    num_classes: int,
  ) -> None:
    """Stores the arguments; reads nothing yet.

    Args:
      records: The records of each client, in TFF's format.
      image_size: The height and width that central squares are resized to.
      num_classes: The number of classes; labels are 0 to num_classes - 1.
    """
    self._records = {key: records[key] for key in sorted(records)}
    self._image_size = image_size
    self._num_classes = num_classes

  @property
  def client_ids(self) -> tuple[str, ...]:
    return tuple(self._records)

  @property
  def element_spec(self) -> Any:
    return (
      tf.TensorSpec([self._image_size, self._image_size, 3], tf.uint8),
      tf.TensorSpec([], tf.int32),
    )

  def load_client(self, client_id: str) -> datasets.Examples:
    payloads = self._read(client_id)
    dataset = tf.data.Dataset.from_tensor_slices(payloads)
    dataset = dataset.map(self._decode, num_parallel_calls=tf.data.AUTOTUNE)
    try:
      images, labels = next(iter(dataset.batch(len(payloads))))
    except tf.errors.OpError as error:
      raise errors.InputError(
        f'The photographs of client {client_id!r} must be records of a JPEG '
        'image and a class, and cannot be decoded '
        f'({errors.first_line(error)}).'
      ) from error
    try:
      class_labels.check_labels('class', labels.numpy(), self._num_classes)
    except errors.InputError as error:
      raise errors.InputError(f'Client {client_id!r}: {error}') from error
    return datasets.validate_examples(
      (images.numpy(), labels.numpy().astype(np.int32)),
      client_id=client_id,
      element_spec=self.element_spec,
    )

  def content_key(self, client_id: str) -> str:
    """Returns a key that changes with the result of `load_client`."""
    digest = hashlib.sha256()
    for payload in self._read(client_id):
      digest.update(len(payload).to_bytes(8, 'little'))
      digest.update(payload)
    return f'{_DECODING}, {self._image_size}: {digest.hexdigest()}'

  def _read(self, client_id: str) -> list[bytes]:
    if client_id not in self._records:
      raise datasets.unknown_client_error(client_id, self.client_ids)
    try:
      return self._records[client_id].read()
    except errors.InputError as error:
      raise errors.InputError(f'Client {client_id!r}: {error}') from error

  def _decode(self, payload: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    example = tf.io.parse_single_example(payload, _FEATURES)
    image = tf.io.decode_jpeg(example['image/encoded_jpeg'], channels=3)
    shape = tf.shape(image)
    side = tf.minimum(shape[0], shape[1])
    top, left = (shape[0] - side) // 2, (shape[1] - side) // 2
    square = image[top : top + side, left : left + side]
    resized = tf.image.resize(square, [self._image_size, self._image_size])
    rounded = tf.cast(tf.round(resized), tf.uint8)
    return tf.ensure_shape(
      rounded, [self._image_size, self._image_size, 3]
    ), example['class']

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files of labelled images, some of them for testing, not yet divided."""

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import os
import pathlib
from typing import Any
import zipfile

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff import regular_files
from tasks import checks
from tasks import tff_files

import numpy as np
import tensorflow_federated as tff

NUM_CIFAR100_CLASSES = 100
_ARRAYS = ('images', 'labels', 'is_test')


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledImages:
  """A data set of images.

  Attributes:
    images: [n, ...]; of a file uint8 [n, height, width, 3], RGB.
    labels: int32 [n].
    is_test: bool [n], which are for validation and testing.
  """

  images: np.ndarray
  labels: np.ndarray
  is_test: np.ndarray


def read_npz(
  path: str | os.PathLike[str], *, num_classes: int
) -> LabelledImages:
  """Reads a file of the arrays images, labels and is_test.

  Args:
    path: An .npz file.
    num_classes: Labels are 0 to num_classes - 1.

  Raises:
    errors.InputError: If the file cannot be read, or the arrays are others.
  """
  try:
    with (
      open(path, 'rb', opener=regular_files.opener) as file,
      zipfile.ZipFile(file) as archive,
    ):
      names = datasets.npz_array_names(archive)
      arrays = {
        name: datasets.read_npz_array(archive, name)
        for name in _ARRAYS
        if name in names
      }
  except datasets.NPZ_READ_ERRORS as error:
    reason = getattr(error, 'strerror', None) or ' '.join(str(error).split())
    reason = reason or type(error).__name__
    raise errors.InputError(
      f'The images in {os.fspath(path)} cannot be read ({reason}); an .npz '
      f'file with the arrays {", ".join(_ARRAYS)} was expected.'
    ) from error
  for name in _ARRAYS:
    if name not in arrays:
      raise errors.InputError(
        f'The file {os.fspath(path)} holds no array {name!r}; '
        f'{", ".join(_ARRAYS)} were expected.'
      )
  images, labels, is_test = arrays.values()
  shapes = {labels.shape, is_test.shape}
  if (
    images.dtype != np.uint8
    or images.ndim != 4
    or images.shape[-1] != 3
    or not np.issubdtype(labels.dtype, np.integer)
    or shapes != {(len(images),)}
  ):
    raise errors.InputError(
      f'The file {os.fspath(path)} holds images {images.dtype.name}'
      f'{list(images.shape)}, labels {labels.dtype.name}{list(labels.shape)} and '
      f'is_test {is_test.dtype.name}{list(is_test.shape)}; images uint8 [n, '
      'height, width, 3], integer labels [n] and is_test [n] were expected.'
    )
  try:
    checks.check_labels('labels', labels, num_classes)
  except errors.InputError as error:
    raise errors.InputError(f'The file {os.fspath(path)}: {error}') from error
  return LabelledImages(
    images=images,
    labels=labels.astype(np.int32),
    is_test=is_test.astype(bool),
  )


def standardization(
  mean: Sequence[float], deviation: Sequence[float]
) -> Callable[[datasets.Examples], datasets.Examples]:
  """Returns how pixels become float32, from (x uint8 [..., 3], y).

  Args:
    mean: Of the three channels' values between 0 and 1, which becomes 0.
    deviation: Of the same, which becomes 1.
  """

  def preprocess(examples: datasets.Examples) -> datasets.Examples:
    x, y = examples
    x = x.astype(np.float32) / 255
    return (x - np.float32(mean)) / np.float32(deviation), y

  return preprocess


def augment(
  create_model: Callable[..., tff.learning.models.FunctionalModel],
  mean: Sequence[float],
  deviation: Sequence[float],
) -> Callable[..., tff.learning.models.FunctionalModel]:
  """Returns what creates a model that crops and mirrors images in training.

  Args:
    create_model: The function that creates the model.
    mean: See `standardization`, whose images the model takes.
    deviation: See `standardization`.
  """
  black = tuple(-m / d for m, d in zip(mean, deviation, strict=True))

  def create(
    *arguments: Any, **options: Any
  ) -> tff.learning.models.FunctionalModel:
    return models.augment_images(
      create_model(*arguments, **options), fill=black
    )

  return create


def read_cifar100(path: pathlib.Path, *, task: str) -> LabelledImages:
  """Reads CIFAR-100: all images of TFF's clients, or those of an .npz file.

  Args:
    path: cifar100.sqlite, as TFF unpacks it, or a file for `read_npz`.
    task: Of which task, for messages.

  Raises:
    errors.InputError: If the file cannot be read, or is another.
  """
  if path.suffix != '.sqlite':
    return read_npz(path, num_classes=NUM_CIFAR100_CLASSES)
  splits = tff_files.load_tff_data(
    task,
    tff.simulation.datasets.cifar100.load_data,
    path.name,
    splits=('train', 'test'),
    data_dir=str(path.parent),
    download=None,
  )
  images, labels, is_test = [], [], []
  for source, is_held_out in zip(splits, (False, True), strict=True):
    clients = datasets.TffClientData(source)
    for client_id in clients.client_ids:
      examples = clients.load_client(client_id)
      images.append(examples['image'])
      labels.append(examples['label'])
      is_test.append(np.full(len(labels[-1]), is_held_out))
  return LabelledImages(
    images=np.concatenate(images),
    labels=np.concatenate(labels).astype(np.int32),
    is_test=np.concatenate(is_test),
  )

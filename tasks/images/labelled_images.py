# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files of labelled training and test images, not yet divided."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import os
import pathlib
import typing
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from tasks import class_labels
from tasks import tff_files

import numpy as np

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff

NUM_CIFAR10_CLASSES = 10
NUM_CIFAR100_CLASSES = 100
# The option of tasks that can `augment` their images.
AUGMENT_OPTION = fields.Field(
  False,
  fields.boolean,
  'Whether training crops images, padded by 4 black pixels, and mirrors them '
  'at random, as the published code does.',
)
_ARRAYS = ('images', 'labels', 'is_test')


def images_option(default: str) -> fields.Field:
  """Returns the option that names the file of images, given its default."""
  return fields.Field(
    default, fields.text, 'The file of images, below --data_dir.'
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledImages:
  """A data set of images.

  Attributes:
    images: The images [n, ...]; from a file, uint8 [n, height, width, 3], RGB.
    labels: The labels, int32 [n].
    is_test: Whether each image is for validation or testing, bool [n].
  """

  images: np.ndarray
  labels: np.ndarray
  is_test: np.ndarray


def read_npz(
  path: str | os.PathLike[str], *, num_classes: int
) -> LabelledImages:
  """Reads an .npz file of the arrays images, labels and is_test.

  Labels are 0 to num_classes - 1.
  """
  try:
    with datasets.open_archive(path) as archive:
      names = datasets.npz_array_names(archive)
      arrays = {
        name: datasets.read_npz_array(archive, name)
        for name in _ARRAYS
        if name in names
      }
  except datasets.NPZ_READ_ERRORS as error:
    reason = getattr(error, 'strerror', None) or errors.first_line(error)
    raise errors.InputError(
      f'{os.fspath(path)} must be an .npz file with the arrays '
      f'{", ".join(_ARRAYS)}, and the images in it cannot be read ({reason}).'
    ) from error
  for name in _ARRAYS:
    if name not in arrays:
      raise errors.InputError(
        f'The file {os.fspath(path)} must hold the arrays '
        f'{", ".join(_ARRAYS)}, got no array {name!r}.'
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
      f'The file {os.fspath(path)} must hold images uint8 [n, height, width, '
      '3], integer labels [n] and is_test [n], got images '
      f'{images.dtype.name}{list(images.shape)}, labels '
      f'{labels.dtype.name}{list(labels.shape)} and is_test '
      f'{is_test.dtype.name}{list(is_test.shape)}.'
    )
  try:
    class_labels.check_labels('labels', labels, num_classes)
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
  """Returns a function that standardizes the pixels of (x uint8 [..., 3], y).

  The resulting float32 pixels have mean 0 and deviation 1 in each channel.

  Args:
    mean: The means of the three channels, for values in [0, 1].
    deviation: The standard deviations of the three channels, for the same.
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
  """Returns a function that creates the model with augmentation in training.

  In training, the model crops and mirrors images at random.

  Args:
    create_model: The function that creates the plain model.
    mean: The channels' means, with which `standardization` made the images that
      the model takes.
    deviation: The channels' standard deviations, for the same.
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
    path: The path of TFF's unpacked cifar100.sqlite, or of a file for
      `read_npz`.
    task: The name of the task, for error messages.
  """
  if path.suffix != '.sqlite':
    return read_npz(path, num_classes=NUM_CIFAR100_CLASSES)

  import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

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

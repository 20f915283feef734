# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Federated iNaturalist and Google Landmarks: photographs by user or place.

A client of iNaturalist is a user in the split user_120k (users-120k in Fed3R),
and a place in the splits geo_*. Landmarks' split gld160k has 2,028 landmarks
and 1,262 users, gld23k 203 and 233. All are of Hsu, Qi and Brown (2020,
arXiv:2003.08082). data_dir is the folder that TFF's loader,
`tff.simulation.datasets.inaturalist.load_data` or `gldv2.load_data`, filled as
its cache_dir.

TFF's loaders divide downloaded photographs into one TFRecord file of JPEG
images per user, in a folder train, and a file test.tfRecord of all held-out
ones. This module reads the files itself and leaves only their creation to the
loaders, because these start a download when something is missing, write log
files to the working folder, and decode images in their full size, one at a
time. The loaders of TFF 0.87 fail with a TypeError (in load_tfrecord) when they
read their own files; the files are complete by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import functools
import os
import pathlib
import typing
from typing import NamedTuple

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from tasks import options
from tasks.features import extractors
from tasks.task import Task

import numpy as np

if typing.TYPE_CHECKING:
  from tasks.features import photograph_clients

_TRAIN_FOLDER = 'train'
_TEST_FILE = 'test.tfRecord'


class Split(NamedTuple):
  """A way to divide photographs among clients.

  Attributes:
    num_classes: The number of classes.
    folders: The names that its folder may have.
  """

  num_classes: int
  folders: Sequence[str]


def _find_folder(
  name: str, data_dir: str | None, folders: Sequence[str], made_by: str
) -> pathlib.Path:
  """Returns the folder of a split's files.

  Args:
    name: The name of the task, for error messages.
    data_dir: The folder that TFF's loader was given as cache_dir.
    folders: The names that the split's folder may have in it.
    made_by: The name of TFF's loader.
  """
  if data_dir is None:
    raise errors.InputError(
      f'Task {name!r} must have the cache_dir of {made_by} as data_dir, got '
      'none (the task generated_features has clients of the same sizes, '
      'without photographs).'
    )
  parent = pathlib.Path(os.path.expanduser(data_dir))
  for folder in (parent / candidate for candidate in folders):
    if (folder / _TRAIN_FOLDER).is_dir() and (folder / _TEST_FILE).is_file():
      return folder
  raise errors.InputError(
    f'Task {name!r} must have the cache_dir of {made_by} as data_dir, got no '
    f'folder {parent / folders[0]} with the folder {_TRAIN_FOLDER} and the '
    f'file {_TEST_FILE} (the task generated_features has clients of the same '
    'sizes, without photographs).'
  )


def create_photographs_task(
  name: str,
  splits: Mapping[str, Split],
  made_by: str,
  *,
  seed: int,
  data_dir: str | None = None,
  split: str,
  inputs: str,
  extractor: str,
  weights: str | None,
  image_size: int,
  unit_features: bool,
  feature_dir: str | None,
  validation_fraction: float,
  cache_megabytes: int,
  trust_saved_models: bool = False,
) -> Task:
  """Creates a task of a split's photographs, which are cropped to squares.

  The first three arguments are the task's name, its splits by name, and the
  name of TFF's loader, for errors; `_declare_options` describes the options.
  The seed is that of the choice of validation photographs. data_dir is the
  folder of TFF's files. trust_saved_models says whether the extractor may be a
  model from a file.

  Returns:
    The task: x float32 [features], [image_size, image_size, 3] of 0 to 255 or
    [numbers of the layer's input], y int32; metric accuracy.
  """
  # It imports TensorFlow.
  from tasks.features import photograph_clients  # pylint: disable=g-import-not-at-top

  num_classes, folders = splits[split]
  folder = _find_folder(name, data_dir, folders, made_by)
  network = extractors.create_extractor(
    extractor,
    weights=weights,
    image_size=image_size,
    data_dir=data_dir,
    trusted=trust_saved_models,
  )
  frozen, trained = extractors.divide(
    network, inputs, unit_features=unit_features
  )

  def clients(
    records: Mapping[str, photograph_clients.Records],
  ) -> datasets.ClientData:
    decoded = photograph_clients.PhotographClientData(
      records, image_size=image_size, num_classes=num_classes
    )
    if frozen is None:
      return decoded
    if feature_dir is None:
      return datasets.FeatureClientData(decoded, frozen.extract)
    return datasets.FileFeatureClientData(
      decoded, datasets.FeatureCache(frozen, feature_dir), decoded.content_key
    )

  test, validation, _ = datasets.split_clients(
    clients(photograph_clients.held_out_records(folder / _TEST_FILE)),
    validation_fraction=validation_fraction,
    test_fraction=0,
    seed=seed,
  )
  feature_map = extractors.create_feature_map(
    trained,
    input_shape=(image_size, image_size, 3)
    if frozen is None
    else (frozen.num_features,),
  )

  def preprocess(examples: datasets.Examples) -> datasets.Examples:
    x, y = examples
    if trained is None and unit_features:
      x = extractors.to_unit_length(x)
    return x.astype(np.float32, copy=False), y

  return Task(
    name=name,
    train=clients(photograph_clients.user_records(folder / _TRAIN_FOLDER)),
    validation=validation,
    test=test,
    create_model=lambda: models.create_feature_classifier(
      feature_map, num_classes=num_classes
    ),
    feature_map=feature_map,
    metric='accuracy',
    higher_is_better=True,
    label_sampler=models.categorical_label_sampler(),
    tensor_names=models.feature_classifier_tensor_names(feature_map),
    preprocess=preprocess,
    cache_bytes=cache_megabytes * 2**20,
  )


INATURALIST_SPLITS = {
  # TFF reads from a folder in upper case, but writes to one in lower case.
  split: Split(1203, folders=(split.upper(), split))
  for split in (
    'user_120k',
    'geo_100',
    'geo_300',
    'geo_1k',
    'geo_3k',
    'geo_10k',
    'geo_30k',
  )
}
_LANDMARKS_SPLITS = {
  'gld160k': Split(2028, folders=('gld160k',)),
  'gld23k': Split(203, folders=('gld23k',)),
}


def _declare_options(
  split: str, splits: Mapping[str, Split]
) -> dict[str, fields.Field]:
  """Returns the options of a task, given its usual split and all splits."""
  return {
    'split': fields.Field(
      split,
      fields.one_of(*splits),
      f'The split of users or places: {", ".join(splits)}.',
    ),
    **extractors.options(
      extractor='mobilenet_v2',
      image_size=224,
      layers='such as block_16_expand of mobilenet_v2',
      validation=fields.Field(
        0.5,
        fields.below_1,
        'The share of held-out photographs for validation.',
      ),
    ),
    'cache_megabytes': options.cache_megabytes(
      4096,
      'all features of 1,280 numbers take 800 (iNaturalist) or 900 (Landmarks)',
    ),
  }


TASKS = {
  'inaturalist': options.declare(
    _declare_options('user_120k', INATURALIST_SPLITS)
  )(
    functools.partial(
      create_photographs_task,
      'inaturalist',
      INATURALIST_SPLITS,
      'tff.simulation.datasets.inaturalist.load_data',
    )
  ),
  'landmarks': options.declare(_declare_options('gld160k', _LANDMARKS_SPLITS))(
    functools.partial(
      create_photographs_task,
      'landmarks',
      _LANDMARKS_SPLITS,
      'tff.simulation.datasets.gldv2.load_data',
    )
  ),
}

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Federated iNaturalist: photographs of 1,203 species, a client being a user.

Or a place, in the splits geo_*. Divided by Hsu, Qi and Brown (2020,
arXiv:2003.08082); Fed3R's users-120k is user_120k here. data_dir is the folder
that `tff.simulation.datasets.inaturalist.load_data` made as its cache_dir. See
`tasks.features.photographs`.
"""

from tasks import checks
from tasks.features import extractors
from tasks.features import photographs
from tasks.task import Task

NAME = 'inaturalist'
_NUM_CLASSES = 1203
SPLITS = (
  'user_120k',
  'geo_100',
  'geo_300',
  'geo_1k',
  'geo_3k',
  'geo_10k',
  'geo_30k',
)


def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  split: str = 'user_120k',
  inputs: str = 'features',
  extractor: str = 'mobilenet_v2',
  weights: str | None = None,
  image_size: int = 224,
  unit_features: bool = True,
  feature_dir: str | None = extractors.FEATURE_DIR,
  validation_fraction: float = 0.5,
  cache_megabytes: int = 4096,
) -> Task:
  """Creates the task.

  Args:
    seed: Decides which held-out photographs are for validation.
    data_dir: Folder of the files that TFF made.
    split: user_120k, geo_100, geo_300, geo_1k, geo_3k, geo_10k or geo_30k.
    inputs: features, images for a model that includes the extractor, or the
      name of a layer for one that includes it from this layer on, the rest
      being frozen, such as block_16_expand of mobilenet_v2.
    extractor: mobilenet_v2, squeezenet, or file for any Keras model or
      SavedModel of images with values of 0 to 255.
    weights: The extractor's file, in `data_dir` unless it is an absolute path;
      None for its published name.
    image_size: Height and width of images.
    unit_features: Whether features are divided by their length.
    feature_dir: Folder that features are kept in, for other runs; None for
      nowhere.
    validation_fraction: Share of the held-out photographs for validation.
    cache_megabytes: Budget for keeping clients in memory, in 2^20 bytes, for
      each of training, validation and test clients; all features of 1,280
      numbers take 800.

  Returns:
    The task: x float32 [features], [image_size, image_size, 3] of 0 to 255 or
    [numbers of the layer's input], y int32; metric accuracy.

  Raises:
    errors.InputError: If an option is out of range or the data cannot be used.
  """
  checks.check_choice('split', split, SPLITS)
  folder = photographs.find_folder(
    NAME,
    data_dir,
    # TFF reads the one and writes the other.
    [split.upper(), split],
    'tff.simulation.datasets.inaturalist.load_data',
  )
  return photographs.create_photographs_task(
    NAME,
    folder,
    num_classes=_NUM_CLASSES,
    seed=seed,
    data_dir=data_dir,
    inputs=inputs,
    extractor=extractor,
    weights=weights,
    image_size=image_size,
    unit_features=unit_features,
    feature_dir=feature_dir,
    validation_fraction=validation_fraction,
    cache_megabytes=cache_megabytes,
  )

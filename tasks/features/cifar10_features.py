# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""CIFAR-10 on the features of a pretrained network.

Small photographs of 10 classes, read from an .npz file in data_dir with the
arrays images (uint8 [n, 32, 32, 3]), labels (integers [n]) and is_test ([n]):
all 60,000 images or a sample. See `tasks.features.image_features`.
"""

from tasks.features import extractors
from tasks.features import image_features
from tasks.task import Task

NAME = 'cifar10_features'
_NUM_CLASSES = 10


def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  images: str = 'cifar10.npz',
  inputs: str = 'features',
  num_clients: int = 100,
  alpha: float = 0.0,
  extractor: str = 'squeezenet',
  weights: str | None = None,
  image_size: int = 128,
  unit_features: bool = True,
  feature_dir: str | None = extractors.FEATURE_DIR,
  validation_fraction: float = 0.5,
) -> Task:
  """Creates the task.

  Args:
    seed: Decides the division, and which held-out images are for validation.
    data_dir: Folder of the files; None for the working folder.
    images: The file of images in `data_dir`.
    inputs: features, images for a model that includes the extractor, or the
      name of a layer for one that includes it from this layer on, the rest
      being frozen: fire2, fire2/expand, fire3 to fire9/expand of squeezenet.
    num_clients: Clients that training images are divided among, at least 10 if
      alpha is 0.
    alpha: Concentration per label of clients' label proportions; 0 for clients
      of one class each.
    extractor: squeezenet, mobilenet_v2, or file for any Keras model or
      SavedModel of images with values of 0 to 255.
    weights: The extractor's file, in `data_dir` unless it is an absolute path;
      None for its published name.
    image_size: Height and width that images are resized to for the extractor.
    unit_features: Whether features are divided by their length.
    feature_dir: Folder that features are kept in, for other runs; None for
      nowhere.
    validation_fraction: Share of the held-out images that are for validation.

  Returns:
    The task: x float32 [features], [32, 32, 3] of 0 to 255 or [numbers of the
    layer's input], y int32; metric accuracy.

  Raises:
    errors.InputError: If an option is out of range or the data cannot be used.
  """
  return image_features.create_image_features_task(
    NAME,
    image_features.read_npz(
      extractors.find_file(images, data_dir), num_classes=_NUM_CLASSES
    ),
    num_classes=_NUM_CLASSES,
    seed=seed,
    data_dir=data_dir,
    inputs=inputs,
    num_clients=num_clients,
    alpha=alpha,
    extractor=extractor,
    weights=weights,
    image_size=image_size,
    unit_features=unit_features,
    feature_dir=feature_dir,
    validation_fraction=validation_fraction,
  )

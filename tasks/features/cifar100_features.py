# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""CIFAR-100 on the features of a pretrained network, divided as Fed3R's.

A task beside cifar100, not an option of it: there, the clients are those that
TFF publishes; here all images are divided anew, as Fed3R (Fani et al., 2024)
does among 100 clients. See `tasks.features.image_features`.

Images are read from TFF's file cifar100.sqlite in data_dir (50,000 for training
and 10,000 held out, as published), or from an .npz file with the arrays images
(uint8 [n, 32, 32, 3]), labels (integers [n]) and is_test ([n]).
"""

import os
import pathlib

from fedfish_tff import datasets
from tasks import tff_files
from tasks.features import extractors
from tasks.features import image_features
from tasks.task import Task

import numpy as np
import tensorflow_federated as tff

NAME = 'cifar100_features'
_NUM_CLASSES = 100


def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  images: str = 'cifar100.sqlite',
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
    num_clients: Clients that training images are divided among, at least 100
      if alpha is 0.
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
  path = extractors.find_file(images, data_dir)
  if path.suffix == '.sqlite':
    data = _read_tff(path)
  else:
    data = image_features.read_npz(path, num_classes=_NUM_CLASSES)
  return image_features.create_image_features_task(
    NAME,
    data,
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


def _read_tff(path: pathlib.Path) -> image_features.LabelledImages:
  """Reads all images of TFF's clients."""
  splits = tff_files.load_tff_data(
    NAME,
    tff.simulation.datasets.cifar100.load_data,
    os.path.basename(path),
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
  return image_features.LabelledImages(
    images=np.concatenate(images),
    labels=np.concatenate(labels).astype(np.int32),
    is_test=np.concatenate(is_test),
  )

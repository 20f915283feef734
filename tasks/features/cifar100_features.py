# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""CIFAR-100 on the features of a pretrained network, divided as Fed3R's.

A task beside cifar100, not an option of it: there, the clients are those that
TFF publishes; here all images are divided anew, as Fed3R (Fani et al., 2024)
does among 100 clients. See `image_features.create_image_features_task`.

Images are read from TFF's file cifar100.sqlite in data_dir (50,000 for training
and 10,000 held out, as published), or from an .npz file with the arrays images
(uint8 [n, 32, 32, 3]), labels (integers [n]) and is_test ([n]).
"""

import functools
import pathlib

from fedfish_tff import datasets
from tasks import tff_files
from tasks.features import image_features

import numpy as np
import tensorflow_federated as tff

NAME = 'cifar100_features'
_NUM_CLASSES = 100


def _read_images(path: pathlib.Path) -> image_features.LabelledImages:
  """Reads all images of TFF's clients, or those of an .npz file."""
  if path.suffix != '.sqlite':
    return image_features.read_npz(path, num_classes=_NUM_CLASSES)
  splits = tff_files.load_tff_data(
    NAME,
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
  return image_features.LabelledImages(
    images=np.concatenate(images),
    labels=np.concatenate(labels).astype(np.int32),
    is_test=np.concatenate(is_test),
  )


create_task = functools.partial(
  image_features.create_image_features_task,
  NAME,
  _read_images,
  _NUM_CLASSES,
  images='cifar100.sqlite',
)

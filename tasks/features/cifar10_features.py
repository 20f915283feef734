# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""CIFAR-10 on the features of a pretrained network.

The photographs of 10 classes are read from an .npz file in data_dir with the
arrays images (uint8 [n, 32, 32, 3]), labels (integers [n]) and is_test ([n]):
all 60,000 images or a sample. See `image_features.create_image_features_task`.
"""

import functools

from tasks.features import image_features
from tasks.images import labelled_images

NAME = 'cifar10_features'
_NUM_CLASSES = 10

create_task = functools.partial(
  image_features.create_image_features_task,
  NAME,
  functools.partial(labelled_images.read_npz, num_classes=_NUM_CLASSES),
  _NUM_CLASSES,
  images='cifar10.npz',
)

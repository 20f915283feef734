# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""CIFAR-10 among clients of a few classes, as SRPFL was tried on it.

Small photographs of 10 classes, read from an .npz file in data_dir with the
arrays images (uint8 [n, 32, 32, 3]), labels (integers [n]) and is_test ([n]):
all 60,000 images or a sample. LeNet-5, 100 clients of 5 classes, and the
channels' mean and deviation are those of Tziotis et al. (2022,
arXiv:2206.02078) and their code, which also crops and mirrors images at random,
as the option `augment` does. See `cifar_shards.create_cifar_task`.
"""

import functools

from fedfish_tff import models
from tasks.images import cifar_shards
from tasks.images import labelled_images

NAME = 'cifar10'
_NUM_CLASSES = 10

create_task = functools.partial(
  cifar_shards.create_cifar_task,
  NAME,
  functools.partial(labelled_images.read_npz, num_classes=_NUM_CLASSES),
  models.create_lenet5,
  _NUM_CLASSES,
  (0.485, 0.456, 0.406),
  (0.229, 0.224, 0.225),
  images='cifar10.npz',
  classes_per_client=5,
)

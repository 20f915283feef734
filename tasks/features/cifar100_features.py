# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""CIFAR-100 on the features of a pretrained network, divided as in Fed3R.

The task cifar100 has the clients that TFF publishes. This task divides all
images anew among 100 clients, as Fed3R (Fani et al., 2024) does. See
`image_features.create_image_features_task`.

Images are read from TFF's file cifar100.sqlite in data_dir (50,000 for training
and 10,000 held-out ones, as published), or from an .npz file with the arrays
images (uint8 [n, 32, 32, 3]), labels (integers [n]) and is_test ([n]).
"""

import functools

from tasks.features import image_features
from tasks.images import labelled_images

NAME = 'cifar100_features'


create_task = functools.partial(
  image_features.create_image_features_task,
  NAME,
  functools.partial(labelled_images.read_cifar100, task=NAME),
  labelled_images.NUM_CIFAR100_CLASSES,
  images='cifar100.sqlite',
)

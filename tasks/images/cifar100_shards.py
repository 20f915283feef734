# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""CIFAR-100 among clients of a few classes, as SRPFL was tried on it.

A task beside cifar100, whose clients are those that TFF publishes. Read from
TFF's file cifar100.sqlite in data_dir, or from an .npz file as cifar10 is. A
wider LeNet-5 with dropout, 100 clients of 20 classes, and the channels' mean
and deviation are those of Tziotis et al. (2022, arXiv:2206.02078) and their
code, which also crops and mirrors images at random, as the option `augment` does.
See `cifar_shards.create_cifar_task`.
"""

import functools

from fedfish_tff import models
from tasks.images import cifar_shards
from tasks.images import labelled_images

NAME = 'cifar100_shards'

create_task = functools.partial(
  cifar_shards.create_cifar_task,
  NAME,
  functools.partial(labelled_images.read_cifar100, task=NAME),
  functools.partial(
    models.create_lenet5,
    filters=(64, 128),
    hidden_units=(256, 128),
    dropout=0.6,
  ),
  labelled_images.NUM_CIFAR100_CLASSES,
  (0.507, 0.487, 0.441),
  (0.267, 0.256, 0.276),
  images='cifar100.sqlite',
  classes_per_client=20,
)

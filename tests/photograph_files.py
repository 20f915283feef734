# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files of photographs by user, as TFF's loaders make them, for tests."""

import pathlib

import numpy as np
import tensorflow as tf


def write(folder, *, num_users=5, num_test=24, num_classes=7, seed=0):
  """Writes smooth random JPEG images of different sizes.

  Args:
    folder: The split's folder.
    num_users: User u has u + 1 images.
    num_test: Held-out images.
    num_classes: Labels are below.
    seed: Of images and labels.
  """
  rng = np.random.default_rng(seed)
  train = pathlib.Path(folder) / 'train'
  train.mkdir(parents=True)
  for user in range(num_users):
    write_records(train / f'user{user}', user + 1, num_classes, rng)
  write_records(
    pathlib.Path(folder) / 'test.tfRecord', num_test, num_classes, rng
  )


def write_records(path, num_images, num_classes, rng):
  """Writes one file."""
  with tf.io.TFRecordWriter(str(path)) as writer:
    for _ in range(num_images):
      shape = rng.integers(20, 60, 2)
      image = tf.image.resize(rng.random([3, 3, 3]) * 255, shape)
      writer.write(
        make_record(
          tf.io.encode_jpeg(tf.cast(image, tf.uint8)).numpy(),
          int(rng.integers(num_classes)),
        )
      )


def make_record(jpeg, label):
  """Returns a record of an image's bytes and its class."""
  return tf.train.Example(
    features=tf.train.Features(
      feature={
        'image/encoded_jpeg': tf.train.Feature(
          bytes_list=tf.train.BytesList(value=[jpeg])
        ),
        'class': tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
      }
    )
  ).SerializeToString()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pretrained networks that tasks on photographs take as an option."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import os
import pathlib

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from tasks import networks

from absl import logging
import numpy as np

# The default folder for features.
FEATURE_DIR = '~/.cache/fedfish_tff/features'
EXTRACTORS = ('squeezenet', 'mobilenet_v2', 'file')
_SQUEEZENET_FILE = 'squeezenet_weights_tf_dim_ordering_tf_kernels_notop.h5'
# The number of images whose features are kept in one file. An interrupted run
# loses the features of at most so many images.
_IMAGES_PER_FILE = 1000


def options(
  *, extractor: str, image_size: int, layers: str, validation: fields.Field
) -> dict[str, fields.Field]:
  """Returns the options of tasks on the features of a pretrained network.

  Args:
    extractor: The default of the option of that name.
    image_size: The default of the option of that name, in pixels.
    layers: Examples of layers that a model can begin with, for the help.
    validation: The declaration of `validation_fraction`.
  """
  return {
    'inputs': fields.Field(
      'features',
      fields.text,
      'features, images for a model that includes the extractor, or the name '
      'of a layer for a model that includes it from this layer on, with frozen '
      f'layers before: {layers}.',
    ),
    'extractor': fields.Field(
      extractor,
      fields.one_of(*EXTRACTORS),
      'squeezenet, mobilenet_v2, or file for any Keras model or SavedModel of '
      'images with values of 0 to 255.',
    ),
    'weights': fields.Field(
      None,
      fields.Optional(str, fields.text),
      "The extractor's file, below --data_dir unless it is an absolute path; "
      'None for its published name.',
    ),
    'image_size': fields.Field(
      image_size,
      fields.integer(1),
      'The height and width that images are resized to for the extractor.',
    ),
    'unit_features': fields.Field(
      True, fields.boolean, 'Whether features are divided by their length.'
    ),
    'feature_dir': fields.Field(
      FEATURE_DIR,
      fields.Optional(str, fields.text),
      'The folder where features are kept for other runs; None to keep none.',
    ),
    'validation_fraction': validation,
  }


def create_extractor(
  extractor: str,
  *,
  weights: str | None,
  image_size: int,
  data_dir: str | None,
  trusted: bool = False,
) -> models.FeatureMap:
  """Creates the extractor that a task's options name.

  Args:
    extractor: squeezenet, mobilenet_v2, or file for any model of RGB images
      with values of 0 to 255 (`models.load_extractor`).
    weights: The path of its file, below `data_dir` unless it is absolute; None
      for SqueezeNet's published file in `data_dir`, and for MobileNetV2 in
      Keras' own folder.
    image_size: The height and width that images are resized to.
    data_dir: The folder of the task's files.
    trusted: Whether a model in a file may be loaded, which may run code.

  Returns:
    An extractor of RGB images [n, height, width, 3].
  """
  import tensorflow as tf  # pylint: disable=g-import-not-at-top

  path = None if weights is None else find_file(weights, data_dir)
  if extractor == 'mobilenet_v2':
    return networks.load_mobilenet_v2(path, image_size=image_size)
  if extractor == 'squeezenet':
    path = path or find_file(_SQUEEZENET_FILE, data_dir)
    return networks.load_squeezenet(path, image_size=image_size)
  if path is None:
    raise errors.InputError(
      "weights must be the path of a model for extractor 'file', got None."
    )
  return models.load_extractor(
    path,
    trusted=trusted,
    preprocess=lambda images: models.resize_images(images, image_size),
    input_spec=tf.TensorSpec([None, None, None, 3], tf.float32),
  )


def find_file(path: str, data_dir: str | None) -> pathlib.Path:
  """Returns the path, taken below the task's folder unless it is absolute.

  Args:
    path: The path; ~ at its start means the home folder.
    data_dir: The folder, with ~ as in `path`; None for the working folder.
  """
  folder = os.path.expanduser(data_dir or os.curdir)
  return pathlib.Path(folder, os.path.expanduser(path))


def extract_in_parts(
  extract: Callable[[np.ndarray], np.ndarray], images: np.ndarray
) -> np.ndarray:
  """Returns the features of a whole data set, extracted part by part.

  The extraction comes before the division among clients, so that every division
  has the same features.

  Args:
    extract: The method `extract` of an extractor or a cache.
    images: The images [n, height, width, 3].

  Returns:
    Features [n, d].
  """
  features = np.empty([0, 0], np.float32)
  for start in range(0, len(images), _IMAGES_PER_FILE):
    logging.log_every_n_seconds(
      logging.INFO, 'Features of image %d of %d.', 10, start, len(images)
    )
    part = extract(images[start : start + _IMAGES_PER_FILE])
    if not start:
      # Allocated once, because inputs of inner layers may take gigabytes.
      features = np.empty([len(images), part.shape[1]], part.dtype)
    features[start : start + len(part)] = part
  return features


def kept_extract(
  extractor: models.FeatureMap, feature_dir: str | None
) -> Callable[[np.ndarray], np.ndarray]:
  """Returns the extractor's `extract`, cached if there is a folder."""
  if feature_dir is None:
    return extractor.extract
  return datasets.FeatureCache(extractor, feature_dir).extract


def divide(
  extractor: models.FeatureMap, inputs: str, *, unit_features: bool
) -> tuple[models.FeatureMap | None, models.FeatureMap | None]:
  """Divides an extractor into a frozen part and the model's part.

  Args:
    extractor: The whole extractor, with its layers.
    inputs: The model's inputs: features, images, or the name of the layer that
      the model begins with.
    unit_features: Whether the model's part returns features of length 1.

  Returns:
    (frozen, trained): frozen is None for images. trained is None for features;
    `to_unit_length` scales those.
  """
  if inputs == 'features':
    return extractor, None
  if inputs == 'images':
    frozen, trained = None, extractor
  else:
    try:
      frozen, trained = extractor.split(inputs)
    except errors.InputError as error:
      raise errors.InputError(
        f'inputs must be features, images or a layer, got {inputs!r} '
        f'({str(error).rstrip(".")}).'
      ) from error
  if unit_features:
    trained = models.with_unit_features(trained)
  return frozen, trained


def create_feature_map(
  trained: models.FeatureMap | None,
  *,
  input_shape: Sequence[int],
) -> models.FeatureMap:
  """Returns the feature map of the model's part of an extractor.

  Args:
    trained: The model's part, from `divide`.
    input_shape: The shape of one example's x.
  """
  if trained is None:
    return models.create_identity_features(*input_shape)
  return trained.with_input_shape(input_shape)


def to_unit_length(features: np.ndarray) -> np.ndarray:
  """Returns each row of features [n, d] divided by its length; 0 stays 0."""
  lengths = np.linalg.norm(features, axis=1, keepdims=True)
  return features / np.maximum(lengths, np.float32(1e-12))

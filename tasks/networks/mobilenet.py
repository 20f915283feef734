# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""MobileNetV2 as a feature extractor.

The network is that of Sandler et al. (2018, arXiv:1801.04381).
"""

from collections.abc import Iterator
import contextlib
import os
import pathlib

from fedfish_tff import errors
from fedfish_tff.models import feature_map
from fedfish_tff.models import frozen_graph
from fedfish_tff.models import layers
from fedfish_tff.models import stored_tensors

import tensorflow as tf

_URL = (
  'https://storage.googleapis.com/tensorflow/keras-applications/mobilenet_v2/'
)
# Five convolutions halve the image.
_LEAST_SIZE = 32


def load_mobilenet_v2(
  path: str | os.PathLike[str] | None = None,
  *,
  image_size: int = 224,
  width: float = 1.0,
) -> feature_map.FeatureMap:
  """Loads the MobileNetV2 of `keras.applications`, without its classifier.

  Nothing is downloaded. Batch normalisation uses the statistics in the file.
  Fed3R's authors use a network with group normalisation instead, which
  `load_extractor` can load from a file.

  Args:
    path: An .h5 file of the weights without the top layer; None for the file
      that Keras has downloaded to ~/.keras/models.
    image_size: The height and width that images are resized to, at least 32.
    width: The factor of the number of filters, the file's alpha.

  Returns:
    An extractor of 1,280 features (with a width of at most 1). It takes RGB
    images of any size, [n, height, width, 3], with values from 0 to 255.
  """
  layers.check_image_shape([image_size, image_size, 3], least=_LEAST_SIZE)
  if path is None:
    # Weights do not depend on the image size, which Keras has in files' names.
    name = f'mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{width}_224_no_top'
    path = pathlib.Path('~/.keras/models').expanduser() / f'{name}.h5'
    url = f' (published as {_URL}{name}.h5)'
  else:
    url = ''
  if not os.path.isfile(path):
    raise errors.InputError(
      f'There is no file {os.fspath(path)}, which must hold the weights of '
      f'MobileNetV2 without top{url}.'
    )
  try:
    # Keras reads tensors before it compares them.
    with stored_tensors.open_hdf5(path), _usual_settings():
      network = tf.keras.applications.MobileNetV2(
        input_shape=(image_size, image_size, 3),
        alpha=width,
        include_top=False,
        weights=os.fspath(path),
      )
  # Depending on the wrong byte, h5py and Keras raise nearly any exception.
  except Exception as error:
    raise errors.InputError(
      f'The weights of MobileNetV2 of width {width} cannot be read from '
      f'{os.fspath(path)} ({errors.first_line(error)}).'
    ) from error

  def preprocess(images: tf.Tensor) -> tf.Tensor:
    # From -1 to 1, see `keras.applications.mobilenet_v2.preprocess_input`.
    return feature_map.resize_images(images, image_size) / 127.5 - 1

  return frozen_graph.freeze_keras_model(
    network,
    preprocess=preprocess,
    input_spec=tf.TensorSpec([None, None, None, 3], tf.float32),
  )


@contextlib.contextmanager
def _usual_settings() -> Iterator[None]:
  """Lets Keras make layers that fit the weights, whatever keras.json says."""
  policy = tf.keras.mixed_precision.global_policy()
  data_format = tf.keras.backend.image_data_format()
  tf.keras.mixed_precision.set_global_policy('float32')
  tf.keras.backend.set_image_data_format('channels_last')
  try:
    yield
  finally:
    tf.keras.mixed_precision.set_global_policy(policy)
    tf.keras.backend.set_image_data_format(data_format)

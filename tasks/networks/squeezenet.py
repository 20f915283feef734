# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""SqueezeNet v1.1 as a feature extractor (Iandola et al. 2016).

It is the network of arXiv:1602.07360 in its authors' later version, which takes
2.4 times less computation. It has 722,496 weights before the classifier.
"""

from collections.abc import Sequence
import dataclasses
import os

from fedfish_tff import errors
from fedfish_tff.models import feature_map
from fedfish_tff.models import layers
from fedfish_tff.models import stored_tensors

import h5py
import numpy as np
import tensorflow as tf

_URL = (
  'https://github.com/rcmalli/keras-squeezenet/raw/'
  '62b3f05869108b7e6b0510739473bf6ccfbf1073/weights/'
  'squeezenet_weights_tf_dim_ordering_tf_kernels_notop.h5'
)
_NUM_FEATURES = 512
# Three poolings would leave nothing of smaller images.
_LEAST_SIZE = 31
# The mean of ImageNet's images (blue, green, red), with which the published
# weights were trained.
_MEAN = (103.939, 116.779, 123.68)

# The fire modules: the filters of the squeezing convolution, and of each of the
# two expanding ones.
_FIRES = {
  'fire2': (16, 64),
  'fire3': (16, 64),
  'fire4': (32, 128),
  'fire5': (32, 128),
  'fire6': (48, 192),
  'fire7': (48, 192),
  'fire8': (64, 256),
  'fire9': (64, 256),
}
# A fire module squeezes, then expands.
_EXPAND = '/expand'
_STEPS = (
  'conv1',
  *(step for fire in _FIRES for step in (fire, f'{fire}{_EXPAND}')),
)
_POOLED_AFTER = ('conv1', f'fire3{_EXPAND}', f'fire5{_EXPAND}')


def _kernel_shapes() -> dict[str, tuple[int, ...]]:
  """Returns the shape of each convolution's kernel, in the order of use."""
  shapes = {'conv1': (3, 3, 3, 64)}
  channels = 64
  for fire, (squeeze, expand) in _FIRES.items():
    shapes[f'{fire}/squeeze1x1'] = (1, 1, channels, squeeze)
    shapes[f'{fire}/expand1x1'] = (1, 1, squeeze, expand)
    shapes[f'{fire}/expand3x3'] = (3, 3, squeeze, expand)
    channels = 2 * expand
  return shapes


def load_squeezenet(
  path: str | os.PathLike[str], *, image_size: int = 128
) -> feature_map.FeatureMap:
  """Loads SqueezeNet v1.1 from a Keras file of weights.

  Args:
    path: An .h5 file with a group per convolution (conv1, fire2/squeeze1x1,
      fire2/expand1x1, ...), such as weights/
      squeezenet_weights_tf_dim_ordering_tf_kernels_notop.h5, which commit
      62b3f058 of https://github.com/rcmalli/keras-squeezenet holds.
    image_size: The height and width that images are resized to, at least 31.
      The network was trained with 227; smaller sizes are faster.

  Returns:
    An extractor of 512 features, the last layer's means over the image. It
    takes RGB images of any size, [n, height, width, 3], with values from 0 to
    255. It can be split before a fire module, fire2 to fire9, or within one,
    before fire2/expand to fire9/expand, where the inputs to store are smallest.
  """
  if not os.path.isfile(path):
    raise errors.InputError(
      f'There is no file {os.fspath(path)}, which must hold the weights of '
      f'SqueezeNet v1.1 without top (published as {_URL}).'
    )
  weights = []
  try:
    with stored_tensors.open_hdf5(path) as file:
      for layer, shape in _kernel_shapes().items():
        found = _find_weights(file, layer)
        for kind, expected in (('kernel', shape), ('bias', shape[-1:])):
          weight = found.get(kind)
          if weight is None or weight.shape != expected:
            raise errors.InputError(
              f'The file {os.fspath(path)} must hold {list(expected)} as '
              f'{kind} of {layer}, as SqueezeNet v1.1 has, got '
              f'{"none" if weight is None else list(weight.shape)}.'
            )
          weights.append(
            stored_tensors.cast(
              stored_tensors.StoredTensor.of_array(weight),
              np.dtype(np.float32),
              name=f'The {kind} of {layer} in {os.fspath(path)}',
            )
          )
  except errors.InputError:
    raise
  # Depending on the wrong byte, h5py raises nearly any exception.
  except Exception as error:
    raise errors.InputError(
      f'{os.fspath(path)} must be a complete .h5 file, and the weights of '
      f'SqueezeNet cannot be read from it ({" ".join(str(error).split())}).'
    ) from error
  return create_squeezenet(weights, image_size=image_size)


def create_squeezenet(
  weights: Sequence[np.ndarray], *, image_size: int = 128
) -> feature_map.FeatureMap:
  """Creates SqueezeNet v1.1 with given weights.

  Args:
    weights: A kernel and a bias for each convolution: conv1, then squeeze1x1,
      expand1x1 and expand3x3 of fire2 to fire9.
    image_size: The height and width that images are resized to, at least 31.

  Returns:
    An extractor like that of `load_squeezenet`.
  """
  layers.check_image_shape([image_size, image_size, 3], least=_LEAST_SIZE)
  found = [tuple(np.shape(weight)) for weight in weights]
  expected = [
    shape
    for kernel in _kernel_shapes().values()
    for shape in (kernel, kernel[-1:])
  ]
  if found != expected:
    raise errors.InputError(
      f'SqueezeNet must have weights of the shapes {expected}, got '
      f'{len(found)} of the shapes {found}.'
    )

  weights = tuple(np.asarray(weight, np.float32) for weight in weights)

  def apply(
    weights: Sequence[tf.Tensor],
    images: tf.Tensor,
    steps: Sequence[str] = _STEPS,
  ) -> tf.Tensor:
    x = feature_map.resize_images(images, image_size)
    return _apply(weights, x[..., ::-1] - tf.constant(_MEAN), steps)

  whole = feature_map.FeatureMap(
    name='squeezenet',
    architecture=(
      'SqueezeNet v1.1, means over the image; from RGB of 0 to 255, resized '
      f'(bilinear) to {image_size}x{image_size}, BGR less {_MEAN}'
    ),
    input_spec=tf.TensorSpec([None, None, None, 3], tf.float32),
    num_features=_NUM_FEATURES,
    initial_weights=weights,
    apply=lambda weights, images: tf.reduce_mean(
      apply(weights, images), axis=[1, 2]
    ),
  )

  def divide(
    layer: str,
  ) -> tuple[feature_map.FeatureMap, feature_map.FeatureMap]:
    first = _STEPS.index(layer)
    steps = _STEPS[:first], _STEPS[first:]
    # An expansion has two convolutions, each with a kernel and a bias.
    num_weights = sum(4 if s.endswith(_EXPAND) else 2 for s in steps[0])
    with tf.Graph().as_default():
      images = tf.compat.v1.placeholder(
        tf.float32, [None, image_size, image_size, 3]
      )
      shape = apply(weights[:num_weights], images, steps[0]).shape[1:]
    size = shape.num_elements()

    def apply_lower(
      weights: Sequence[tf.Tensor], images: tf.Tensor
    ) -> tf.Tensor:
      return tf.reshape(apply(weights, images, steps[0]), [-1, size])

    def apply_upper(weights: Sequence[tf.Tensor], x: tf.Tensor) -> tf.Tensor:
      x = tf.reshape(x, [-1, *shape])
      return tf.reduce_mean(_apply(weights, x, steps[1]), axis=[1, 2])

    lower = dataclasses.replace(
      whole,
      name=f'squeezenet_to_{layer}',
      architecture=f'{whole.architecture}; inputs of {layer}',
      num_features=size,
      initial_weights=weights[:num_weights],
      apply=apply_lower,
    )
    upper = dataclasses.replace(
      whole,
      name=f'squeezenet_from_{layer}',
      architecture=f'{whole.architecture}; from inputs of {layer}',
      input_spec=tf.TensorSpec([None, size], tf.float32),
      initial_weights=weights[num_weights:],
      apply=apply_upper,
    )
    return lower, upper

  return dataclasses.replace(whole, layers=_STEPS[1:], divide=divide)


def _apply(
  weights: Sequence[tf.Tensor], x: tf.Tensor, steps: Sequence[str]
) -> tf.Tensor:
  """Returns the output of consecutive steps.

  Args:
    weights: The kernels and biases of the steps.
    x: The output of the earlier steps, [n, height, width, channels]; for the
      first step, BGR images less the mean.
    steps: The consecutive steps, of `_STEPS`.
  """
  convolutions = iter(layers.kernels_and_biases(tuple(weights)))

  def convolve(x: tf.Tensor, strides: int, padding: str) -> tf.Tensor:
    kernel, bias = next(convolutions)
    x = tf.nn.conv2d(x, kernel, strides, padding)
    return tf.nn.relu(tf.nn.bias_add(x, bias))

  for step in steps:
    if step == 'conv1':
      x = convolve(x, 2, 'VALID')
    elif step in _FIRES:
      x = convolve(x, 1, 'SAME')
    else:
      narrow = convolve(x, 1, 'SAME')
      wide = convolve(x, 1, 'SAME')
      x = tf.concat([narrow, wide], axis=-1)
    if step in _POOLED_AFTER:
      x = tf.nn.max_pool2d(x, 3, 2, 'VALID')
  return x


def _find_weights(file: h5py.File, layer: str) -> dict[str, h5py.Dataset]:
  """Returns the weights in a layer's group by kind, a part of their names."""
  return {
    name.rpartition('/')[-1].partition(':')[0]: dataset
    for name, dataset in stored_tensors.find_datasets(file).items()
    if name.startswith(f'{layer}/')
  }

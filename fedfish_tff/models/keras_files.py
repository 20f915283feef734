# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Keras models from files, without the Python code that these may hold.

Keras runs what it finds in files of some formats and refuses it in others, and
tells formats apart by name. Here, the content decides which format it is, and
all that is to be made of a file is looked up in a list beforehand.
"""

from collections.abc import Iterator
import functools
import inspect
import json
import pathlib
import re
import struct
from typing import Any
import zipfile

from fedfish_tff import errors
from fedfish_tff import regular_files

import h5py
import tensorflow as tf

# Number and size of an object in a heap of HDF5, and a count between.
_HEAP_OBJECT = struct.Struct('<H6xQ')
KERAS_SUFFIXES = ('.h5', '.hdf5', '.keras')

# All that model.save puts into an archive, unless layers have files of their
# own. Weights in another format would be unpickled.
_ARCHIVE_FILES = {'metadata.json', 'config.json', 'model.weights.h5'}
# Of tf.keras.layers: those with code or with files that they read, and bases.
_REFUSED_LAYERS = {
  'DenseFeatures',
  'IntegerLookup',
  'Lambda',
  'Layer',
  'StringLookup',
  'TextVectorization',
  'Wrapper',
}
_OTHER_CLASSES = {
  'BatchNormalizationV1',
  'BatchNormalizationV2',
  'Functional',
  'Model',
  'Policy',
  'Sequential',
  # Marks of Keras' JSON.
  '__bytes__',
  '__ellipsis__',
  '__numpy__',
  '__tensor__',
  '__tuple__',
  'TensorShape',
}
# Layers that Keras makes of TensorFlow's functions, which are found by name.
_FUNCTION_LAYERS = {'SlicingOpLambda', 'TFOpLambda'}
# Where Keras looks for classes; it would import any other module.
_MODULES = {
  None,
  'builtins',
  'keras',
  'keras.activations',
  'keras.constraints',
  'keras.initializers',
  'keras.layers',
  'keras.mixed_precision',
  'keras.models',
  'keras.regularizers',
  'keras.src.engine.functional',
  'keras.src.layers.core.tf_op_layer',
}
# Some of TensorFlow's functions write files or load them from elsewhere.
_FUNCTIONS = {
  *(
    'cast concat clip_by_value expand_dims identity pad repeat reshape'
  ).split(),
  *('reverse split squeeze stack tile transpose unstack').split(),
  *('image.resize linalg.l2_normalize linalg.matmul nn.avg_pool').split(),
  *('nn.avg_pool2d nn.bias_add nn.conv2d nn.depthwise_conv2d nn.elu').split(),
  *('nn.gelu nn.l2_normalize nn.leaky_relu nn.log_softmax nn.max_pool').split(),
  *('nn.max_pool2d nn.relu nn.relu6 nn.selu nn.sigmoid nn.silu').split(),
  *('nn.softmax nn.softplus nn.softsign nn.swish nn.tanh').split(),
  *(
    f'math.{name}'
    for name in (
      'abs add divide divide_no_nan erf exp floor l2_normalize log log1p '
      'maximum minimum multiply negative pow reduce_max reduce_mean reduce_min '
      'reduce_std reduce_sum reduce_variance rsqrt sigmoid sign softplus sqrt '
      'square subtract tanh truediv'
    ).split()
  ),
  *(
    f'__operators__.{name}'
    for name in (
      'add radd sub rsub mul rmul truediv rtruediv pow rpow getitem'
    ).split()
  ),
}


def load_keras_model(path: pathlib.Path) -> tf.keras.Model:
  """Loads a file that model.save wrote, if it holds no code.

  Args:
    path: An HDF5 file, or an archive whose name ends in .keras.

  Returns:
    The model, not compiled.

  Raises:
    errors.InputError: If there is no such file, it cannot be read, or it has
      something else than known layers of Keras.
  """
  if not path.is_file():
    found = 'is a folder' if path.is_dir() else 'is not there'
    raise errors.InputError(
      f'The model {path} {found}; a file that model.save wrote was expected '
      '(the name of a SavedModel, which is a folder, has no such ending).'
    )
  try:
    # As Keras tells archives from other files; then by what they begin with.
    if path.suffix == '.keras' and zipfile.is_zipfile(path):
      return _load_archive(path)
    if h5py.is_hdf5(path):
      return _load_hdf5(path)
    if zipfile.is_zipfile(path):
      raise errors.InputError(
        f'The file {path} is an archive; a name ending in .keras was expected.'
      )
    raise errors.InputError(
      f'The model {path} cannot be read (neither HDF5 nor an archive); a '
      'complete Keras file was expected.'
    )
  except errors.InputError:
    raise
  # Keras raises whatever the contents make its layers raise.
  except Exception as error:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    raise errors.InputError(
      f'The model {path} cannot be read ({lines[0].rstrip(".")}); a complete '
      'Keras file was expected.'
    ) from error


def _load_archive(path: pathlib.Path) -> tf.keras.Model:
  with zipfile.ZipFile(path) as archive:
    others = sorted(set(archive.namelist()) ^ _ARCHIVE_FILES)
    if others:
      raise errors.InputError(
        f'The archive {path} differs by {", ".join(others[:3])}; '
        f'{", ".join(sorted(_ARCHIVE_FILES))} and nothing else were expected.'
      )
    config = json.loads(archive.read('config.json'))
  # Which Keras leaves out at this level.
  config.pop('compile_config', None)
  _check_config(path, config)
  return tf.keras.models.load_model(path, compile=False)


def _check_heaps(path: pathlib.Path) -> None:
  """Raises a ValueError about what HDF5's library would read for ever.

  Texts stand in heaps, of objects that each begin with a number and a size
  ("Global Heap" in HDF5's file format specification); number 0 is the free
  space at the end. The library waits for the end, which free space of size 0
  never comes to.
  """
  with open(path, 'rb', opener=regular_files.opener) as file:
    content = file.read()
  for heap in re.finditer(rb'(?s)GCOL\x01\0\0\0(.{8})', content):
    place = heap.end()
    end = min(heap.start() + int.from_bytes(heap[1], 'little'), len(content))
    while place + _HEAP_OBJECT.size <= end:
      number, size = _HEAP_OBJECT.unpack_from(content, place)
      if not number:
        if not size:
          raise ValueError(f'its heap at byte {heap.start()} has no end')
        break
      # The content, in words of 8 bytes, follows.
      place += _HEAP_OBJECT.size + -(-size // 8) * 8


def _load_hdf5(path: pathlib.Path) -> tf.keras.Model:
  _check_heaps(path)
  with h5py.File(path, 'r') as file:
    config = file.attrs.get('model_config')
    if config is None:
      raise errors.InputError(
        f'The file {path} holds weights without a model; one that model.save '
        'wrote was expected (freeze_keras_model takes a model that loaded '
        'weights).'
      )
    _check_config(path, json.loads(config))
    # Not the path, by whose ending Keras would choose a format.
    return tf.keras.models.load_model(file, compile=False)


def _check_config(path: pathlib.Path, config: Any) -> None:
  """Raises an error about anything that is not known to be harmless."""
  for item, layer in _find_classes(config, layer='the model'):
    problem = _find_problem(item)
    if problem:
      raise errors.InputError(
        f'The model in {path} has {problem} in {layer}, which may run code; '
        'layers of tf.keras.layers without code, and simple functions of '
        'TensorFlow, were expected (freeze_keras_model takes any model that '
        'was made by code you trust).'
      )


def _find_classes(
  config: Any, layer: str
) -> Iterator[tuple[dict[str, Any], str]]:
  """Yields what Keras may make objects of, and the layers that these are in."""
  if isinstance(config, dict):
    if 'class_name' in config:
      inner = config.get('config')
      if isinstance(inner, dict) and isinstance(inner.get('name'), str):
        layer = f'layer {inner["name"]!r}'
      yield config, layer
    config = config.values()
  elif not isinstance(config, list):
    return
  for value in config:
    yield from _find_classes(value, layer)


def _find_problem(item: dict[str, Any]) -> str:
  """Returns what is not known to be harmless, '' for nothing."""
  name, inner = item['class_name'], item.get('config')
  module, registered = item.get('module'), item.get('registered_name')
  if not isinstance(module, str | None) or module not in _MODULES:
    return f'{name!r} of the module {module!r}'
  if name == 'function':
    # Of the forms of activations, one that only archives have.
    if inner in _activations() and registered in (None, 'function', inner):
      return ''
    return f'the function {inner!r}'
  if registered not in (None, name):
    return f'the class {registered!r}'
  if not isinstance(name, str) or name not in _classes() | _FUNCTION_LAYERS:
    return f'the class {name!r}'
  if name in _FUNCTION_LAYERS:
    function = inner.get('function') if isinstance(inner, dict) else None
    if str(function).removeprefix('compat.v1.') not in _FUNCTIONS:
      return f'the function {function!r}'
  return ''


@functools.cache
def _classes() -> frozenset[str]:
  keras = tf.keras
  found = set()
  for package, base in (
    (keras.layers, keras.layers.Layer),
    (keras.initializers, keras.initializers.Initializer),
    (keras.regularizers, keras.regularizers.Regularizer),
    (keras.constraints, keras.constraints.Constraint),
  ):
    found |= {
      name
      for name, value in inspect.getmembers(package, inspect.isclass)
      if issubclass(value, base)
    }
  return frozenset(found - _REFUSED_LAYERS | _OTHER_CLASSES)


@functools.cache
def _activations() -> tuple[str, ...]:
  functions = inspect.getmembers(tf.keras.activations, inspect.isfunction)
  return tuple(
    name
    for name, _ in functions
    if name not in ('deserialize', 'get', 'serialize')
  )

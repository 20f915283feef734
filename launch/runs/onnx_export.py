# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes a trained model in ONNX, by tf2onnx, which is optional."""

import logging
import os
import types

from fedfish_tff import errors
from fedfish_tff.models import model_functions
from fedfish_tff.models import traced_graph
from fedfish_tff.simulation import files
from launch.runs import export

import tensorflow as tf
import tensorflow_federated as tff


def import_converter() -> tuple[types.ModuleType, types.ModuleType]:
  """Returns the packages onnx and tf2onnx.

  Raises:
    errors.InputError: If they cannot be imported.
  """
  try:
    # As late as this, since they are optional.
    import onnx  # pylint: disable=g-import-not-at-top
    import tf2onnx  # pylint: disable=g-import-not-at-top
  except ImportError as error:
    raise errors.InputError(
      f'ONNX needs packages that cannot be imported ({error}); `pip install '
      "onnx==1.16.2 tf2onnx==1.17.0` installs what the wheel's extra onnx asks "
      'for.'
    ) from error
  return onnx, tf2onnx


def write_onnx(
  model: model_functions.ModelFn,
  weights: tff.learning.models.ModelWeights,
  path: str | os.PathLike[str],
) -> None:
  """Writes what a model predicts in inference mode.

  Inputs and outputs have the names of `export.write_saved_model`.

  Args:
    model: A functional model, or a function that returns a variable model.
    weights: The model weights.
    path: The file; its folder exists. It is written whole or not at all.

  Raises:
    errors.InputError: If packages are missing, the model has something that
      they do not convert, or the file cannot be written.
  """
  onnx, tf2onnx = import_converter()
  _, serve, specs = export.build_serving(model, weights)
  # Else tf2onnx takes tensors that a function holds, as of a frozen feature
  # extractor, for inputs of the model.
  frozen = traced_graph.freeze_function(serve.get_concrete_function(**specs))
  # It goes on after what it cannot convert, and logs a traceback.
  logging.getLogger('tf2onnx').setLevel(logging.CRITICAL)
  try:
    converted, _ = tf2onnx.convert.from_function(
      tf.function(lambda inputs: frozen(**inputs)), [dict(specs)]
    )
    # What could not be converted stands there as it was.
    onnx.checker.check_model(converted)
  except (onnx.checker.ValidationError, RuntimeError, ValueError) as error:
    reason, _, _ = str(error).partition('\n')
    raise errors.InputError(
      f'The model cannot be written in ONNX: {reason}; a SavedModel (--export) '
      'can have any operation.'
    ) from error
  files.write_atomically(path, converted.SerializeToString())

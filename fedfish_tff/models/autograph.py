# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where AutoGraph rewrites Python code, and where it does not.

This package's graph code is written in graph operations, and rewriting it takes
longer than tracing it does. What users hand in, such as models, optimizers and
label samplers, may branch and loop over tensors as within any `tf.function`.
"""

from collections.abc import Callable
from typing import TypeVar

import tensorflow as tf

_Function = TypeVar('_Function', bound=Callable)

# That of code which is in no graph: what it hands to TensorFlow is rewritten.
_STATUS = tf.__internal__.autograph.control_status_ctx()


def graph_function(function: _Function) -> _Function:
  """Makes a `tf.function` of code that needs no AutoGraph.

  Args:
    function: Written in graph operations, also what it calls; but for what
      `convert` was applied to.
  """
  return tf.function(
    tf.autograph.experimental.do_not_convert(function), autograph=False
  )


def convert(function: _Function) -> _Function:
  """Lets a function of the user's have AutoGraph inside a `graph_function`.

  Args:
    function: Any callable; this package's own are left as they are.
  """
  if getattr(function, '__module__', None) and function.__module__.startswith(
    'fedfish_tff.'
  ):
    return function
  # As Keras does for the call of a layer.
  return tf.__internal__.autograph.tf_convert(function, _STATUS)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where AutoGraph rewrites Python code, and where it does not.

This package's graph code is written in graph operations, and rewriting it takes
longer than tracing it does. What users hand in, such as models, optimizers and
label samplers, may branch and loop over tensors as within any `tf.function`.
"""

from collections.abc import Callable
from typing import Any
from typing import TypeVar

from fedfish_tff import private_apis

import tensorflow as tf

_Function = TypeVar('_Function', bound=Callable)

# That of code which is in no graph: what it hands to TensorFlow is rewritten.
_STATUS = private_apis.autograph_status()


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
    function: Any callable; this package's own and the steps of TFF's optimizers
      are left as they are.
  """
  if _needs_none(function):
    return function
  return private_apis.convert_to_graph_code(function, _STATUS)


def _needs_none(thing: Any) -> bool:
  package, _, name = (getattr(thing, '__module__', None) or '').rpartition('.')
  if package == private_apis.TFF_OPTIMIZERS:
    return name not in private_apis.TFF_OPTIMIZERS_WITH_CODE_OF_USERS
  return f'{package}.'.startswith('fedfish_tff.')

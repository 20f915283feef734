# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Control of which Python code AutoGraph rewrites.

This package's graph code is written in graph operations, and rewriting it takes
longer than tracing it. Users' models, optimizers and label samplers may branch
and loop over tensors, as in any `tf.function`.
"""

from collections.abc import Callable
from typing import Any
from typing import TypeVar

from fedfish_tff import private_apis

import tensorflow as tf

_Function = TypeVar('_Function', bound=Callable)

# The status outside of any graph, under which code is rewritten.
_STATUS = private_apis.autograph_status()


def graph_function(function: _Function) -> _Function:
  """Makes a `tf.function` of code that needs no AutoGraph.

  Args:
    function: A function written in graph operations. So is all that it calls,
      except for results of `convert`.
  """
  return tf.function(
    tf.autograph.experimental.do_not_convert(function), autograph=False
  )


def convert(function: _Function) -> _Function:
  """Lets AutoGraph rewrite a user's function inside a `graph_function`.

  Args:
    function: Any callable. This package's own and the steps of TFF's optimizers
      are returned unchanged.
  """
  if _needs_none(function):
    return function
  return private_apis.convert_to_graph_code(function, _STATUS)


def _needs_none(thing: Any) -> bool:
  package, _, name = (getattr(thing, '__module__', None) or '').rpartition('.')
  if package == private_apis.TFF_OPTIMIZERS:
    return name not in private_apis.TFF_OPTIMIZERS_WITH_CODE_OF_USERS
  return f'{package}.'.startswith('fedfish_tff.')

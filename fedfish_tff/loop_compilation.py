# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The mark of computations with loops over batches that XLA is to compile.

In runners with `compiles_loops`, XLA then compiles the loops of
`execution.replay.compiled_loops`. Other contexts ignore the mark.
"""

import contextlib

from fedfish_tff import private_apis

import tensorflow as tf

_MARK = '_fedfish_compiled_loops'


def mark() -> contextlib.AbstractContextManager[None]:
  """Marks the computation in whose graph the block creates operations."""
  if tf.executing_eagerly():
    return contextlib.nullcontext()
  return private_apis.attribute_scope({_MARK: tf.compat.v1.AttrValue(b=True)})


def is_marked(serialized_graph: bytes) -> bool:
  """Returns whether a computation's serialized GraphDef has the mark."""
  return _MARK.encode() in serialized_graph

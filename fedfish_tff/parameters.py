# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Numbers in computations that another run may replace without a new trace.

A number that a computation is traced with is a constant of its graph. A
parameter is a constant with a name and a default. In the cohort contexts its
value is that of `replaced` at the time; in other contexts it is the default. So
runs that differ only in such numbers can share a trace, and each gets bit for
bit the same results as by itself.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import functools
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff import graph_functions
from fedfish_tff import private_apis

import tensorflow as tf
import tensorflow_federated as tff

_NAME = '_fedfish_parameter'
_DEFAULT = '_fedfish_parameter_default'
_PROBE = 'probe'

# Global to the process, since computations run in several threads.
_values: dict[str, float] = {}


class Parameter(NamedTuple):
  """A parameter in a graph.

  Attributes:
    name: The name by which its value is replaced.
    default: The value unless it is replaced.
  """

  name: str
  default: float

  @property
  def value(self) -> float:
    """The current value."""
    return _values.get(self.name, self.default)


def create(name: str, default: float) -> tf.Tensor:
  """Creates a parameter in the graph being built.

  Args:
    name: The parameter's name; parameters of one name have one value.
    default: The value unless it is replaced.

  Returns:
    A float32 scalar; outside a graph, a plain constant.
  """
  constant = tf.constant(default, tf.float32)
  if tf.executing_eagerly():
    return constant
  # An operation that is never folded into others. Code that does not know its
  # attributes treats it as its input.
  attributes = {
    _NAME: tf.compat.v1.AttrValue(s=name.encode()),
    _DEFAULT: tf.compat.v1.AttrValue(f=default),
  }
  with private_apis.attribute_scope(attributes):
    return tf.compat.v1.placeholder_with_default(constant, [], name=name)


@contextlib.contextmanager
def replaced(values: Mapping[str, float]) -> Iterator[None]:
  """Replaces parameters in all computations of this process meanwhile.

  Args:
    values: The parameters' values by name.
  """
  before = dict(_values)
  _values.update(values)
  try:
    yield
  finally:
    _values.clear()
    _values.update(before)


def values() -> dict[str, float]:
  """Returns the current replacements, to apply them in another process."""
  return dict(_values)


def check_replaced_here(subject: str) -> None:
  """Raises InputError unless the current execution context replaces parameters.

  Args:
    subject: The words for what needs it, such as 'a schedule'.
  """
  with replaced({_PROBE: 1.0}):
    if not _read_probe()():
      raise errors.InputError(
        'The execution context must be one that replaces parameters, such as '
        f'cohort, for {subject}, got another.'
      )


@functools.cache
def _read_probe() -> tff.Computation:
  @tff.tensorflow.computation
  def read_probe():
    return create(_PROBE, 0.0)

  return read_probe


def read(node: tf.compat.v1.NodeDef) -> Parameter | None:
  """Returns the parameter of a node of a graph; None if it has none."""
  if _NAME not in node.attr:
    return None
  return Parameter(node.attr[_NAME].s.decode(), node.attr[_DEFAULT].f)


def names_in(computation: tff.Computation) -> frozenset[str]:
  """Returns the names of the parameters in all graphs of a computation."""
  found = set()
  messages = [tff.framework.serialize_computation(computation)]
  while messages:
    message = messages.pop()
    if message.DESCRIPTOR.name == 'TensorFlow':
      graph = tf.compat.v1.GraphDef()
      message.graph_def.Unpack(graph)
      parameters = map(read, graph_functions.nodes(graph))
      found |= {parameter.name for parameter in parameters if parameter}
      continue
    for field, value in message.ListFields():
      if field.message_type is not None:
        messages += value if isinstance(value, Sequence) else [value]
  return frozenset(found)

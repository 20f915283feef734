# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Expressions of a plan's values: tuples and selections.

A `federated_plan` numbers its values. Between two calls, TFF computations only
regroup values, which needs no TensorFlow. An expression describes such a
regrouping of numbered values.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any
from typing import TypeAlias

ValueId: TypeAlias = int


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
  """A numbered value."""

  id: ValueId


@dataclasses.dataclass(frozen=True, slots=True)
class Selection:
  """One element of a structure, by position."""

  source: 'Expression'
  index: int


@dataclasses.dataclass(frozen=True, slots=True)
class Struct:
  """A structure: a tuple of elements."""

  elements: tuple['Expression', ...]


Expression: TypeAlias = Value | Selection | Struct


def select(source: Expression, index: int) -> Expression:
  """Returns an element of `source`, taken directly out of a `Struct`."""
  if isinstance(source, Struct):
    return source.elements[index]
  return Selection(source, index)


def evaluate(
  expression: Expression | None, look_up: Callable[[ValueId], Any]
) -> Any:
  """Returns the value of an expression; None, of a call without arguments.

  Args:
    expression: The regrouping; None without one.
    look_up: A function that returns a numbered value; structures are tuples.
  """
  match expression:
    case None:
      return None
    case Value(value_id):
      return look_up(value_id)
    case Selection(source, index):
      return evaluate(source, look_up)[index]
    case Struct(elements):
      return tuple(evaluate(element, look_up) for element in elements)


def uses(
  expression: Expression,
) -> Iterator[tuple[ValueId, tuple[int, ...]]]:
  """Yields each use of a value: its number and the path to the part used."""
  path: list[int] = []
  while isinstance(expression, Selection):
    path.append(expression.index)
    expression = expression.source
  if isinstance(expression, Struct):
    for element in expression.elements:
      yield from uses(element)
  else:
    yield expression.id, tuple(reversed(path))


def value_ids(expression: Expression) -> Iterator[ValueId]:
  """Yields the numbers of the values that an expression uses."""
  for value_id, _ in uses(expression):
    yield value_id


def part(value_id: ValueId, path: tuple[int, ...]) -> Expression:
  """Returns the part of a value at a path of positions."""
  expression: Expression = Value(value_id)
  for index in path:
    expression = Selection(expression, index)
  return expression


def replace_parts(
  expression: Expression,
  replacements: Mapping[tuple[ValueId, tuple[int, ...]], ValueId],
) -> Expression:
  """Returns an expression with other values for parts, named as by `uses`."""
  if isinstance(expression, Struct):
    return Struct(
      tuple(replace_parts(e, replacements) for e in expression.elements)
    )
  for value_id, path in uses(expression):
    for length in range(len(path) + 1):
      new_id = replacements.get((value_id, path[:length]))
      if new_id is not None:
        return part(new_id, path[length:])
  return expression

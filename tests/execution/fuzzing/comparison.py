# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs a random program on TFF's own worker and in the cohort context."""

import dataclasses
from typing import Any

from fedfish_tff.execution import contexts
from tests.execution.fuzzing import programs

import grpc
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# Of 1000 draws of a distribution of width 1: five standard errors and more.
_DRAWN_TOLERANCE = 0.2


@dataclasses.dataclass(frozen=True)
class Outcome:
  """The outcome of a program in both contexts.

  Attributes:
    worker: A list of the calls' results; an `Exception` for one that failed.
    cohort: The same.
    difference: What differs; empty if nothing does, or if TFF's worker does not
      repeat itself.
    reasons: Why the cohort context took its general path, if it did.
  """

  worker: list[Any]
  cohort: list[Any]
  difference: str
  reasons: tuple[str, ...]


def compare(
  program: programs.Program, worker: tff.framework.SyncContext
) -> Outcome:
  """Runs a program in a cohort context and in a context of TFF's worker."""
  comp, reference = program.computations()
  cohort = contexts.create_context()
  there = _call(reference, program, worker)
  here = _call(comp, program, cohort)
  difference = _difference(there, here, program.is_drawn)
  # A random operation with a seed may go on where the last call has left it, and
  # clients take turns at it. What TFF's runtime does not repeat is nobody's to
  # say.
  if difference and _difference(
    there, _call(reference, program, worker), program.is_drawn
  ):
    difference = ''
  return Outcome(there, here, difference, cohort.runner.general_path_reasons)


def _call(
  comp: tff.Computation,
  program: programs.Program,
  context: tff.framework.SyncContext,
) -> list[Any]:
  results = []
  with tff.framework.get_context_stack().install(context):
    for argument in program.arguments():
      try:
        results.append(_to_numpy(comp(argument)))
      except Exception as error:  # noqa: BLE001  To be compared.
        results.append(error)
  return results


def _to_numpy(result: Any) -> Any:
  """Returns a result with lists of elements instead of datasets."""
  if isinstance(result, tf.data.Dataset):
    return list(result.as_numpy_iterator())
  if isinstance(result, list):
    return [_to_numpy(part) for part in result]
  return result


def _difference(there: Any, here: Any, is_drawn: bool, where: str = '') -> str:
  """Returns what differs between two results; empty for nothing."""
  if isinstance(there, Exception) or isinstance(here, Exception):
    kinds = _kind(there), _kind(here)
    return (
      '' if kinds[0] == kinds[1] else f'{where}: {kinds[0]}, not {kinds[1]}'
    )
  if isinstance(there, (list, tuple, dict)):
    if type(there) is not type(here) or len(there) != len(here):
      return f'{where}: {there}, not {here}'
    if isinstance(there, dict):
      if list(there) != list(here):
        return f'{where}: names {list(there)}, not {list(here)}'
      there, here = list(there.values()), list(here.values())
    differences = (
      _difference(a, b, is_drawn, f'{where}/{i}')
      for i, (a, b) in enumerate(zip(there, here, strict=True))
    )
    return next(filter(None, differences), '')
  if type(there) is not type(here):
    return f'{where}: {type(there)}, not {type(here)}'
  there, here = np.asarray(there), np.asarray(here)
  if there.dtype != here.dtype or there.shape != here.shape:
    return f'{where}: {there!r}, not {here!r}'
  if np.issubdtype(there.dtype, np.floating):
    tolerance = 1e-3 if there.dtype == np.float16 else 1e-6
    is_same = np.allclose(
      here,
      there,
      rtol=0,
      # Sums of other sizes may have cancelled.
      atol=_DRAWN_TOLERANCE
      if is_drawn
      else tolerance * max(1, np.nanmax(np.abs(there), initial=0)),
      equal_nan=True,
    )
  else:
    is_same = np.array_equal(there, here)
  return '' if is_same else f'{where}: {there!r}, not {here!r}'


def _kind(result: Any) -> str:
  """Returns of what kind an error is."""
  if isinstance(result, grpc.RpcError):
    return 'an error in the computation'
  return type(result).__name__ if isinstance(result, Exception) else 'a result'

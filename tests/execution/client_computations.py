# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Computations in which each client does one piece of work."""

from collections.abc import Callable
from typing import Any

import tensorflow_federated as tff


def at_clients(
  work: Callable[..., Any], type_spec: Any = None
) -> tff.Computation:
  """Returns the results of the clients' work, client by client.

  Args:
    work: A computation, or a Python function for TensorFlow.
    type_spec: The type of a client's value; a computation knows its own.
  """
  work = _as_computation(work, type_spec)
  return tff.federated_computation(
    lambda values: tff.federated_map(work, values), _at_clients(work)
  )


def sum_of_clients(
  work: Callable[..., Any], type_spec: Any = None
) -> tff.Computation:
  """Returns the sum of the results of `at_clients`."""
  work = _as_computation(work, type_spec)
  return tff.federated_computation(
    lambda values: tff.federated_sum(tff.federated_map(work, values)),
    _at_clients(work),
  )


def _as_computation(work: Any, type_spec: Any) -> tff.Computation:
  if isinstance(work, tff.Computation):
    return work
  return tff.tensorflow.computation(work, type_spec)


def _at_clients(work: tff.Computation) -> tff.FederatedType:
  return tff.FederatedType(work.type_signature.parameter, tff.CLIENTS)

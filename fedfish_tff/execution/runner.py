# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A backend that an execution context calls."""

import abc
from typing import Any

import tensorflow_federated as tff


class Runner(abc.ABC):
  """A backend that runs whole computations.

  Attributes:
    takes_client_batches: Whether a client's dataset may be a
      `fedfish_tff.datasets.ClientBatches`.
    takes_client_references: Whether it reads clients that have a
      `datasets.ClientSource` elsewhere.
    compiles_loops: Whether it compiles marked loops by XLA
      (`fedfish_tff.loop_compilation`).
  """

  takes_client_batches = True
  takes_client_references = False
  compiles_loops = False

  @abc.abstractmethod
  def run(self, comp: tff.Computation, arg: Any) -> Any:
    """Runs a computation and returns its result.

    Args:
      comp: A computation of a `tff.FunctionType`.
      arg: The argument; None if the computation takes none.
    """

  def close(self) -> None:
    """Ends the processes that it has started, if any."""
    return

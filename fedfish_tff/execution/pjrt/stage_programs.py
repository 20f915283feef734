# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A client stage as programs for PJRT devices.

A program takes the same inputs as the graph of a stage: accumulators, server
values and the packed data of some clients, over which it loops. One program is
compiled for each shape of the data. Shapes are few: lengths are powers of two,
and batches have a bound. Between the chunks of a cohort, accumulators and
server values stay on the device.
"""

from collections.abc import Callable
from collections.abc import Sequence
import threading
from typing import Any
import weakref

from fedfish_tff import errors
from fedfish_tff.execution.packing import type_leaves
from fedfish_tff.execution.pjrt import device_client
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.replay import tracing
from fedfish_tff.execution.running import cohort_graph

from absl import logging
import numpy as np
import tensorflow as tf


class DeviceMemoryError(errors.InputError):
  """Error for a program that takes more memory than a device has."""


class StagePrograms(cohort_graph.StageGraph):
  """The programs of a stage, compiled when they first run."""

  def __init__(
    self,
    stage: federated_plan.ClientStage,
    *,
    is_exact: bool = True,
    width: int = 1,
    for_cpu: bool = False,
  ):
    """Checks that a stage can be a program of a `cohort_graph.StageGraph`.

    Args:
      stage: The work, which the caller must keep while its programs run.
      is_exact: Whether matrices are multiplied in float32, instead of the
        device's faster precision.
      width: The number of clients that compute side by side.
      for_cpu: Whether the devices are CPUs.
    """
    super().__init__(stage, parallelism=1, use_xla=True, width=width)
    self._is_exact = is_exact
    self._for_cpu = for_cpu
    self._hlo: dict[Any, tuple[bytes, Callable[[], Sequence[tf.Tensor]]]] = {}
    self._hlo_lock = threading.Lock()
    self._compiled: weakref.WeakKeyDictionary[
      device_client.Device, dict[Any, device_client.Program]
    ] = weakref.WeakKeyDictionary()

  def data_arrays(self, inputs: cohort_graph.ClientInputs) -> list[np.ndarray]:
    """Returns the programs' arguments after accumulators and server values."""
    _, more = self.hlo(inputs)
    return list(map(type_leaves.to_array, (*_flat_inputs(inputs), *more())))

  def hlo(
    self, inputs: cohort_graph.ClientInputs
  ) -> tuple[bytes, Callable[[], Sequence[tf.Tensor]]]:
    """Returns the program for data of some shapes, by `StageGraph.to_hlo`."""
    key = _key(inputs)
    with self._hlo_lock:
      if key not in self._hlo:
        # TensorFlow requests full precision of XLA only if this is off.
        enabled = tf.config.experimental.tensor_float_32_execution_enabled()
        tf.config.experimental.enable_tensor_float_32_execution(
          not self._is_exact
        )
        try:
          self._hlo[key] = self.to_hlo(inputs, for_cpu=self._for_cpu)
        finally:
          tf.config.experimental.enable_tensor_float_32_execution(enabled)
      return self._hlo[key]

  def program(
    self, device: device_client.Device, inputs: cohort_graph.ClientInputs
  ) -> device_client.Program:
    """Returns the program for data of some shapes, compiled for a device.

    Raises:
      NotReplayableError: If the stage has no such program.
      ProgramError: If the device does not compile it.
      DeviceMemoryError: If it is too large for the device.
    """
    programs = self._compiled.setdefault(device, {})
    key = _key(inputs)
    if key not in programs:
      hlo, _ = self.hlo(inputs)
      program = device.compile(hlo)
      expected = [
        (array.dtype.name, array.shape) for array in self.data_arrays(inputs)
      ]
      if list(program.arguments[-len(expected) :]) != expected:
        # XLA leaves out arguments that it considers constant.
        raise tracing.NotReplayableError(
          'arguments of the program that are not those of the graph'
        )
      _check_memory(program, device)
      logging.info(
        'A program of %.1f MB was %s in %.1f s; a run takes %.1f MB.',
        len(hlo) / 1e6,
        'loaded' if program.is_kept else 'compiled',
        program.seconds,
        program.num_bytes / 1e6,
      )
      programs[key] = program
    return programs[key]


class ProgramRun:
  """One run of a stage, for some clients, on one device.

  It has the interface of a `cohort_graph.StageGraph`. Its accumulators are the
  numbers of arrays on the device.
  """

  def __init__(self, programs: StagePrograms, device: device_client.Device):
    """Prepares a run and sends nothing yet."""
    self._programs = programs
    self._device = device
    self._server: list[int] = []
    self._specs: Sequence[device_client.Spec] = ()
    self.stage = programs.stage
    self.use_xla = True
    self.compiles_loops = False
    self.parallelism = programs.parallelism
    self.width = programs.width
    self.rebatches = programs.rebatches
    self.roots = programs.roots
    self.client_leaf_types = programs.client_leaf_types
    self.output_bytes = programs.output_bytes

  def run(
    self,
    accumulators: Any,
    server_values: Any,
    inputs: cohort_graph.ClientInputs,
  ) -> tuple[list[int], list[list[np.ndarray]]]:
    """Runs the stage for some clients, as `StageGraph.run` does."""
    self._programs.hlo(inputs)
    self._programs.check_passes(inputs)
    program = self._programs.program(self._device, inputs)
    if not self._specs:
      flat = list(map(type_leaves.to_array, tf.nest.flatten(accumulators)))
      flat.append(np.array(False))
      accumulators = self._device.put(flat)
      self._server = self._device.put(
        [
          type_leaves.to_array(leaf)
          for i in self.stage.server_inputs
          for leaf in type_leaves.flatten(server_values[i])
        ]
      )
      self._specs = program.results[: len(accumulators)]
    data = self._device.put(self._programs.data_arrays(inputs))
    results = self._device.run(program, [*accumulators, *self._server, *data])
    number = len(accumulators)
    outputs = results[number:]
    fetched = self._device.fetch(outputs, program.results[number:])
    self._device.free([*accumulators, *data, *outputs])
    return results[:number], tf.nest.pack_sequence_as(
      self._programs.output_specs, fetched
    )

  def fetch(self, accumulators: list[int]) -> list[list[tf.Tensor]]:
    """Waits for the accumulators; the last call of a run.

    Raises:
      tf.errors.OpError: If client work has failed.
    """
    arrays = self._device.fetch(accumulators, self._specs)
    self._device.free([*accumulators, *self._server])
    *fetched, (failed,) = tf.nest.pack_sequence_as(
      self._programs.accumulator_specs, list(map(tf.constant, arrays))
    )
    if failed:
      raise tf.errors.InvalidArgumentError(
        None, None, 'An operation of client work has failed on the device.'
      )
    return fetched


def _flat_inputs(inputs: cohort_graph.ClientInputs) -> list[Any]:
  return tf.nest.flatten(
    [
      np.int32(inputs.num_clients),
      inputs.tensors,
      inputs.sequences,
      list(inputs.grouping or ()),
    ]
  )


def _key(inputs: cohort_graph.ClientInputs) -> Any:
  shapes = tuple(np.shape(leaf) for leaf in _flat_inputs(inputs))
  return inputs.forms, inputs.most_clients, shapes


def _check_memory(
  program: device_client.Program, device: device_client.Device
) -> None:
  if device.num_bytes is not None and program.num_bytes > device.num_bytes:
    raise DeviceMemoryError(
      f'A program of client work takes {program.num_bytes / 2**30:.2f} GiB of '
      f"the device's memory, {(program.num_bytes - device.num_bytes) / 2**30:.2f}"
      f' GiB more than its {device.num_bytes / 2**30:.2f} GiB.'
    )

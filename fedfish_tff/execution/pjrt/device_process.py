# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The device process, which compiles and runs XLA programs with today's JAX.

It is a separate program, in the environment without TensorFlow that `make
accelerator` makes, and imports nothing of this package. `device_client` starts
it and talks to it: messages are JSON, through a pipe without an address, and
arrays are in memory that both processes map. It ends with the pipe, or is
killed with its parent.

Each device has a pipe, a memory and a thread. A message's `do` names a method
of `_Device`; the answer holds the method's result or its error. The chips of a
topology need not exist here: for those the process only analyses programs.
"""

from collections.abc import Callable
from collections.abc import Sequence
import contextlib
import hashlib
import json
import mmap
from multiprocessing import connection as connection_lib
from multiprocessing import reduction
import os
import pathlib
import secrets
import signal
import sys
import threading
import time
from typing import Any

import jax
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir
from jax.experimental import topologies
import jaxlib
from jaxlib import _jax
import numpy as np


class ProgramCache:
  """Compiled programs on disk, by their source and their device.

  They are machine code, so the folder must belong to its user. A damaged
  program is compiled anew.
  """

  def __init__(self, folder: str | None):
    """Makes a cache in a folder that may not exist yet; None keeps nothing."""
    self._folder = pathlib.Path(folder) if folder else None

  def load(self, key: str) -> bytes | None:
    """Returns a program, or None."""
    if self._folder is None:
      return None
    try:
      content = (self._folder / key).read_bytes()
    except OSError:
      return None
    program = content[32:]
    is_whole = hashlib.sha256(program).digest() == content[:32]
    return program if is_whole else None

  def save(self, key: str, program: bytes) -> None:
    """Saves a program; an error, such as a full disk, is only printed."""
    if self._folder is None:
      return
    partial = self._folder / f'{key}.{secrets.token_hex(16)}.partial'
    try:
      self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
      with open(partial, 'xb') as file:
        file.write(hashlib.sha256(program).digest() + program)
      partial.replace(self._folder / key)
    except OSError as error:
      print(f'The program cache cannot be written: {error}', flush=True)
      partial.unlink(missing_ok=True)


class _Device:
  """One device, with its programs and arrays by number."""

  def __init__(self, device: jax.Device, memory: int, cache: ProgramCache):
    self._device = device
    self._devices = xla_client.DeviceList((device,))
    self._memory_file = memory
    self._memory: mmap.mmap | None = None
    self._cache = cache
    self._programs: list[Any] = []
    self._arrays: dict[int, jax.Array] = {}

  def compile(self, *, size: int) -> dict[str, Any]:
    """Compiles the HLO module in the first `size` bytes of the memory."""
    start = time.perf_counter()
    hlo = bytes(self._mapped(size)[:size])
    computation = xla_client.XlaComputation(hlo)
    shapes = computation.program_shape()
    result = shapes.result_shape()
    results = result.tuple_shapes() if result.is_tuple() else [result]
    options = self._options()
    client = self._device.client
    key = hashlib.sha256(hlo)
    for part in (
      jaxlib.__version__,
      client.platform_version,
      self._device.device_kind,
      str(self._device.id),
      os.environ.get('XLA_FLAGS', ''),
    ):
      key.update(b'\0' + part.encode())
    key = key.hexdigest()
    program = None
    if (kept := self._cache.load(key)) is not None:
      # A shared home folder may hold a program for another processor, say.
      with contextlib.suppress(jax.errors.JaxRuntimeError):
        program = client.deserialize_executable(kept, self._devices, options)
    is_kept = program is not None
    if not is_kept:
      program = self._build(client.compile_and_load, computation)
      self._cache.save(key, client.serialize_executable(program))
    self._programs.append(program)
    memory = program.get_compiled_memory_stats()
    return dict(
      program=len(self._programs) - 1,
      arguments=[_shape(s) for s in shapes.parameter_shapes()],
      results=[_shape(s) for s in results],
      is_kept=is_kept,
      seconds=time.perf_counter() - start,
      bytes=memory.argument_size_in_bytes
      + memory.output_size_in_bytes
      + memory.temp_size_in_bytes
      + memory.generated_code_size_in_bytes
      - memory.alias_size_in_bytes,
    )

  def analyze(self, *, size: int) -> dict[str, Any]:
    """Compiles the module, which is not run; returns JAX's analysis of it."""
    start = time.perf_counter()
    computation = xla_client.XlaComputation(bytes(self._mapped(size)[:size]))
    client = self._device.client
    # For CPUs, JAX compiles only for those of this machine.
    is_cpu = self._device.platform == 'cpu'
    program = self._build(
      client.compile_and_load if is_cpu else client.compile, computation
    )
    seconds = time.perf_counter() - start
    # Like memory_analysis() and cost_analysis() of `jax.stages.Compiled`.
    memory, cost = program.get_compiled_memory_stats(), program.cost_analysis()
    return dict(
      seconds=seconds,
      arguments=memory.argument_size_in_bytes,
      results=memory.output_size_in_bytes - memory.alias_size_in_bytes,
      temporaries=memory.temp_size_in_bytes,
      code=memory.generated_code_size_in_bytes,
      flops=cost['flops'],
      bytes_accessed=cost['bytes accessed'],
    )

  def put(self, *, arrays: Sequence[Any], numbers: Sequence[int]) -> None:
    """Copies arrays from the memory to the device."""
    placed = [
      jax.device_put(self._array(*array), self._device) for array in arrays
    ]
    # The memory is reused once this has returned.
    jax.block_until_ready(placed)
    self._arrays.update(zip(numbers, placed, strict=True))

  def run(
    self, *, program: int, arguments: Sequence[int], numbers: Sequence[int]
  ) -> None:
    """Starts a program; its results get numbers and may not be ready yet."""
    results = self._programs[program].execute_sharded(
      [self._arrays[number] for number in arguments]
    )
    for number, (result,) in zip(
      numbers, results.disassemble_into_single_device_arrays(), strict=True
    ):
      self._arrays[number] = result

  def fetch(self, *, arrays: Sequence[Any], numbers: Sequence[int]) -> None:
    """Copies arrays from the device to offsets in the memory."""
    for number, array in zip(numbers, arrays, strict=True):
      self._view(*array)[...] = np.asarray(self._arrays[number])

  def free(self, *, numbers: Sequence[int]) -> None:
    """Frees arrays."""
    for number in numbers:
      self._arrays.pop(number, None)

  def _options(self) -> xla_client.CompileOptions:
    options = xla_client.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    options.executable_build_options.device_assignment = (
      xla_client.DeviceAssignment.create(np.array([[self._device.id]]))
    )
    return options

  def _build(
    self, compiler: Callable[..., Any], computation: xla_client.XlaComputation
  ) -> Any:
    text = _jax.mlir.xla_computation_to_mlir_module(computation)
    with mlir.make_ir_context():
      return compiler(ir.Module.parse(text), self._devices, self._options())

  def _array(self, dtype: str, shape: Sequence[int], place: int) -> np.ndarray:
    """Returns an array from the memory, which the device may copy or keep."""
    view = self._view(dtype, shape, place)
    # JAX's CPU device may use an array's memory without a copy.
    return view.copy() if self._device.platform == 'cpu' else view

  def _view(self, dtype: str, shape: Sequence[int], place: int) -> np.ndarray:
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    memory = self._mapped(place + count * dtype.itemsize)
    return np.frombuffer(memory, dtype, count, place).reshape(shape)

  def _mapped(self, size: int) -> mmap.mmap:
    if self._memory is None or len(self._memory) < size:
      # The memory has grown. The old mapping ends with the last of its views.
      self._memory = mmap.mmap(self._memory_file, 0)
    return self._memory


def _shape(shape: Any) -> list[Any]:
  return [np.dtype(shape.numpy_dtype()).name, list(shape.dimensions())]


def _serve(pipe: connection_lib.Connection, device: _Device) -> None:
  """Answers a device's messages until the other end closes."""
  with contextlib.suppress(EOFError, OSError):
    while True:
      message = json.loads(pipe.recv_bytes())
      try:
        answer = getattr(device, message.pop('do'))(**message)
      except Exception as error:  # pylint: disable=broad-except
        answer = dict(error=str(error) or type(error).__name__)
      pipe.send_bytes(json.dumps(answer or {}).encode())


def _find_devices(topology: str) -> Sequence[jax.Device]:
  if not topology:
    return jax.local_devices()
  # The machine's own chips are not queried, and not taken from other programs.
  os.environ.update(
    TPU_SKIP_MDS_QUERY='1',
    TPU_WORKER_ID='0',
    TPU_WORKER_HOSTNAMES='localhost',
    ALLOW_MULTIPLE_LIBTPU_LOAD='1',
  )
  # libtpu needs the name of a machine if there is none; any will do.
  os.environ.setdefault('TPU_ACCELERATOR_TYPE', 'v5litepod-4')
  # A chip of two cores is then one device, as on a real machine.
  one_device = {'chip_config_name': 'megacore'}
  return topologies.get_topology_desc(
    platform='tpu',
    topology_name=topology,
    **(one_device if topology.startswith('v4:') else {}),
  ).devices


def _describe(device: jax.Device, is_here: bool) -> dict[str, Any]:
  memory = (device.memory_stats() if is_here else None) or {}
  return dict(kind=device.device_kind, bytes=memory.get('bytes_limit'))


def main(argv: Sequence[str]) -> None:
  """Serves on a pipe.

  Args:
    argv: The program, the file number of the pipe, the folder of compiled
      programs (empty for none), and the topology (empty for this machine's own
      devices).
  """
  _, number, folder, topology = argv
  pipe = connection_lib.Connection(int(number))
  cache = ProgramCache(folder)
  # Programs have integers of 64 bits.
  jax.config.update('jax_enable_x64', True)
  try:
    devices = _find_devices(topology)
    answer = dict(
      jax=jax.__version__,
      platform=devices[0].platform,
      devices=[_describe(device, not topology) for device in devices],
    )
  except Exception as error:  # pylint: disable=broad-except
    answer = dict(error=str(error) or type(error).__name__)
  pipe.send_bytes(json.dumps(answer).encode())
  with contextlib.suppress(EOFError):
    while True:
      device = devices[json.loads(pipe.recv_bytes())['device']]
      own = connection_lib.Connection(reduction.recv_handle(pipe))
      memory = reduction.recv_handle(pipe)
      threading.Thread(
        target=_serve, args=(own, _Device(device, memory, cache)), daemon=True
      ).start()
  # The process ends without waiting for running work.
  signal.raise_signal(signal.SIGKILL)


if __name__ == '__main__':
  main(sys.argv)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""PJRT devices, through the device process (`device_process`).

Neither a port nor a named file is opened: messages go through a pipe, as JSON,
and arrays through memory that both processes have mapped. The device process
ends with this one.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import io
import itertools
import json
import math
import mmap
import multiprocessing
from multiprocessing import connection as connection_lib
from multiprocessing import reduction
import os
import pathlib
import sys
import threading
from typing import Any
from typing import NamedTuple
from typing import TypeAlias

from fedfish_tff import errors
from fedfish_tff.execution import interruption
from fedfish_tff.execution.worker import worker_process

from absl import logging
import numpy as np

PLATFORMS = ('cpu', 'cuda', 'tpu')

# The interval at which a waiting call checks whether it was told to stop.
_POLL_SECONDS = 0.1
_START_TIMEOUT_SECONDS = 300.0
_END_TIMEOUT_SECONDS = 1.0
# The alignment of arrays, as in NumPy; no device requires more.
_ALIGNMENT = 64

# The name of a dtype, and a shape.
Spec: TypeAlias = tuple[str, tuple[int, ...]]


class DeviceProcessError(errors.InputError):
  """Error if the device process has ended and its devices' arrays are lost."""


class ProgramError(RuntimeError):
  """Error for a program that a device does not compile or run."""


class Program(NamedTuple):
  """A compiled program on a device.

  Attributes:
    number: The number by which the device process knows it.
    arguments: The specs of its arguments.
    results: The specs of its results.
    num_bytes: The device memory of a run in bytes, with arguments and results.
    seconds: The seconds to compile it or to load it.
    is_kept: Whether it was loaded from the folder of compiled programs.
  """

  number: int
  arguments: Sequence[Spec]
  results: Sequence[Spec]
  num_bytes: int
  seconds: float
  is_kept: bool


class Analysis(NamedTuple):
  """JAX's `memory_analysis()` and `cost_analysis()` of a program.

  Attributes:
    seconds: The seconds to compile it.
    arguments: The bytes of its arguments.
    results: The bytes of its results.
    temporaries: The bytes of its intermediate values.
    code: The bytes of its code.
    flops: The floating-point operations of a run; a loop's body counts once.
    bytes_accessed: The bytes read and written; a loop's body counts once.
  """

  seconds: float
  arguments: int
  results: int
  temporaries: int
  code: int
  flops: float
  bytes_accessed: float

  @property
  def num_bytes(self) -> int:
    """The device memory of a run, in bytes."""
    return self.arguments + self.results + self.temporaries + self.code


def default_python() -> pathlib.Path:
  """Returns the Python of the accelerator environment, which may not exist.

  The environment is beside this process's own: .venv-accelerator by .venv.
  """
  return pathlib.Path(sys.prefix + '-accelerator') / 'bin' / 'python'


def _tell_commands(python: pathlib.Path, platform: str) -> str:
  """Returns the commands that make an environment with JAX for a platform."""
  # The drivers of today.
  name = 'cuda13' if platform == 'cuda' else platform
  jax = 'jax' if platform == 'cpu' else f'"jax[{name}]"'
  folder = python.parent.parent
  version = '{}.{}'.format(*sys.version_info)
  return (
    f'`python{version} -m venv {folder}` and `{folder}/bin/pip install {jax}`, or in a '
    f'checkout `make accelerator PLATFORM={name}`,'
  )


def default_cache() -> pathlib.Path:
  """Returns the user's folder of compiled programs."""
  home = os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'
  return pathlib.Path(home) / 'fedfish_tff' / 'programs'


class DeviceProcess:
  """A running device process, with the descriptions of its devices."""

  def __init__(
    self,
    platform: str,
    *,
    topology: str = '',
    python: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
  ):
    """Starts the process and waits until it has found its devices.

    Args:
      platform: One of `PLATFORMS`.
      topology: TPU chips that need not exist here, such as 'v5e:2x2', for which
        programs can only be analysed. By default this machine's own devices.
      python: The Python of an environment with JAX; None for that of `make
        accelerator`.
      cache: The folder of compiled programs; None for the user's.
    """
    errors.check_member('platform', platform, PLATFORMS)
    python = default_python() if python is None else pathlib.Path(python)
    if not python.exists():
      raise errors.InputError(
        f'There is no accelerator environment at {python}; '
        f'{_tell_commands(python, platform)} make one.'
      )
    self.platform = platform
    self._pipe, other = multiprocessing.Pipe()
    with other:
      self._process = worker_process.WorkerProcess(
        [
          os.fspath(python),
          '-I',
          os.fspath(pathlib.Path(__file__).with_name('device_process.py')),
          str(other.fileno()),
          os.fspath(default_cache() if cache is None else cache),
          topology,
        ],
        environment={
          **os.environ,
          'JAX_PLATFORMS': 'cpu' if topology else platform,
        },
        pass_fds=[other.fileno()],
      )
    try:
      answer = self._receive(self._pipe, _START_TIMEOUT_SECONDS)
    except BaseException:
      self.stop()
      raise
    if 'error' in answer:
      self.stop()
      reason = _first_line(answer['error'])
      kind = f'topology {topology!r}' if topology else f'platform {platform!r}'
      raise errors.InputError(
        f'JAX in {python.parent.parent} finds no device of the {kind}: '
        f'{reason}; {_tell_commands(python, platform)} install what it needs.'
      )
    self.num_devices = len(answer['devices'])
    self._descriptions = answer['devices']
    logging.info(
      'Device process %d: JAX %s, %d device(s), %s.',
      self._process.pid,
      answer['jax'],
      self.num_devices,
      self.device_kind,
    )

  @property
  def pid(self) -> int:
    """The process id."""
    return self._process.pid

  @property
  def device_kind(self) -> str:
    """The devices' name."""
    return self._descriptions[0]['kind']

  @property
  def is_running(self) -> bool:
    """True if the process runs."""
    return self._process.is_running

  def describe(self) -> str:
    """Returns a description of the process's end, with its last line."""
    last = self._process.output_tail.strip().rpartition('\n')[2]
    return (
      f'The device process ({self.platform}) {self._process.describe_end()}'
      + (f'; its last words: {last}' if last else '')
    )

  def stop(self) -> None:
    """Ends the process and frees its devices."""
    self._process.stop()
    self._pipe.close()

  def device(self, number: int) -> 'Device':
    """Returns a new connection to a device, by its number."""
    own, other = multiprocessing.Pipe()
    memory = open(os.memfd_create('fedfish_tff_device'), 'r+b', buffering=0)
    with other:
      try:
        self._pipe.send_bytes(json.dumps(dict(device=number)).encode())
        for file in (other.fileno(), memory.fileno()):
          reduction.send_handle(self._pipe, file, self.pid)
      except OSError as error:
        raise self._gone() from error
    return Device(self, own, memory, self._descriptions[number]['bytes'])

  def call(
    self, pipe: connection_lib.Connection, message: Mapping[str, Any]
  ) -> dict[str, Any]:
    """Sends a message to a device, by its pipe, and returns the answer.

    Raises:
      DeviceProcessError: If the process has ended.
      ProgramError: If the device answers with an error.
      StoppedError: If this call is interrupted, which ends the process.
    """
    try:
      pipe.send_bytes(json.dumps(message).encode())
    except OSError as error:
      raise self._gone() from error
    answer = self._receive(pipe)
    if 'error' in answer:
      raise ProgramError(_first_line(answer['error']))
    return answer

  def _receive(
    self, pipe: connection_lib.Connection, timeout: float = math.inf
  ) -> dict[str, Any]:
    waited = 0.0
    try:
      while not pipe.poll(_POLL_SECONDS):
        waited += _POLL_SECONDS
        interruption.check()
        if waited > timeout or not self.is_running:
          raise EOFError
      return json.loads(pipe.recv_bytes())
    except interruption.StoppedError:
      # Its unneeded work would delay the next call.
      self.stop()
      raise
    except (EOFError, OSError) as error:
      raise self._gone() from error

  def _gone(self) -> DeviceProcessError:
    self._process.wait(_END_TIMEOUT_SECONDS)
    self._process.stop()
    return DeviceProcessError(self.describe())


class Device:
  """A device of a device process; for one thread at a time."""

  def __init__(
    self,
    process: DeviceProcess,
    pipe: connection_lib.Connection,
    memory: io.FileIO,
    num_bytes: int | None,
  ):
    """Makes a connection, for `DeviceProcess.device`.

    Args:
      process: The process that has the device.
      pipe: The pipe to the device.
      memory: The memory file that both processes map.
      num_bytes: The size of the device's memory; None if unknown.
    """
    self.process = process
    self.num_bytes = num_bytes
    self.lock = threading.Lock()
    self._pipe = pipe
    self._memory_file = memory
    self._memory: mmap.mmap | None = None
    self._numbers = itertools.count()

  def compile(self, hlo: bytes) -> Program:
    """Compiles a program, a serialized HLO module.

    Raises:
      ProgramError: If the device cannot run it.
    """
    answer = self._send('compile', hlo)
    return Program(
      number=answer['program'],
      arguments=[(dtype, tuple(shape)) for dtype, shape in answer['arguments']],
      results=[(dtype, tuple(shape)) for dtype, shape in answer['results']],
      num_bytes=answer['bytes'],
      seconds=answer['seconds'],
      is_kept=answer['is_kept'],
    )

  def analyze(self, hlo: bytes) -> Analysis:
    """Compiles a program, a serialized HLO module, for analysis only.

    Raises:
      ProgramError: If it does not compile.
    """
    return Analysis(**self._send('analyze', hlo))

  def put(self, arrays: Sequence[np.ndarray]) -> list[int]:
    """Copies arrays to the device; returns their numbers there."""
    specs = [(array.dtype.name, array.shape) for array in arrays]
    places, size = _layout(specs)
    memory = self._mapped(size)
    for array, place in zip(arrays, places, strict=True):
      _view(memory, array.dtype.name, array.shape, place)[...] = array
    return self._numbered('put', len(specs), arrays=_placed(specs, places))

  def run(self, program: Program, arguments: Sequence[int]) -> list[int]:
    """Starts a program on arguments, by their numbers.

    Returns:
      The numbers of its results, which may not be ready yet.
    """
    return self._numbered(
      'run',
      len(program.results),
      program=program.number,
      arguments=list(arguments),
    )

  def fetch(
    self, numbers: Sequence[int], specs: Sequence[Spec]
  ) -> list[np.ndarray]:
    """Waits for arrays, by their numbers, and copies them from the device.

    Raises:
      ProgramError: If the program that makes them failed.
    """
    places, size = _layout(specs)
    memory = self._mapped(size)
    self._call('fetch', arrays=_placed(specs, places), numbers=list(numbers))
    return [
      _view(memory, *spec, place).copy()
      for spec, place in zip(specs, places, strict=True)
    ]

  def free(self, numbers: Sequence[int]) -> None:
    """Frees arrays on the device."""
    self._call('free', numbers=list(numbers))

  def _call(self, do: str, **arguments: Any) -> dict[str, Any]:
    return self.process.call(self._pipe, dict(do=do, **arguments))

  def _send(self, do: str, hlo: bytes) -> dict[str, Any]:
    self._mapped(len(hlo))[: len(hlo)] = hlo
    return self._call(do, size=len(hlo))

  def _numbered(self, do: str, count: int, **arguments: Any) -> list[int]:
    numbers = list(itertools.islice(self._numbers, count))
    self._call(do, numbers=numbers, **arguments)
    return numbers

  def _mapped(self, size: int) -> mmap.mmap:
    """Returns the shared memory, enlarged to a size if necessary."""
    if self._memory is None or len(self._memory) < size:
      size = 1 << max(16, (size - 1).bit_length())
      self._memory_file.truncate(size)
      self._memory = mmap.mmap(self._memory_file.fileno(), size)
    return self._memory


def _first_line(text: str) -> str:
  return text.strip().split('\n', 1)[0]


def _layout(specs: Sequence[Spec]) -> tuple[list[int], int]:
  """Returns the offset of each array, and the size of all in bytes."""
  places, end = [], 0
  for dtype, shape in specs:
    places.append(end)
    end += math.prod(shape) * np.dtype(dtype).itemsize
    end += -end % _ALIGNMENT
  return places, max(end, 1)


def _placed(specs: Sequence[Spec], places: Sequence[int]) -> list[Any]:
  return [
    [dtype, list(shape), place]
    for (dtype, shape), place in zip(specs, places, strict=True)
  ]


def _view(
  memory: mmap.mmap, dtype: str, shape: Sequence[int], place: int
) -> np.ndarray:
  count = math.prod(shape)
  return np.frombuffer(memory, dtype, count, place).reshape(shape)

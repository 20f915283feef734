# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The cost process: compiles XLA programs for devices that may not be there.

As `device_process` it is a program of its own, in the environment of `make
accelerator`, and imports nothing of this package; `round_costs` starts it and
sends it HLO modules through a pipe. For each the answer is JSON: how long it
took to compile, what memory it takes, and what each of its loops costs.

XLA counts a loop's body once, for it does not know how often it runs. So the
costs of bodies are told apart: `loops` begins with the whole program, without
what is in loops, and has then one entry for each loop, without those in it.
"""

import json
from multiprocessing import connection as connection_lib
import os
import re
import sys
import time
from typing import Any

# A machine's own devices are not asked for when it compiles for others.
os.environ.update(
  JAX_PLATFORMS='cpu',
  TPU_SKIP_MDS_QUERY='1',
  TPU_WORKER_ID='0',
  TPU_WORKER_HOSTNAMES='localhost',
  # libtpu lets one process at a time use the chips; this one uses none.
  ALLOW_MULTIPLE_LIBTPU_LOAD='1',
)
# What libtpu takes for the machine where there is none; any will do.
os.environ.setdefault('TPU_ACCELERATOR_TYPE', 'v5litepod-4')

import jax  # pylint: disable=g-import-not-at-top
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir
from jax.experimental import topologies
from jaxlib import _hlo
from jaxlib import _jax
import numpy as np

_HEADER = re.compile(r'(ENTRY )?%([\w.\-]+) \(.*\{$')
# Whatever may be one; operations that call one have many words for it.
_CALLED = re.compile(r'%([\w.\-]+)')
# What runs as a part of the computation that it stands in, not fused to one
# operation.
_INLINE = re.compile(
  r'(?:body|condition|true_computation|false_computation)=%([\w.\-]+)'
  r'|(?:branch_computations)=\{([^}]*)\}| call\(.*to_apply=%([\w.\-]+)'
)


def _names(pattern: re.Pattern[str], line: str) -> list[str]:
  """Returns the computations that an instruction names."""
  return [
    name.strip().lstrip('%')
    for match in pattern.finditer(line)
    for group in match.groups()
    if group
    for name in group.split(',')
  ]


class Module:
  """An optimised HLO module, by the text of its computations."""

  def __init__(self, text: str):
    """Reads the text of a module."""
    self._lines: dict[str, list[str]] = {}
    self.entry = ''
    for line in text.split('\n'):
      if header := _HEADER.match(line):
        name = header[2]
        self._lines[name] = [line.removeprefix('ENTRY ')]
        if header[1]:
          self.entry = name
      elif self._lines and (line.startswith('  ') or line == '}'):
        self._lines[name].append(line)

  def loops(self) -> list[dict[str, Any]]:
    """Returns what the program and its loops cost, each by itself.

    Each has a `name`, where TensorFlow has made it; the number of the loop
    that it is in as its `parent`; and its number of `trips`, where XLA knows
    it.
    """
    found = [dict(name='', parent=None, trips=1, **self._cost(self.entry))]
    self._add_loops(self.entry, 0, found)
    for loop in reversed(found):
      for key in ('flops', 'bytes', 'cycles'):
        inner = (o['all'][key] for o in found if o['parent'] is loop)
        loop[key] = max(0.0, loop['all'][key] - sum(inner))
    numbers = {id(loop): number for number, loop in enumerate(found)}
    return [
      {
        **{k: v for k, v in loop.items() if k != 'all'},
        'parent': numbers.get(id(loop['parent'])),
      }
      for loop in found
    ]

  def _add_loops(
    self, computation: str, parent: int, found: list[dict[str, Any]]
  ) -> None:
    for line in self._lines[computation]:
      if ' while(' in line:
        body, condition = (
          re.search(rf'{part}=%([\w.\-]+)', line)[1]
          for part in ('body', 'condition')
        )
        name = re.search(r'op_name="([^"]*)"', line)
        trips = re.search(r'known_trip_count":\{"n":"(\d+)"', line)
        costs = self._cost(body)['all'], self._cost(condition)['all']
        found.append(
          dict(
            name=name[1] if name else '',
            parent=found[parent],
            trips=int(trips[1]) if trips else None,
            all={key: sum(c[key] for c in costs) for key in costs[0]},
          )
        )
        self._add_loops(body, len(found) - 1, found)
      else:
        for called in _names(_INLINE, line):
          self._add_loops(called, parent, found)

  def _cost(self, computation: str) -> dict[str, Any]:
    """Returns what one run costs, with each loop's body once."""
    needed = self._reachable(_CALLED, computation)
    text = '\n'.join(
      ['HloModule part', '']
      + [
        ('ENTRY ' if name == computation else '') + '\n'.join(lines)
        for name, lines in self._lines.items()
        if name in needed
      ]
    )
    cost = _jax.hlo_module_cost_analysis(
      jax.devices('cpu')[0].client, _hlo.hlo_module_from_text(text)
    )
    cycles = (
      re.search(r'estimated_cycles":"(\d+)"', line)
      for name in self._reachable(_INLINE, computation)
      for line in self._lines[name]
    )
    return dict(
      all=dict(
        flops=cost.get('flops', 0.0),
        bytes=cost.get('bytes accessed', 0.0),
        cycles=float(sum(int(c[1]) for c in cycles if c)),
      )
    )

  def _reachable(self, pattern: re.Pattern[str], computation: str) -> set[str]:
    found, left = {computation}, [computation]
    while left:
      for line in self._lines[left.pop()]:
        new = set(_names(pattern, line)) & self._lines.keys() - found
        found |= new
        left += new
    return found


def _compile(hlo: bytes, device: Any) -> dict[str, Any]:
  start = time.perf_counter()
  options = xla_client.CompileOptions()
  options.num_replicas = options.num_partitions = 1
  options.executable_build_options.device_assignment = (
    xla_client.DeviceAssignment.create(np.array([[device.id]]))
  )
  text = _jax.mlir.xla_computation_to_mlir_module(
    xla_client.XlaComputation(hlo)
  )
  devices = xla_client.DeviceList((device,))
  client = device.client
  # A platform that is here has no compiler for one that is not.
  is_here = device.platform == 'cpu'
  compile_program = client.compile_and_load if is_here else client.compile
  with mlir.make_ir_context():
    program = compile_program(ir.Module.parse(text), devices, options)
  seconds = time.perf_counter() - start
  memory = program.get_compiled_memory_stats()
  (module,) = program.hlo_modules()
  return dict(
    seconds=seconds,
    arguments=memory.argument_size_in_bytes,
    results=memory.output_size_in_bytes - memory.alias_size_in_bytes,
    temporaries=memory.temp_size_in_bytes,
    code=memory.generated_code_size_in_bytes,
    loops=Module(module.to_string()).loops(),
  )


def main(argv: list[str]) -> None:
  """Answers on the pipe whose file number is the first argument.

  Args:
    argv: The program, the number of the pipe, the platform and the topology.
  """
  _, number, platform, topology = argv
  pipe = connection_lib.Connection(int(number))
  # Programs have integers of 64 bits.
  jax.config.update('jax_enable_x64', True)
  try:
    if platform == 'cpu':
      devices = jax.devices('cpu')
    else:
      # So that a chip of two cores is one device, as where it is.
      one_device = {'chip_config_name': 'megacore'}
      devices = topologies.get_topology_desc(
        platform=platform,
        topology_name=topology,
        **(one_device if topology.startswith('v4:') else {}),
      ).devices
    answer = dict(kind=devices[0].device_kind, chips=len(devices))
  except Exception as error:  # pylint: disable=broad-except
    answer = dict(error=str(error) or type(error).__name__)
  pipe.send_bytes(json.dumps(answer).encode())
  while True:
    try:
      hlo = pipe.recv_bytes()
    except EOFError:
      return
    try:
      answer = _compile(hlo, devices[0])
    except Exception as error:  # pylint: disable=broad-except
      answer = dict(error=str(error) or type(error).__name__)
    pipe.send_bytes(json.dumps(answer).encode())


if __name__ == '__main__':
  main(sys.argv)

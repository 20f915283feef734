# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Measures rounds on a PJRT device, in process and in a loop of plain JAX.

  python -m benchmarks.accelerator --platform=cpu

Prints one Markdown table of FedAvg on softmax regression and on a CNN, with
random data. On a CPU, rounds of the CNN with eight clients side by side take
minutes. Rounds in process are measured in turns with rounds of --context=pjrt,
in which clients compute one after the other or eight side by side, and, where
TensorFlow finds a GPU, with rounds in process on it; all lead to the same
weights. Then a loop over the same batches in plain JAX, in the
environment of `make accelerator`, gets the device and must lead to these
weights, too.
"""

from collections.abc import Sequence
import os
import tempfile

from benchmarks import measurement
from benchmarks import peer_rounds
from benchmarks import report
from benchmarks import rounds
from benchmarks import workloads
from fedfish_tff import execution
from fedfish_tff.execution.pjrt import device_client
from launch import cli

from absl import flags
import numpy as np
import tensorflow as tf

_PLATFORM = flags.DEFINE_enum(
  'platform', 'cpu', device_client.PLATFORMS, 'Kind of device.'
)
_WORKLOADS = flags.DEFINE_multi_enum(
  'workloads',
  ['softmax', 'cnn'],
  ['softmax', 'cnn'],
  'Workloads to measure; repeat the flag for several.',
)
_CLIENTS = flags.DEFINE_integer('clients', 16, 'Cohort size.', lower_bound=1)
_REPEATS = flags.DEFINE_integer(
  'repeats', 7, 'Measured rounds of each; medians are shown.', lower_bound=1
)


# The columns of rounds: in process, and on devices.
_IN_PROCESS, _ON_GPU = 'in process', 'in process, GPU'
_WIDTHS = {'pjrt': 1, '8 side by side': 8}
_ON_DEVICES = (_ON_GPU, *_WIDTHS)


def _measure(workload: workloads.Workload) -> tuple[list[str], str]:
  """Returns the cells of a workload, and the version of JAX."""
  clients = rounds.NETWORKS[workload.network].generate_clients(_CLIENTS.value)
  built = rounds.Rounds(workload, clients)
  with tempfile.TemporaryDirectory() as folder:
    rows = {_IN_PROCESS: built.build('cohort')()}
    if tf.config.list_logical_devices('GPU'):
      context = execution.create_context(device='gpu')
      rows[_ON_GPU] = built.build('cohort', context)()
    for name, width in _WIDTHS.items():
      # A new cache, so nothing is compiled before the first round.
      context = execution.create_context(
        'pjrt', platform=_PLATFORM.value, vectorized_clients=width, cache=folder
      )
      rows[name] = built.build('cohort', context)()
    first = {
      name: f'{measurement.seconds_of(run):.2f}' for name, run in rows.items()
    }
    expected, *others = (run() for run in rows.values())
    for weights in others:
      for a, b in zip(weights, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)
    seconds = measurement.measure_in_turns(rows, repeats=_REPEATS.value)
    task_path = os.path.join(folder, 'round.npz')
    built.write_task(task_path, expected, repeats=_REPEATS.value)
    loop = peer_rounds.measure(
      'jax',
      device_client.default_python(),
      task_path,
      JAX_PLATFORMS=_PLATFORM.value,
    )
  in_process = seconds[_IN_PROCESS]
  cells = [f'{in_process:.4f}']
  for s in (*map(seconds.get, _ON_DEVICES), loop.seconds):
    cells += [f'{s:.4f}', f'{s / in_process:.2f}'] if s else ['', '']
  return [*cells, *(first.get(n, '') for n in _ON_DEVICES)], loop.versions


def main(argv: Sequence[str]) -> None:
  """Prints the table."""
  cli.check_no_arguments(argv)
  # Fails at once if there is no such environment or device.
  device_client.DeviceProcess(_PLATFORM.value, cache='').stop()
  lines = [
    ['seconds a round', _IN_PROCESS]
    + [cell for name in _ON_DEVICES for cell in (name, 'ratio')]
    + ['JAX loop', 'ratio', *(f'first, {name}' for name in _ON_DEVICES)]
  ]
  versions = ''
  for name in dict.fromkeys(_WORKLOADS.value):
    workload = workloads.WORKLOADS[name]
    cells, versions = _measure(workload)
    lines.append([workload.title, *cells])
  note = (
    f'{report.processor()}; {_PLATFORM.value} by PJRT, {versions}. Ratios are '
    'multiples of the round in process. A round packs the data and brings it to '
    'the device, where the JAX loop finds it. First rounds compile. '
    f'{_CLIENTS.value} clients of 100 examples in batches of 10.'
  )
  print(report.format_table(lines, [note]), flush=True)


if __name__ == '__main__':
  cli.run(main)

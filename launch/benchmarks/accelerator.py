# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Measures rounds on a device of PJRT, in process and in a bare JAX loop.

  python -m launch.benchmarks.accelerator --platform=cpu
  python -m launch.benchmarks.accelerator --export_dir=build/exported

Prints one table: FedAvg on softmax regression, on the compact CNN of EMNIST and on
a small transformer, on made-up data. Rounds in process and with --context=pjrt
are measured in turns; then, in the device process's environment (`make
accelerator`), the round's program alone, one in which clients compute side by side,
and a loop over the same batches in plain jax.numpy, which must come to the same
weights.

With --export_dir nothing is measured here. The folder, of some 30 MB, holds all
that a machine with JAX needs to measure the last three, with the script
launch/benchmarks/run_exported.py beside it: `python run_exported.py .`
"""

from collections.abc import Sequence
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Any

from fedfish_tff import errors
from fedfish_tff.execution import cohort_context
from fedfish_tff.execution.pjrt import device_client
from fedfish_tff.execution.pjrt import pjrt_context
from fedfish_tff.execution.pjrt import recording_context
from fedfish_tff.models import transformer
from launch import cli
from launch.benchmarks import report
from launch.benchmarks import round_time
from launch.benchmarks import rounds
from launch.benchmarks import workloads

from absl import flags
import numpy as np
import tensorflow_federated as tff

_SCRIPT = pathlib.Path(__file__).with_name('run_exported.py')
_NAMES = ('softmax', 'compact_cnn', 'transformer')
_HEADER = (
  'seconds a round',
  'in process',
  'pjrt',
  'ratio',
  'its program',
  'side by side',
  'bare loop',
  'ratios',
  '',
  'to compile',
  'from cache',
)

_PLATFORM = flags.DEFINE_enum(
  'platform', 'cpu', device_client.PLATFORMS, "Of the environment's devices."
)
_WORKLOADS = flags.DEFINE_multi_enum(
  'workloads',
  list(_NAMES),
  list(_NAMES),
  'What to measure; repeat the flag for several.',
)
_CLIENTS = flags.DEFINE_integer(
  'clients',
  None,
  "Clients in the cohort, in place of the workload's own number.",
  lower_bound=1,
)
_REPEATS = flags.DEFINE_integer(
  'repeats', 7, 'Measured rounds of each; medians are shown.', lower_bound=1
)
_VECTORIZED_CLIENTS = flags.DEFINE_integer(
  'vectorized_clients',
  8,
  'How many clients compute side by side in a program.',
  lower_bound=2,
)
_EXPORT_DIR = flags.DEFINE_string(
  'export_dir', None, 'A new folder for what another machine needs.'
)


class _Work:
  """A workload of this process."""

  def __init__(self, name: str):
    self.name = name
    self.plan = workloads.WORKLOADS[name]
    network = rounds.NETWORKS[self.plan.network]
    self.num_clients = _CLIENTS.value or self.plan.num_clients
    self.clients = network.generate_clients(
      self.num_clients, self.plan.num_examples
    )
    model = network.create_functional()
    self.weights = tff.learning.models.ModelWeights(*model.initial_weights)
    self._process = rounds.build_process(model)

  def round_in(self, context: tff.framework.SyncContext) -> rounds.Round:
    """Returns a round in a context."""
    batches = rounds.client_batches(self.clients, self.plan.batch_size)
    return rounds.federated_round(
      self._process, self.weights, context, itertools.repeat(batches)
    )


def _write(work: _Work, folder: pathlib.Path) -> dict[str, Any]:
  """Writes a workload's round; returns what the manifest says of it."""
  # What is exported is for an accelerator.
  for_cpu = _EXPORT_DIR.value is None and _PLATFORM.value == 'cpu'
  records = []
  for width in (1, _VECTORIZED_CLIENTS.value):
    context = recording_context.RecordingContext(
      for_cpu=for_cpu, vectorized_clients=width
    )
    expected = work.round_in(context)()
    records += context.records
  record, vectorized = records
  arrays = dict(
    argument=record.arguments,
    # Behind the same arguments, who computes side by side.
    order=vectorized.arguments[len(record.arguments) :],
    result=record.results,
    weight=work.weights.trainable,
    expected=expected,
  )
  np.savez_compressed(
    folder / f'{work.name}.npz',
    **{
      f'{kind}_{i}': np.asarray(array)
      for kind, listed in arrays.items()
      for i, array in enumerate(listed)
    },
    x=np.stack([x for x, _ in work.clients]),
    y=np.stack([y for _, y in work.clients]),
  )
  (folder / f'{work.name}.hlo').write_bytes(record.hlo)
  (folder / f'{work.name}_vectorized.hlo').write_bytes(vectorized.hlo)
  is_transformer = work.plan.network == 'transformer'
  return dict(
    title=work.plan.title,
    num_clients=work.num_clients,
    batch_size=work.plan.batch_size,
    learning_rate=rounds.CLIENT_LEARNING_RATE,
    vectorized_clients=_VECTORIZED_CLIENTS.value,
    num_heads=transformer.TRANSFORMER_SIZES['tiny']['num_heads']
    if is_transformer
    else 0,
    **{f'{kind}s': len(listed) for kind, listed in arrays.items()},
  )


def _run_script(*arguments: str | os.PathLike[str], platform: str) -> str:
  """Runs the script in the device process's environment; returns its output."""
  done = subprocess.run(
    [device_client.default_python(), '-I', _SCRIPT, *arguments],
    env={**os.environ, 'JAX_PLATFORMS': platform},
    capture_output=True,
    text=True,
    check=False,
  )
  if done.returncode:
    raise errors.InputError(
      f'{_SCRIPT.name} failed: {(done.stdout + done.stderr).strip()[-2000:]}'
    )
  return done.stdout


def _export(works: Sequence[_Work], folder: pathlib.Path) -> None:
  """Writes a folder for the script."""
  manifest = {work.name: _write(work, folder) for work in works}
  (folder / 'manifest.json').write_text(json.dumps(manifest, indent=2))


def _compile_seconds(hlo: bytes, cache: str) -> list[float]:
  """Returns the seconds to compile a program, and to load it once it is kept."""
  seconds = []
  for _ in range(2):
    process = device_client.DeviceProcess(_PLATFORM.value, cache=cache)
    try:
      seconds.append(process.device(0).compile(hlo).seconds)
    finally:
      process.stop()
  return seconds


def _measure(
  work: _Work, folder: pathlib.Path, context: tff.framework.SyncContext
) -> list[float]:
  """Returns seconds: in process, with PJRT, to compile, from the cache."""
  with tempfile.TemporaryDirectory() as cache:
    compile_seconds = _compile_seconds(
      (folder / f'{work.name}.hlo').read_bytes(), cache
    )
    rows = {
      'cohort': work.round_in(context),
      'pjrt': work.round_in(
        pjrt_context.SyncPjrtExecutionContext(_PLATFORM.value, cache=cache)
      ),
    }
    ends = {name: run() for name, run in rows.items()}
    for ours, expected in zip(ends['pjrt'], ends['cohort'], strict=True):
      np.testing.assert_allclose(ours, expected, atol=1e-4)
    seconds = round_time.measure_in_turns(rows, repeats=_REPEATS.value)
  return [seconds['cohort'], seconds['pjrt'], *compile_seconds]


def main(argv: Sequence[str]) -> None:
  """Prints the table, or writes the folder."""
  cli.check_no_arguments(argv)
  if _EXPORT_DIR.value is not None and os.path.exists(_EXPORT_DIR.value):
    raise errors.InputError(f'{_EXPORT_DIR.value} is there already.')
  # Says at once if there is no such environment or device.
  device_client.DeviceProcess(_PLATFORM.value, cache='').stop()
  # Before the first operation of TensorFlow.
  context = cohort_context.SyncCohortExecutionContext()
  with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    works = [_Work(name) for name in dict.fromkeys(_WORKLOADS.value)]
    _export(works, folder)
    if _EXPORT_DIR.value is not None:
      _run_script('--convert', folder, platform='cpu')
      shutil.copy(_SCRIPT, folder)
      size = sum(path.stat().st_size for path in folder.iterdir())
      shutil.copytree(folder, _EXPORT_DIR.value)
      print(
        f'{_EXPORT_DIR.value}: {size / 1e6:.1f} MB. On a machine with JAX, in a '
        f'copy of it: python {_SCRIPT.name} .'
      )
      return
    measured = {work.name: _measure(work, folder, context) for work in works}
    _run_script('--convert', folder, platform='cpu')
    output = _run_script(
      folder, f'--repeats={_REPEATS.value}', platform=_PLATFORM.value
    )
  alone = json.loads(output.splitlines()[-1])
  lines = [list(_HEADER)]
  for work in works:
    in_process, pjrt, cold, kept = measured[work.name]
    rows = alone['workloads'][work.name]
    program, vectorized, bare = (
      rows[kind]['seconds'] for kind in ('program', 'vectorized', 'bare')
    )
    lines.append(
      [
        work.name,
        *(f'{s:.4f}' for s in (in_process, pjrt)),
        f'{pjrt / in_process:.2f}',
        *(f'{s:.4f}' for s in (program, vectorized, bare)),
        *(f'{s / bare:.2f}' for s in (program, vectorized)),
        *(f'{s:.2f}' for s in (cold, kept)),
      ]
    )
  notes = [
    f'{report.processor()}; {alone["device"]} by PJRT ({_PLATFORM.value}). A '
    'round packs the data and brings it to the device; its program, that with '
    f'{_VECTORIZED_CLIENTS.value} clients side by side and the bare loop find it '
    'there. The last ratios are to the bare loop.',
    *(
      f'{w.name}: {w.plan.title}, {w.num_clients} clients of '
      f'{w.plan.num_examples} examples by {w.plan.batch_size}.'
      for w in works
    ),
  ]
  print(report.format_text(lines, notes), flush=True)


if __name__ == '__main__':
  cli.run(main)

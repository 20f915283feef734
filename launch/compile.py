# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Compiles a round's client work for an accelerator, and prints its cost.

  python -m launch.compile --config=launch/configs/digits.py:fed_fish

The TPU chips of --topology need not be present, but `make accelerator
PLATFORM=tpu` must have installed the compiler; --platform=cpu compiles for this
machine. Large programs take minutes: a ResNet-18 or a transformer takes ten on
a laptop.

The output says whether and how fast that succeeds, and has the results of JAX's
memory_analysis() and cost_analysis(): memory per chip, operations and bytes
accessed. JAX counts the body of each loop once, regardless of the number of
iterations, so the cost is roughly that of one batch of one client
(docs/tpu.md).

Nothing is trained. The data is read as in launch.train, because the clients of
the first round determine the shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
import functools
import tempfile
import typing

from fedfish_tff import simulation
from launch import cli
from launch import json_config
from launch import path_flags
from launch import trust_flags
from launch.methods import config_checks
from launch.results import text_table

from absl import flags
from absl import logging

if typing.TYPE_CHECKING:
  from fedfish_tff.execution.pjrt import device_client
  from launch.runs import experiment as experiment_lib

_CONFIG = json_config.define_flag(
  'The experiment, as for launch.train: a file of launch/configs, with :variant '
  'at its end, or the config.json of a run. A .py file is a program and is run: '
  'use those that you trust. --config.<field>=<value> changes a field.'
)
_DATA_DIR = path_flags.define(
  'data_dir',
  None,
  'The folder of the data, for tasks that read files.',
  takes_urls=True,
)
_PLATFORM = flags.DEFINE_enum(
  'platform', 'tpu', ['tpu', 'cpu'], 'The kind of device.'
)
_TOPOLOGY = flags.DEFINE_string(
  'topology',
  'v5e:2x2',
  'For --platform=tpu: the kind and arrangement of chips, such as v5e:2x2, '
  'v4:2x2x1 or v6e:2x2.',
)
_TRUST = trust_flags.define()

_say = functools.partial(print, flush=True)


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  cli.check_given(_CONFIG)
  trust = _TRUST(is_json=json_config.is_data())
  config = config_checks.read(_CONFIG.value.to_dict(), trust=trust)
  # Imported late: TFF takes seconds, and all above answers at once.
  cli.report_import()
  from fedfish_tff.execution import contexts  # pylint: disable=g-import-not-at-top
  from fedfish_tff.execution import execution_context  # pylint: disable=g-import-not-at-top
  from fedfish_tff.execution.pjrt import cost_runner  # pylint: disable=g-import-not-at-top
  from fedfish_tff.execution.pjrt import device_client  # pylint: disable=g-import-not-at-top
  from launch.runs import experiment as experiment_lib  # pylint: disable=g-import-not-at-top

  import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

  process = device_client.DeviceProcess(
    _PLATFORM.value,
    topology=_TOPOLOGY.value if _PLATFORM.value == 'tpu' else '',
  )
  try:
    # The process is also traced in this context.
    contexts.set_default_context()
    experiment = experiment_lib.build_experiment(
      config, data_dir=_DATA_DIR.value
    )
    runner = cost_runner.CostRunner(
      process,
      lambda size: _say(f'Compiling a program of {size / 1e6:.1f} MB ...'),
    )
    context = execution_context.SyncExecutionContext(runner)
    with contextlib.ExitStack() as stack:
      # Clients do no work here, so that their metrics would cause warnings.
      stack.callback(logging.set_verbosity, logging.get_verbosity())
      logging.set_verbosity(logging.ERROR)
      stack.enter_context(tff.framework.get_context_stack().install(context))
      _run_round(experiment)
    device = process.device_kind
    if process.num_devices > 1:
      device += f', {process.num_devices} of them'
  finally:
    process.stop()
  rows = [('device', device), *describe(runner.analyses, runner.problems)]
  _say(text_table.align(rows))


def describe(
  analyses: Sequence[device_client.Analysis], problems: Sequence[str]
) -> list[tuple[str, str]]:
  """Returns names and values: whether a round compiles, its memory and cost.

  Args:
    analyses: The analyses of the round's programs.
    problems: The reasons why client work was not compiled.
  """
  if problems or not analyses:
    return [('compiles', f'no: {"; ".join(problems) or "no client work"}')]
  number = f'{len(analyses)} program{"s" if len(analyses) > 1 else ""}'
  seconds = sum(a.seconds for a in analyses)
  most = max(analyses, key=lambda a: a.num_bytes)
  parts = ('arguments', 'results', 'temporaries', 'code')
  memory = ', '.join(
    f'{p} {text_table.quantity(getattr(most, p))}B' for p in parts
  )
  flops = sum(a.flops for a in analyses)
  accessed = sum(a.bytes_accessed for a in analyses)
  return [
    ('compiles', f'yes, {number} in {seconds:.1f} s'),
    ('memory', f'{text_table.quantity(most.num_bytes)}B: {memory}'),
    (
      'cost',
      f'{text_table.quantity(flops)}FLOP, {text_table.quantity(accessed)}B '
      'accessed, the body of each loop once',
    ),
  ]


def _run_round(experiment: experiment_lib.Experiment) -> None:
  with tempfile.TemporaryDirectory() as folder:
    simulation.run_training(
      experiment.process,
      train_data=experiment.task.train,
      participation=experiment.cohorts.planned,
      batch_spec=experiment.batch_spec,
      seed=experiment.config.seed,
      rounds=1,
      client_states=experiment.open_client_states(f'{folder}/states'),
    )


if __name__ == '__main__':
  cli.run(main)

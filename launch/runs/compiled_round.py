# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The memory and operations of a round's client work, compiled ahead of time."""

from collections.abc import Sequence
import contextlib
import functools
import tempfile

from fedfish_tff import simulation
from fedfish_tff.execution import contexts
from fedfish_tff.execution.pjrt import cost_context
from fedfish_tff.execution.pjrt import device_client
from launch.methods import config as config_lib
from launch.results import text_table
from launch.runs import experiment as experiment_lib

from absl import logging
import tensorflow_federated as tff

_say = functools.partial(print, flush=True)


def print_costs(
  config: config_lib.Config,
  *,
  platform: str,
  topology: str,
  data_dir: str | None = None,
) -> None:
  """Compiles the client work of the first round and prints its costs.

  Args:
    config: The config.
    platform: 'tpu' or 'cpu'.
    topology: The chips, such as 'v5e:2x2'; ignored on 'cpu'.
    data_dir: The folder of the data, for tasks that read files.

  Raises:
    errors.InputError: If something cannot be used.
  """
  process = device_client.DeviceProcess(
    platform, topology=topology if platform == 'tpu' else ''
  )
  try:
    # The process is also traced in this context.
    contexts.set_default_context()
    experiment = experiment_lib.build_experiment(config, data_dir=data_dir)
    context = cost_context.CostContext(
      process,
      lambda size: _say(f'Compiling a program of {size / 1e6:.1f} MB ...'),
    )
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
  rows = [('device', device), *describe(context.analyses, context.problems)]
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
      participation=experiment.planned,
      batch_spec=experiment.batch_spec,
      seed=experiment.config.seed,
      rounds=1,
      client_states=experiment.open_client_states(f'{folder}/states'),
    )

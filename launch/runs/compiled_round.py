# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the rounds of a run cost on an accelerator, compiled ahead of time."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import math
import tempfile
from typing import Any

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.execution import contexts
from fedfish_tff.execution.pjrt import round_costs
from launch.results import text_table
from launch.runs import experiment as experiment_lib

from absl import logging
import tensorflow_federated as tff

_GIB = 2**30


@dataclasses.dataclass(frozen=True)
class Chip:
  """What Google publishes of a TPU, per chip.

  The pages are "System architecture" of cloud.google.com/tpu/docs.

  Attributes:
    flops: The peak a second, in bfloat16.
    memory: Bytes of HBM.
    products: Multiplications of the matrix units in a cycle.
  """

  flops: float
  memory: int
  products: int

  @property
  def exact_flops(self) -> float:
    """The peak a second where factors are float32: six passes of bfloat16."""
    return self.flops / 6

  @property
  def cycles(self) -> float:
    """Cycles a second, at which the matrix units reach the peak."""
    return self.flops / (2 * self.products)


_CHIPS = {
  'v4': Chip(275e12, 32 * _GIB, 8 * 128**2),
  'v5e': Chip(197e12, 16 * _GIB, 4 * 128**2),
  'v6e': Chip(918e12, 32 * _GIB, 4 * 256**2),
}


def print_costs(
  config: Mapping[str, Any],
  *,
  platform: str,
  topology: str,
  data_dir: str | None = None,
  say: Callable[[str], None] = print,
) -> None:
  """Compiles the client work of a round and says what it costs.

  Args:
    config: Nested mappings, see `launch/configs`.
    platform: 'tpu' or 'cpu'; on the latter two rounds are measured, too.
    topology: The chips, such as 'v5e:2x2'; of no meaning on 'cpu'.
    data_dir: Where tasks that read files find them.
    say: Takes each line, as soon as it is known.

  Raises:
    errors.InputError: If something cannot be used.
  """
  chip = None
  if platform == 'tpu':
    name = topology.partition(':')[0]
    if name not in _CHIPS:
      raise errors.InputError(
        f'--topology is {topology!r}; expected chips and how many, such as '
        f'v5e:2x2, of one of: {", ".join(_CHIPS)}.'
      )
    chip = _CHIPS[name]
  process = round_costs.CostProcess(platform, topology)
  try:
    # This context traces what is built, too.
    contexts.set_default_context()
    experiment = experiment_lib.build_experiment(config, data_dir=data_dir)
    context = round_costs.CostContext(
      process,
      lambda size: say(f'Compiling a program of {size / 1e6:.1f} MB ...'),
      lambda minute: say(f'... for {minute} min'),
    )
    # Clients who do nothing leave a mean of nothing.
    with _quiet(), tff.framework.get_context_stack().install(context):
      _run_rounds(experiment, 1)
    seconds = None
    if chip is None and not any(s.problem for s in context.stages):
      say('Measuring two rounds of the same clients ...')
      contexts.set_default_context('pjrt', platform=platform)
      seconds = _run_rounds(experiment, 2)
    rows = describe(
      context.stages,
      kind=process.kind,
      num_chips=process.num_chips,
      chip=chip,
      num_clients=len(experiment.participation(1)),
      rounds=config['rounds'] - experiment.first_round,
      measured_seconds=seconds,
    )
  finally:
    process.stop()
  say(text_table.align(rows))


def describe(
  stages: Sequence[round_costs.StageCost],
  *,
  kind: str,
  num_chips: int,
  chip: Chip | None,
  num_clients: int,
  rounds: int,
  measured_seconds: float | None = None,
) -> list[tuple[str, str]]:
  """Returns what a user plans by, as rows of two cells.

  Args:
    stages: What the stages of a round cost.
    kind: The device's name.
    num_chips: Their number.
    chip: What is known of one; None for none.
    num_clients: Of a cohort.
    rounds: Of the run.
    measured_seconds: Of a round, if it was measured.
  """
  rows = [('device', f'{kind}, {num_chips} of them' if num_chips > 1 else kind)]
  problems = [stage.problem for stage in stages if stage.problem is not None]
  if problems or not stages:
    reason = '; '.join(problems) or 'no client work'
    return [*rows, ('compiles', f'no: {reason}')]
  number = f'{len(stages)} program{"s" if len(stages) > 1 else ""}'
  seconds = sum(stage.compile_seconds for stage in stages)
  most = max(stages, key=lambda stage: stage.num_bytes)
  rows += [
    ('compiles', f'yes, {number} in {seconds:.1f} s'),
    (
      'memory of a chip',
      f'{_bytes(most.num_bytes)}: arguments {_bytes(most.arguments)}, results '
      f'{_bytes(most.results)}, temporaries {_bytes(most.temporaries)}, code '
      f'{_bytes(most.code)}',
    ),
  ]
  waves = math.ceil(num_clients / num_chips)
  if chip is not None:
    width = min(round_costs.width_that_fits(s, chip.memory) for s in stages)
    rows += [
      ('of the chip', f'{most.num_bytes / chip.memory:.1%} of its HBM'),
      (
        'cohort that fits',
        f'any, one client at a time on a chip; {width:,} side by side'
        if most.num_bytes <= chip.memory
        else 'none',
      ),
      (
        'chips in use',
        f'{min(num_clients, num_chips)}, with up to {waves} of the '
        f"round's {num_clients} clients each",
      ),
    ]
  flops = sum(s.per_client(lambda loop: loop.flops) for s in stages)
  accessed = sum(s.per_client(lambda loop: loop.num_bytes) for s in stages)
  rows += [
    (
      'a client',
      f'{_number(flops)}FLOP, {_number(accessed)}B accessed, by XLA',
    ),
  ]
  rows += [
    (
      f'  loop {loop.name or "without a name"}',
      f'{loop.trips:,.1f} times{"" if loop.is_counted else " (assumed)"}: '
      f'{_number(loop.flops)}FLOP, {_number(loop.num_bytes)}B each',
    )
    for stage in stages
    for loop in stage.loops[1:]
    if loop.trips * loop.flops > flops / 1000
  ]
  if measured_seconds is not None:
    rows += _durations(
      'measured', measured_seconds / num_clients, measured_seconds, rounds
    )
    rate = flops * num_clients / measured_seconds
    rows.append(('  rate', f'{_number(rate)}FLOP/s'))
  if chip is not None:
    least = flops / chip.exact_flops
    cycles = sum(s.per_client(lambda loop: loop.cycles) for s in stages)
    for name, one in (
      (f'at best ({_number(chip.exact_flops)}FLOP/s, float32)', least),
      (
        f'by XLA ({_number(cycles)}cycles at {chip.cycles / 1e9:.2f} GHz)',
        max(least, cycles / chip.cycles),
      ),
    ):
      rows += _durations(name, one, one * waves, rounds)
  return rows


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
  """Lets no warnings through in its block."""
  verbosity = logging.get_verbosity()
  logging.set_verbosity(logging.ERROR)
  try:
    yield
  finally:
    logging.set_verbosity(verbosity)


def _run_rounds(experiment: experiment_lib.Experiment, rounds: int) -> float:
  """Runs the first round's clients in each round; returns the last's seconds."""
  rows = []
  with tempfile.TemporaryDirectory() as folder:
    client_states = None
    if isinstance(experiment.process, algorithms.ClientStateProcess):
      client_states = simulation.ClientStateStore(f'{folder}/states')
    simulation.run_training(
      experiment.process,
      train_data=experiment.task.train,
      participation=lambda unused_round: experiment.participation(1),
      batch_spec=experiment.batch_spec,
      seed=experiment.config['seed'],
      rounds=rounds,
      client_states=client_states,
      hooks=[simulation.RowCallback(lambda _, row: rows.append(row))],
    )
  return rows[-1]['time/round_seconds']


def _durations(
  name: str, client: float, whole_round: float, rounds: int
) -> list[tuple[str, str]]:
  return [
    (
      name,
      f'{_duration(client)} a client, {_duration(whole_round)} a round, '
      f'{_duration(whole_round * rounds)} for {rounds:,} rounds',
    )
  ]


def _bytes(number: float) -> str:
  return f'{_number(number)}B'


def _number(number: float) -> str:
  for unit, size in (('P', 1e15), ('T', 1e12), ('G', 1e9), ('M', 1e6)):
    if number >= size:
      return f'{number / size:.3g} {unit}'
  return f'{number / 1e3:.3g} k'


def _duration(seconds: float) -> str:
  for unit, size in (('h', 3600), ('min', 60), ('s', 1), ('ms', 1e-3)):
    if seconds >= size:
      return f'{seconds / size:.3g} {unit}'
  return f'{seconds * 1e6:.3g} µs'

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Shows whether memory grows over thousands of rounds.

  python -m benchmarks.memory
  python -m benchmarks.memory --data=datasets --rounds=500
  python -m benchmarks.memory --processes=50 --plot=memory.png

Trains softmax regression 784->62 by FedAvg in the cohort context, each round
with another number of clients of other sizes, batches in another order, and
prints this process's resident memory on the way. A few minutes; memory should
be flat once every cohort size has been met.

With --processes, so many processes are built, run for two rounds and dropped,
here and on TFF's own runtime, one after the other: what each of them leaves
behind is TensorFlow's and TFF's, if both leave the same.
"""

from collections.abc import Sequence
import sys

from launch import cli

from absl import flags

_ROUNDS = flags.DEFINE_integer('rounds', 2000, 'Rounds.', lower_bound=20)
_CLIENTS = flags.DEFINE_integer(
  'clients', 32, 'The largest cohort; others are smaller.', lower_bound=1
)
_MODEL = flags.DEFINE_enum(
  'model', 'functional', ['functional', 'keras'], 'The kind of model.'
)
_DATA = flags.DEFINE_enum(
  'data',
  'client_batches',
  ['client_batches', 'datasets'],
  "What the clients' data are: the package's own, or tf.data.Dataset objects "
  'that are made anew every round.',
)
_PROCESSES = flags.DEFINE_integer(
  'processes',
  None,
  'Measure so many processes in place of rounds.',
  lower_bound=20,
)
_PLOT = flags.DEFINE_string(
  'plot', None, 'With --processes: a file for the plot (.png, .pdf or .svg).'
)


def main(argv: Sequence[str]) -> None:
  """Prints memory against rounds, and its growth."""
  cli.check_no_arguments(argv)
  if _PROCESSES.value is not None:
    _measure_processes(_PROCESSES.value)
    return
  # Imported late: TFF takes seconds, and all above answers at once.
  from benchmarks import memory_growth  # pylint: disable=g-import-not-at-top
  from fedfish_tff.execution import contexts  # pylint: disable=g-import-not-at-top

  # Before TensorFlow's first operation, for its number of threads.
  contexts.set_default_context()
  print(f'{"round":>8}{"resident MB":>14}')
  samples = []
  for resident_bytes in memory_growth.sample_memory(
    rounds=_ROUNDS.value,
    largest_cohort=_CLIENTS.value,
    keras=_MODEL.value == 'keras',
    datasets=_DATA.value == 'datasets',
  ):
    samples.append(resident_bytes)
    if len(samples) % max(1, _ROUNDS.value // 20) == 0:
      print(f'{len(samples):8}{resident_bytes / 1e6:14.1f}', flush=True)
  growth = memory_growth.growth_bytes(samples)
  print(
    f'Growth from the second to the last tenth of the rounds: '
    f'{growth / 1e6:+.1f} MB (medians).'
  )


def _measure_processes(processes: int) -> None:
  # Imported late: TFF takes seconds, and all above answers at once.
  from benchmarks import child_process  # pylint: disable=g-import-not-at-top
  from benchmarks import memory_growth  # pylint: disable=g-import-not-at-top
  from launch.plots import style  # pylint: disable=g-import-not-at-top

  samples = {}
  for context in ('cohort', 'local_worker'):
    print(f'{processes} processes, --context={context} ...', file=sys.stderr)
    samples[context] = child_process.call(
      memory_growth.sample_processes,
      dict(context=context, processes=processes),
    )
  for context, values in samples.items():
    growth = memory_growth.growth_bytes(values)
    # Between the middles of the second and of the last tenth.
    each = growth / (processes - 2 * (processes // 10))
    print(
      f'{context:14}{values[0] / 1e6:8.1f} MB after the first process, '
      f'{values[-1] / 1e6:.1f} after the last: {each / 1e6:+.2f} MB each'
    )
  if _PLOT.value is not None:
    style.save_figure(memory_growth.plot_samples(samples), _PLOT.value)
    print(_PLOT.value)


if __name__ == '__main__':
  cli.run(main)

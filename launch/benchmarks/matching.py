# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Shows what FedMA's matching of a layer costs, and where its time goes.

  python -m launch.benchmarks.matching
  python -m launch.benchmarks.matching --plot=matching.png

Layers of made-up clients are matched (`aggregators.match_units`): of 64 to 1,024
units, and of 2 to 32 clients. Their units are alike but for noise, each client's
in another order. Each client is matched six times, once and in five sweeps: first
all pairs of its units and the server's get a score, then the best assignment is
sought. Half a minute.
"""

from collections.abc import Sequence

from launch import cli
from launch.benchmarks import report

from absl import flags

_UNITS = flags.DEFINE_multi_integer(
  'units',
  [64, 128, 256, 512, 1024],
  'Units of a client; repeat the flag for several.',
  lower_bound=1,
)
_CLIENTS = flags.DEFINE_multi_integer(
  'clients',
  [2, 4, 8, 16, 32],
  'Clients; repeat the flag for several.',
  lower_bound=2,
)
_FIXED_UNITS = flags.DEFINE_integer(
  'fixed_units', 512, 'Units where clients vary.', lower_bound=1
)
_FIXED_CLIENTS = flags.DEFINE_integer(
  'fixed_clients', 16, 'Clients where units vary.', lower_bound=2
)
_INPUTS = flags.DEFINE_integer(
  'inputs',
  512,
  'Inputs of a unit: those of a dense layer after one of as many units, or 9 '
  'times the channels of a convolution of 3x3.',
  lower_bound=1,
)
_PLOT = flags.DEFINE_string(
  'plot', None, 'A file for the plot (.png, .pdf or .svg).'
)


def main(argv: Sequence[str]) -> None:
  """Prints the table."""
  cli.check_no_arguments(argv)
  # Imported late: all above answers at once.
  from launch.benchmarks import matching_growth  # pylint: disable=g-import-not-at-top

  lines = [
    ['units x clients', 'CPU seconds', 'scores', 'assignment', 'server has']
  ]

  def measure(units: int, clients: int) -> matching_growth.Timing:
    timing = matching_growth.measure(units, clients, inputs=_INPUTS.value)
    lines.append(
      [
        f'{units:,} x {clients:,}',
        f'{timing.seconds:.2f}',
        f'{timing.scores / timing.seconds:.0%}',
        f'{timing.assignment / timing.seconds:.0%}',
        f'{timing.server_units:,}',
      ]
    )
    return timing

  # What is loaded at first would count.
  matching_growth.measure(8, 2, inputs=_INPUTS.value)
  by_units = [
    measure(units, _FIXED_CLIENTS.value) for units in sorted(set(_UNITS.value))
  ]
  by_clients = [
    measure(_FIXED_UNITS.value, clients)
    for clients in sorted(set(_CLIENTS.value))
  ]
  note = (
    f'Units of {_INPUTS.value:,} inputs and a bias. Scores and assignment are '
    'shares of the seconds; the last column is the units that came out.'
  )
  print(report.format_text(lines, [note]))
  if _PLOT.value is not None:
    from launch.plots import style  # pylint: disable=g-import-not-at-top

    figure = matching_growth.plot_timings(by_units, by_clients)
    style.save_figure(figure, _PLOT.value)
    print(_PLOT.value)


if __name__ == '__main__':
  cli.run(main)

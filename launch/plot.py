# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Plots and compares finished or running workdirs of launch.train.

Runs that differ only in their seed are pooled: lines are means over seeds, and
methods are compared by paired differences within seeds, and within clients of
seeds, with bootstrap intervals if there are at least five. Differences below
1e-6 of a metric's scale are ties. For example:

  python -m launch.plot --output_dir=plots \
    --workdirs=runs/fed_avg_0,runs/fed_avg_1,runs/fed_fish_0,runs/fed_fish_1

Another metric (any column of metrics.csv), only against bytes, as vector
graphics:

  python -m launch.plot --output_dir=plots --workdirs=runs/a,runs/b \
    --metric=eval/personalized/accuracy --x=bytes --format=pdf

The figures of the FedFish paper, sized for a paper's column or page, from the
finished runs of a sweep:

  python -m launch.plot --output_dir=plots --sweep_dir=runs/sweep \
    --layout=all --format=pdf

The files of --output_dir, as far as the workdirs have the data, are:

  <metric>_by_round, _by_local_steps (fixed compute), _by_bytes: curves;
    _by_payload_bytes for runs with partial exchange of weights,
    _by_simulated_seconds for runs with client speeds
  barrier_<metric>...: client-server barriers of two methods, with x = y
  personalization_<metric>, few_shot_<metric>, client_spread_<metric>: clients
    before and after fine-tuning; they need evaluation/clients.csv in the
    workdirs, which launch.evaluate writes
  methods.csv: each method's results, mean and deviation over seeds
  comparison.csv: the paired differences
  test_comparison.csv: the differences on test clients by seed, of finished runs

The tables are also printed unless they are large. With --sweep_dir, the sweep's
index.html is rewritten, with its own figures and, with --format=png, these.

--layout draws other figures instead, and captions.txt with their descriptions:

  fixed_compute: the metric against rounds, local steps and bytes for runs with
    equal rounds times local epochs; a panel per task
  local_epochs: scores on test clients before and after personalisation by
    local epochs, and their paired differences to FedAvg
  barrier: the barriers of each method against FedAvg's, a marker for each
    number of local epochs, shaded by round
  transfer: scores on other tasks by the share of a client's data, at half of
    the rounds and at the end, of workdirs that launch.evaluate --targets has
    scored; with transfer_table.csv: means and deviations over seeds, and the
    differences to FedAvg within seeds. --metric chooses a metric other than
    accuracy, such as --metric=eval/global/perplexity
  stragglers: the metric against simulated time, a row of panels for each of
    --communication_seconds, which do not affect training, and the time at which
    each line reaches the best score that half of the lines reach; a line is a
    method with one participation schedule
"""

from collections.abc import Sequence
import math
import pathlib

from fedfish_tff import errors
from launch import cli
from launch import path_flags
from launch.plots import comparison
from launch.plots import curves
from launch.plots import run_layouts
from launch.plots import stragglers
from launch.plots import style

from absl import flags

_X_AXES = tuple(curves.X_AXES)

_WORKDIRS = path_flags.define_list(
  'workdirs', 'Workdirs of launch.train, separated by commas.'
)
_SWEEP_DIR = path_flags.define(
  'sweep_dir',
  None,
  'A folder of launch.sweep, whose finished runs are drawn, in place of '
  '--workdirs or beside it.',
)
_LAYOUT = flags.DEFINE_enum(
  'layout',
  'default',
  ['default', *run_layouts.LAYOUTS, 'all'],
  'Which figures: those for a look at the runs, or layouts for a paper; all '
  'draws every layout that the runs make.',
)
_OUTPUT_DIR = path_flags.define(
  'output_dir', None, 'The folder for the plots; made if it does not exist.'
)
_METRIC = flags.DEFINE_string(
  'metric',
  None,
  'The column of metrics.csv to draw. By default the accuracy (else the first '
  'metric) of the global model on validation clients.',
)
_X = flags.DEFINE_list(
  'x',
  list(_X_AXES),
  f'What the metric is drawn against: any of {", ".join(_X_AXES)}.',
)
_FORMAT = flags.DEFINE_enum(
  'format', 'png', style.FORMATS, 'The format of the plots.'
)
_COMMUNICATION_SECONDS = flags.DEFINE_list(
  'communication_seconds',
  [f'{c:g}' for c in stragglers.COMMUNICATION_SECONDS],
  'For the layout stragglers: what messages add to each round, a row each.',
)
_SHOW_SEEDS = flags.DEFINE_bool(
  'show_seeds', False, 'Draw a line for each seed in place of a band.'
)


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  given = _WORKDIRS.value or _SWEEP_DIR.value
  if not given or not _OUTPUT_DIR.value:
    raise errors.InputError(
      '--workdirs or --sweep_dir, and --output_dir are needed; --help shows an '
      'example.'
    )
  unknown = [x for x in _X.value if x not in _X_AXES]
  if unknown or not _X.value:
    raise errors.InputError(
      f'--x={",".join(_X.value)} is unknown; expected any of '
      f'{", ".join(_X_AXES)}.'
    )
  workdirs = list(_WORKDIRS.value or ())
  if _SWEEP_DIR.value:
    workdirs += comparison.find_workdirs(_SWEEP_DIR.value)
  drawn = comparison.compare_workdirs(
    workdirs,
    pathlib.Path(_OUTPUT_DIR.value),
    metric=_METRIC.value,
    x_axes=_X.value,
    file_format=_FORMAT.value,
    show_seeds=_SHOW_SEEDS.value,
    layout=_LAYOUT.value,
    communication_seconds=_read_seconds(_COMMUNICATION_SECONDS.value),
  )
  if _SWEEP_DIR.value:
    comparison.write_page(_SWEEP_DIR.value, drawn)


def _read_seconds(texts: Sequence[str]) -> list[float]:
  try:
    seconds = [float(text) for text in texts]
  except ValueError:
    seconds = []
  if not seconds or not all(0 <= s < math.inf for s in seconds):
    raise errors.InputError(
      f'--communication_seconds={",".join(texts)} are no seconds; numbers from 0 '
      'on were expected, separated by commas.'
    )
  return seconds


if __name__ == '__main__':
  cli.run(main)

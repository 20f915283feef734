# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Plots and compares finished or running workdirs of launch.train.

Runs that differ only in their seed are pooled: lines are means over seeds, and
every method is compared with one baseline by paired differences within seeds,
and within clients of seeds. Differences below 1e-6 of a metric's scale are ties.
For example:

  python -m launch.plot --output_dir=plots \
    --workdirs=runs/fed_avg_0,runs/fed_avg_1,runs/fed_fish_0,runs/fed_fish_1

Another metric (any column of metrics.csv), as vector graphics:

  python -m launch.plot --output_dir=plots --workdirs=runs/a,runs/b \
    --metric=eval/personalized/accuracy --format=pdf

Figures for a paper, from the finished runs of a sweep: as wide as a column of
two, with titles and notes in captions.txt instead:

  python -m launch.plot --output_dir=plots --sweep_dir=runs/sweep \
    --format=pdf --width=column --bare

The files of --output_dir, as far as the workdirs have the data, are:

  <metric>_by_round, _by_local_steps (fixed compute), _by_bytes: curves;
    _by_payload_bytes for runs with partial exchange of weights,
    _by_simulated_seconds for runs with client speeds
  barrier_<metric>: client-server barriers against the baseline's, with x = y
  personalization_<metric>, few_shot_<metric>, client_spread_<metric>: clients
    before and after fine-tuning; they need evaluation/clients.csv in the
    workdirs, which launch.evaluate writes
  methods.md, methods.tex: a row per method, mean and deviation over seeds, of
    the scores on test clients that judge the runs, their worst tenth and the
    personalised score. Unfinished runs have no results; notes count them by
    method, those of a sweep below figures, too. Bold is the best mean of a column
    if p_holm < 0.05 for its difference from each other method. A global model that
    is only a start for clients' models, as FedRep's, is in no comparison, which a
    note tells
  methods.csv: the same of every column, a line for each
  comparison.csv: the differences from the baseline: their mean, the ends low and
    high of its 95 % bootstrap interval, n pairs with wins and ties, p of flips of
    the signs of the differences within seeds, and p_holm, which is p corrected
    for the number of methods. Fewer than six seeds have neither interval nor p,
    and with few seeds the interval is too narrow; docs/comparisons.md says more
  transfer_table.csv: scores on other tasks, of workdirs that launch.evaluate
    --targets has scored: means and deviations over seeds, and the differences to
    FedAvg within seeds

A figure of an earlier call is removed if it is of the same metric and format, and
the workdirs now have no data for it; so is captions.txt if a call writes none
and the file begins with the name of a figure beside it.

methods.md is also printed, and the differences of its scores unless they are
many; so are methods that are not compared, with the fields that differ, but no
differences of a single seed.

--columns chooses the columns of the table, separated by commas:

  test/global/accuracy     a number of summary.json
  eval/global/accuracy     a column of metrics.csv at the last round
  ...:mean                 its mean over the rounds after the initial model
  ...:equal_bytes          its value at the last evaluation, after training began,
                           at which a run had sent no more than the run that
                           sends least; a note tells what was sent by then
  csb, bytes, seconds      the barrier in the metric, the megabytes sent both
                           ways, the simulated seconds
  seconds:until            those until the metric is as good as in all runs after
                           training began; a note tells where the initial model
                           is as good

--layout=package.module:NAME draws other figures instead, and captions.txt with
their descriptions. NAME is a function of labelled runs and a metric
(launch.plots.catalogue.Layout). In a checkout of this repository,
research.fedfish.figures:draw has figures 3 to 6 of FedFish, and
research.srpfl.stragglers:draw figure 3 of SRPFL.
"""

from collections.abc import Sequence
import pathlib

from fedfish_tff import errors
from launch import cli
from launch import path_flags
from launch.plots import catalogue
from launch.plots import comparison
from launch.plots import panels
from launch.plots import style

from absl import flags

_WORKDIRS = path_flags.define_list(
  'workdirs', 'Workdirs of launch.train, separated by commas.'
)
_SWEEP_DIR = path_flags.define(
  'sweep_dir',
  None,
  'A folder of launch.sweep, whose finished runs are drawn, in place of '
  '--workdirs or beside it.',
)
_LAYOUT = flags.DEFINE_string(
  'layout',
  None,
  'The function package.module:NAME that draws in place of the usual figures. It '
  'is a program and is run: use those that you trust.',
)
_OUTPUT_DIR = path_flags.define(
  'output_dir', None, 'The folder for the plots; made if it does not exist.'
)
_WIDTH = flags.DEFINE_enum(
  'width',
  None,
  list(panels.WIDTHS),
  'The width of every figure, with the letters of a paper: a column (3.25 '
  'inches) or a page of two columns (6.75 inches). By default figures are as '
  'wide as their panels need.',
)
_BARE = flags.DEFINE_bool(
  'bare',
  False,
  'Whether figures lack titles and notes, which are then in captions.txt.',
)
_METRIC = flags.DEFINE_string(
  'metric',
  None,
  'The column of metrics.csv to draw. By default the accuracy (else the first '
  'metric) of the global model on validation clients.',
)
_COLUMNS = flags.DEFINE_list(
  'columns',
  None,
  'The columns of the table of methods in place of the usual ones; see above.',
)
_NAMES = flags.DEFINE_multi_string(
  'names',
  [],
  'A name in place of a label or its first words, such as --names="FedFish, per '
  'example=Ours"; may be repeated.',
)
_FORMAT = flags.DEFINE_enum(
  'format', 'png', style.FORMATS, 'The format of the plots.'
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
  workdirs, left_out = list(_WORKDIRS.value or ()), ''
  names = _parse_names(_NAMES.value)
  if _SWEEP_DIR.value:
    found, left_out = comparison.find_workdirs(_SWEEP_DIR.value, names)
    workdirs += found
  comparison.compare_workdirs(
    workdirs,
    pathlib.Path(_OUTPUT_DIR.value),
    metric=_METRIC.value,
    file_format=_FORMAT.value,
    columns=_COLUMNS.value,
    names=names,
    left_out=left_out,
    layout=catalogue.load_layout(_LAYOUT.value) if _LAYOUT.value else None,
    width=_WIDTH.value,
    bare=_BARE.value,
  )


def _parse_names(texts: Sequence[str]) -> dict[str, str]:
  parts = [text.partition('=') for text in texts]
  for text, (label, _, name) in zip(texts, parts):
    if not label or not name:
      raise errors.InputError(f'--names must be <label>=<name>, got {text!r}.')
  return {label: name for label, _, name in parts}


if __name__ == '__main__':
  cli.run(main)

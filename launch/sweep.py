# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Runs many experiments in parallel and summarizes them in one table.

A config file lists the runs: a grid of values, seeds, or both.

  Five methods on the digits, three seeds each:

    python -m launch.sweep --config=launch/configs/digits.py:seeds \
      --sweep_dir=runs/digits_seeds

  List the runs and their configs without running them:

    python -m launch.sweep --config=launch/configs/digits.py:learning_rates \
      --sweep_dir=runs/digits_rates --dry_run

  Tune the learning rates for each method and number of local epochs, then
  compare the methods with the best rates on validation clients:

    python -m launch.sweep --config=launch/configs/digits.py:tuning \
      --sweep_dir=runs/digits_tuning
    python -m launch.sweep --config=launch/configs/digits.py:fixed_rounds \
      --sweep_dir=runs/digits_rounds --tuned_by=runs/digits_tuning

  (--tuned_metric=loss chooses the rates by another metric). In the second sweep,
  validation clients choose the rate of fine-tuning for each run, from the client
  rates of the first.

Sweeps that a config file may have, beside its own:

  seeds           the methods as configured, three seeds each
  variants        all variants of the config, three seeds each
  learning_rates  the methods with the paper's 7 rates of clients, times 7 of
                  an adaptive server
  tuning          the methods at 1, 8 and 16 local epochs with 3 client rates
                  around the config's, times 3 of an adaptive server, one seed,
                  a quarter of the rounds
  fixed_rounds    the methods at 1, 8 and 16 local epochs, three seeds
  fixed_compute   the same with a fixed total of local epochs: fewer per round,
                  more rounds; fixed_compute_tuning tunes for it

--config.<field>=<value> sets a field of all runs, such as
--config.task.num_clients=80. The sweep's folder then holds:

  runs/       a workdir of launch.train for each run, as if it had run alone
  logs/       the output of each run
  runs.csv    a row per run: its fields, its outcome, all its numbers
  table.md, table.tex  mean and deviation over seeds: the scores on test clients
              that judge the runs, their worst tenth and the personalised
              score, or the --columns that launch.plot --help lists; where rates
              differ, the best by the metric on validation clients, never on
              test clients. Bold is what docs/comparisons.md says
  table.csv   the same of every column and every rate, a line for each
  index.html  all results on one page, with figures and configs, for offline use
  plots/      heat maps of learning rates, or launch.plot's curves

You can stop it at any time: the same command continues, with the same results.
A run that fails is named, with its reason, and does not stop the others; the
exit code is then 1. More runs may be added to a sweep (another seed); a folder
with other runs is refused.

Runs that differ only in seeds, learning rates and the like follow one another
in a process that traces their common computations once. Each process has its
share of the cores, and there are only as many as memory allows. A fine-tuning
starts from an equal run of its start, if the sweep has one.

On the nodes of a Ray cluster, all with the sweep's folder (docs/scale.md):

    python -m launch.sweep --config=launch/configs/digits.py:seeds \
      --sweep_dir=/shared/digits_seeds --on=ray --ray_address=10.0.0.1:6379
"""

from collections.abc import Sequence
import functools
import sys

from fedfish_tff import errors
from launch import cli
from launch import context_flag
from launch import json_config
from launch import path_flags
from launch import trust_flags
from launch.results import result_table
from launch.sweeps import execution
from launch.sweeps import plan as plan_lib
from launch.sweeps import tuning

from absl import flags
from ml_collections import config_flags

_CONFIG = json_config.define_flag(
  'The sweep: a file of launch/configs, with :name at its end. It is a program '
  'and is run: use those that you trust. --config.<field>=<value> sets a field '
  'of all runs.',
  load=plan_lib.load_first,
)
_SWEEP_DIR = path_flags.define(
  'sweep_dir', None, 'The folder for all output; made if it does not exist.'
)
_DATA_DIR = path_flags.define(
  'data_dir',
  None,
  'The folder of the data, for tasks that read files.',
  takes_urls=True,
)
_NUM_PROCESSES = flags.DEFINE_string(
  'num_processes',
  'auto',
  'The most runs at a time: a number, or auto for one per core, as far as memory '
  'allows.',
)
_ON = flags.DEFINE_enum(
  'on',
  'machine',
  ['machine', 'ray'],
  'Where runs run. machine: in processes of this one. ray: on a Ray cluster '
  '(--ray_address), or on one that is started on this machine; Ray is to be '
  'installed. Results are the same.',
)
_TUNED_BY = path_flags.define(
  'tuned_by',
  None,
  'The folder of a finished sweep over learning rates: each run takes those '
  'that were best there for its variant and its other fields. Rates with which '
  'a run has failed have no part.',
)
_TUNED_METRIC = flags.DEFINE_string(
  'tuned_metric',
  None,
  'With --tuned_by: the metric on validation clients by which rates are the '
  'best, such as loss, which short runs tell apart better; by default the '
  "task's.",
)
_COLUMNS = flags.DEFINE_list(
  'columns',
  None,
  'The columns of the table in place of the usual ones; launch.plot --help says '
  'which there are.',
)
_EVALUATE = flags.DEFINE_bool(
  'evaluate', False, 'Whether to evaluate each run by launch.evaluate, too.'
)
_DRY_RUN = flags.DEFINE_bool(
  'dry_run', False, 'Check and list the runs, and do nothing.'
)
_RAY_OPTIONS = context_flag.define_options('ray_address')
_TRUST = trust_flags.define()


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  cli.check_given(_CONFIG, _SWEEP_DIR)
  num_processes = _parse_num_processes(_NUM_PROCESSES.value)
  if _TUNED_METRIC.value and not _TUNED_BY.value:
    raise errors.InputError(
      '--tuned_metric says what decides about the rates of --tuned_by, which '
      'is missing.'
    )
  if _RAY_OPTIONS() and _ON.value != 'ray':
    raise errors.InputError('--ray_address is for --on=ray, which is missing.')
  if _COLUMNS.value is not None:
    result_table.check_columns(_COLUMNS.value)
  trust = _TRUST(is_json=False)
  source = flags.FLAGS['config'].config_filename
  given = config_flags.get_override_values(flags.FLAGS['config'])
  get_config, runs = plan_lib.load_runs(source)
  plan = functools.partial(
    plan_lib.plan_runs, source, get_config, given=given, trust=trust
  )
  if _TUNED_BY.value:
    tuned = tuning.Tuning(_TUNED_BY.value, metric=_TUNED_METRIC.value)
    runs = tuned.tune(runs, given)
    runs = tuned.add_candidates(runs, plan(runs), given)
  planned = plan(runs)
  if _TUNED_BY.value:
    for line in tuned.describe(planned, given):
      print(line)
  sweep = execution.Sweep(
    source=source,
    runs=planned,
    path=_SWEEP_DIR.value,
    data_dir=_DATA_DIR.value,
    evaluated=_EVALUATE.value,
    num_processes=num_processes,
    on_ray=_ON.value == 'ray',
    columns=_COLUMNS.value,
    **_RAY_OPTIONS(),
  )
  if _DRY_RUN.value:
    sweep.describe()
    return
  if sweep.execute():
    sys.exit(1)


def _parse_num_processes(text: str) -> int | None:
  """Returns the number; None for auto."""
  if text == 'auto':
    return None
  if not text.isdecimal() or not int(text):
    raise errors.InputError(
      f'--num_processes={text} is neither auto nor a positive number.'
    )
  return int(text)


if __name__ == '__main__':
  cli.run(main)

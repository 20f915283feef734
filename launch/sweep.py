# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Runs many experiments in parallel and summarizes them in one table.

  Three methods on the digits, each at the best of its rates, by eight seeds:

    python -m launch.sweep --config=digits --methods=fed_avg,fed_fish,scaffold \
      --seeds=8 --tune=client_learning_rate:0.02,0.05,0.1,0.2 \
      --sweep_dir=runs/comparison

Validation clients choose the rate of each method alike, in runs with two other
seeds (100 and 101) in the folder tuning. Then the methods run with their rates,
and one table has the results on test clients, with the chosen rates above it and
a warning where one is at the edge of its grid. --grid=local_epochs=1,8 compares
further values of any field; --grid and --tune may be repeated. A method that
lacks a field runs without it.

A config file lists runs, too; --list says which sweeps it has:

    python -m launch.sweep --config=digits --list
    python -m launch.sweep --config=digits:seeds --sweep_dir=runs/digits_seeds

  The number of runs, and the minutes left once a run has finished:

    python -m launch.sweep --config=digits:learning_rates \
      --sweep_dir=runs/digits_rates --dry_run

  Tune the learning rates for each method and number of local epochs, then
  compare the methods with the best rates on validation clients:

    python -m launch.sweep --config=digits:tuning --sweep_dir=runs/digits_tuning
    python -m launch.sweep --config=digits:fixed_rounds \
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
  tuning/     with --tune, the same of the runs that tune
  index.html  all results on one page, with figures and configs, for offline use
  plots/      heat maps of learning rates, or launch.plot's curves

You can stop it at any time: the same command continues, with the same results.
A run that fails is named, with its reason, and does not stop the others; the
exit code is then 1. A command with more methods, values or seeds goes on in the
same folder, and runs what is missing there. If a wider grid has a better value,
the method runs with it; the runs before are kept in runs/, and a note under the
table counts them. A command that leaves out runs of the folder, or asks for
other ones, is refused with what differs.

Runs that differ only in seeds, learning rates and the like follow one another
in a process that traces their common computations once. Each process has its
share of the cores, and there are only as many as memory allows. A fine-tuning
starts from an equal run of its start, if the sweep has one.

On the nodes of a Ray cluster, all with the sweep's folder (docs/scale.md):

    python -m launch.sweep --config=digits:seeds \
      --sweep_dir=/shared/digits_seeds --on=ray --ray_address=10.0.0.1:6379
"""

from collections.abc import Sequence
import sys

from fedfish_tff import errors
from launch import cli
from launch import context_flag
from launch import json_config
from launch import path_flags
from launch import trust_flags
from launch.configs import sweeps
from launch.results import result_table
from launch.sweeps import comparison as comparison_lib
from launch.sweeps import plan as plan_lib
from launch.sweeps import tuned_sweep

from absl import flags
from ml_collections import config_flags
from ml_collections import ConfigDict

_METHODS = flags.DEFINE_string(
  'methods',
  None,
  'The variants to compare, separated by commas, such as fed_avg,fed_fish; axes '
  'of one follow it, as in fed_avg,server=adam,fed_fish. --config is then a '
  'config file, by its name.',
)
_SEEDS = flags.DEFINE_integer(
  'seeds', None, 'The number of seeds of --methods.', lower_bound=1
)
_GRID = flags.DEFINE_multi_string(
  'grid',
  [],
  "A field of --methods' runs and its values: FIELD=VALUE,VALUE. May be repeated.",
)
_TUNE = flags.DEFINE_multi_string(
  'tune',
  [],
  'A field and the values among which validation clients choose for each method '
  'first: FIELD:VALUE,VALUE. May be repeated.',
)
_LIST = flags.DEFINE_bool(
  'list', False, 'Print the sweeps of --config with their numbers of runs.'
)
# One of these in the arguments makes a comparison of a config file.
_COMPARISON = ('methods', 'seeds', 'grid', 'tune')


def _load_first(source: str) -> ConfigDict:
  """Returns the config whose fields --config.<field> may set."""
  # The other flags may not be parsed yet.
  given = _find_arguments(
    flags.FLAGS.read_flags_from_files(sys.argv[1:], False)
  )
  if 'list' in given:
    return ConfigDict({'list': True})
  if given.keys() & set(_COMPARISON):
    compared = comparison_lib.Comparison(
      source=source, methods=given.get('methods')
    )
    return compared.load_first()
  return plan_lib.load_first(source)


def _find_arguments(argv: Sequence[str]) -> dict[str, str]:
  """Returns the last value of each flag that declares what --config means."""
  found = {}
  for argument, following in zip(argv, [*argv[1:], '']):
    name, equals, value = argument.lstrip('-').partition('=')
    if argument.startswith('-') and name in (*_COMPARISON, 'list'):
      found[name] = value if equals else following
  return found


_CONFIG = json_config.define_flag(
  'The sweep: a config file or its name, with :SWEEP at its end, or without for '
  '--methods. A file is a program and is run: use those that you trust. '
  '--config.<field>=<value> sets a field of all runs.',
  load=_load_first,
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
  'dry_run',
  False,
  'Check and count the runs, tell the minutes left, and do nothing.',
)
_RAY_OPTIONS = context_flag.define_options('ray_address')
_TRUST = trust_flags.define()


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  if _LIST.value:
    cli.check_given(_CONFIG)
    for line in plan_lib.list_sweeps(flags.FLAGS['config'].config_filename):
      print(line)
    return
  cli.check_given(_CONFIG, _SWEEP_DIR)
  num_processes = _parse_num_processes(_NUM_PROCESSES.value)
  if _RAY_OPTIONS() and _ON.value != 'ray':
    raise errors.InputError('--ray_address is for --on=ray, which is missing.')
  if _COLUMNS.value is not None:
    result_table.check_columns(_COLUMNS.value)
  trust = _TRUST(is_json=False)
  source = flags.FLAGS['config'].config_filename
  given = config_flags.get_override_values(flags.FLAGS['config'])
  get_config, experiment = _load(source)
  sweep = tuned_sweep.TunedSweep(
    source=source,
    get_config=get_config,
    experiment=experiment,
    path=_SWEEP_DIR.value,
    given=given,
    trust=trust,
    tuned_by=_TUNED_BY.value,
    tuned_metric=_TUNED_METRIC.value,
    evaluated=_EVALUATE.value,
    columns=_COLUMNS.value,
    options=dict(
      data_dir=_DATA_DIR.value,
      num_processes=num_processes,
      on_ray=_ON.value == 'ray',
      **_RAY_OPTIONS(),
    ),
  )
  if _DRY_RUN.value:
    sweep.describe()
  elif sweep.execute():
    sys.exit(1)


def _load(source: str) -> tuple[sweeps.GetConfig, sweeps.Experiment]:
  """Returns the function of configs, and the runs that flags declare."""
  comparison = comparison_lib.Comparison(
    source=source,
    methods=_METHODS.value,
    seeds=_SEEDS.value,
    grid=_GRID.value,
    tune=_TUNE.value,
  )
  is_compared = any(flags.FLAGS[name].present for name in _COMPARISON)
  return comparison.load() if is_compared else plan_lib.load_sweep(source)


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

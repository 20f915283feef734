# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Trains a model with a federated algorithm and records metrics and plots.

Examples (a minute each on a laptop; embedded data, nothing is downloaded):

  FedFish on handwritten digits of non-IID clients, and FedAvg for comparison:

    python -m launch.train --config=launch/configs/digits.py:fed_fish \
      --workdir=runs/digits_fed_fish
    python -m launch.train --config=launch/configs/digits.py:fed_avg \
      --workdir=runs/digits_fed_avg
    python -m launch.plot --output_dir=runs/plots \
      --workdirs=runs/digits_fed_fish,runs/digits_fed_avg

  Another server optimizer, and clients that send half of the tensors (--methods
  lists methods, launch/configs/base.py explains their combinations):

    python -m launch.train --workdir=runs/digits_partial \
      --config=launch/configs/digits.py:fed_prox,server=yogi,exchange=partial

  Another seed and more local epochs (any field of the config can be set):

    python -m launch.train --config=launch/configs/digits.py:fed_fish \
      --workdir=runs/seed1 --config.seed=1 --config.local_epochs=16

  A closed-form classifier (Fed3R), and FedAvg of a model that starts from it:

    python -m launch.train --workdir=runs/digits_fed3r_ft \
      --config=launch/configs/fed3r_digits.py:fed_avg,fine_tuning=ft,start=fed3r

  The experiment of another run, with another seed:

    python -m launch.train --config=runs/digits_fed_fish/config.json \
      --workdir=runs/seed2 --config.seed=2

  What there is, what a variant sets, and what a run would do:

    python -m launch.train --list
    python -m launch.train --print_config \
      --config=launch/configs/digits.py:fed_avg,server=yogi
    python -m launch.train --dry_run --config=launch/configs/digits.py:fed_avg

  Your own data, one .npz file per client:

    python -m launch.train --config=launch/configs/arrays.py \
      --workdir=runs/mine --data_dir=path/to/folder

The workdir then holds config.json, metrics.csv (a row per round), summary.json,
model.safetensors (the trained weights by name), plots/, tensorboard/ and
checkpoints/. You can stop it at any time: the same command resumes from the last
checkpoint, with the same result as without the stop. A larger --config.rounds
continues a finished run from its last round. checkpoints/ keeps the last two
checkpoints: the disk space of two models and their optimizers' states, and of a
third with evaluation.half_way_checkpoint, whose model launch.evaluate --targets
also scores. A workdir of another config, or of a run on other data, is refused;
--overwrite starts afresh.
"""

from collections.abc import Sequence
import json
import sys

import fedfish_tff
from fedfish_tff import errors
from launch import cli
from launch import context_flag
from launch import json_config
from launch import path_flags
from launch import trust_flags
from launch.configs import base
from launch.methods import config_checks
from launch.methods import description

from absl import flags

_CONFIG = json_config.define_flag(
  'The experiment: a file of launch/configs, with :variant at its end for '
  'another algorithm, or the config.json of a run. A .py file is a program and '
  'is run: use those that you trust. --config.<field>=<value> changes a field.'
)
_WORKDIR = path_flags.define(
  'workdir', None, 'The folder for all output; made if it does not exist.'
)
_SET_CONTEXT = context_flag.define_with_options()
_DATA_DIR = path_flags.define(
  'data_dir',
  None,
  'The folder of the data, for tasks that read files.',
  takes_urls=True,
)
_TRUST = trust_flags.define()
_OVERWRITE = flags.DEFINE_bool(
  'overwrite', False, 'Whether to remove an earlier run in the workdir first.'
)
_PROGRESS_BAR = flags.DEFINE_bool(
  'progress_bar', None, 'Show a progress bar; by default on a terminal only.'
)
_METRICS_MANAGERS = flags.DEFINE_list(
  'metrics_managers',
  [],
  'Who else gets each row of metrics.csv, separated by commas: wandb, for Weights '
  '& Biases, where nothing is sent unless WANDB_MODE is online; or '
  'package.module:NAME, a function from a fedfish_tff.simulation.Workdir to a '
  'tff.program.ReleaseManager. A run that resumes gives them the rows after its '
  'last checkpoint once more.',
)

_METHODS = flags.DEFINE_bool(
  'methods',
  False,
  'Print all methods, with their variants and fields, and do nothing else.',
)
_LIST = flags.DEFINE_bool(
  'list',
  False,
  'Print all tasks with their options, the configs and what each is, and the '
  'names of variants, and do nothing else.',
)
_PRINT_CONFIG = flags.DEFINE_bool(
  'print_config',
  False,
  'Print the config as JSON, checked and with all changes, and on stderr each '
  'value that a rule of a method or block has replaced, and do nothing else; '
  'saved as a file, it is a value for --config.',
)
_DRY_RUN = flags.DEFINE_bool(
  'dry_run',
  False,
  'Print the plan of the run (data, model, bytes, memory, replaced values, what '
  'the workdir holds), and do nothing else.',
)
_VERSION = flags.DEFINE_bool(
  'version', False, 'Print the version and do nothing else.'
)


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  if _VERSION.value:
    print(f'FedFish-TFF {fedfish_tff.__version__}')
    return
  if _METHODS.value:
    print(description.describe())
    return
  if _LIST.value:
    print(description.list_configs())
    return
  if _CONFIG.value is None or not (
    _WORKDIR.value or _PRINT_CONFIG.value or _DRY_RUN.value
  ):
    raise errors.InputError(
      '--config and --workdir are needed; --help shows examples.'
    )
  values = _CONFIG.value.to_dict()
  trust = _TRUST(is_json=json_config.is_data())
  config = config_checks.read(values, trust=trust)
  overruled = base.overruled(_CONFIG.value)
  if _PRINT_CONFIG.value:
    print(json.dumps(config.values, indent=2))
    for line in overruled:
      print(line, file=sys.stderr)
    return
  # TFF, which takes seconds, is imported late: all before answers at once.
  cli.report_import()
  from launch.runs import training_run  # pylint: disable=g-import-not-at-top

  options = training_run.RunOptions(
    workdir=_WORKDIR.value,
    data_dir=_DATA_DIR.value,
    overwrite=_OVERWRITE.value,
    progress_bar=_PROGRESS_BAR.value,
    metrics_managers=_METRICS_MANAGERS.value,
  )
  if _DRY_RUN.value:
    from launch.runs import run_plan  # pylint: disable=g-import-not-at-top

    print(run_plan.describe(config, options, overruled=overruled))
    return
  _SET_CONTEXT()
  summary = training_run.train(config, options)
  if 'diverged' in summary:
    sys.exit(1)


if __name__ == '__main__':
  cli.run(main)

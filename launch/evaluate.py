# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Evaluates the model of a workdir of launch.train, client by client.

  python -m launch.evaluate --workdir=runs/digits_fed_fish

  python -m launch.evaluate --workdir=runs/digits_fed_fish --split=validation
  python -m launch.evaluate --workdir=runs/digits_fed_fish --export
  python -m launch.evaluate --workdir=runs/c4 \
    --targets=c4,cc_news=grouped/news,stackoverflow=tff_cache

The first command scores the model of the last checkpoint on the test clients,
which training has never seen: as it is, and after fine-tuning on 25 % and 50 %
of each client's examples, on the other half. It also runs one more round, which
is discarded, and measures its client-server barrier. It adds to the workdir:

  evaluation/clients.csv: a row per held-out client; global/<metric> on all its
    examples; before/, few_shot_25/ and after/<metric> on the unseen half
  evaluation/own_clients.csv: for tasks with clients' own test data, a row per
    training client; own_global/, own/ and own_fine_tuned/<metric> on that data
  evaluation/barrier.csv: a row per client of the additional round
  evaluation/summary.csv: means over clients, with 95 % bootstrap intervals for
    six or more, the worst tenth of the clients, and the mean over all examples
  plots/: the plots of training, and those of the clients

A client with a diverged model has the value nan; the summary excludes and
counts it (num_diverged). launch.plot uses an evaluation only if it is of the
run's model, that of the last round, or of the best one where the config keeps
it. For FedMA, the mean prediction of the networks that the first round's clients
train separately is also scored (ensemble/<metric>); this trains them once more.

--split=validation serves while a model is still being chosen; its tables are
evaluation/validation_clients.csv and so on. --export also writes
export/saved_model, which TensorFlow loads without this package, and
export/weights.npz (docs/export.md).

--targets scores a language model on clients of several tasks instead: FOLDER of
NAME=FOLDER is the task's --data_dir, and a NAME alone is the workdir's own task
(or synthetic pages, if it was trained on them). The models of the half-way round,
if the config has evaluation.half_way_checkpoint, and of the last checkpoint are
fine-tuned, with the config's personalisation, on 0, 25 and 50 % of each held-out
client, and scored on the same unseen half. It adds evaluation/transfer.csv,
evaluation/transfer_clients.csv and plots/transfer_<metric>.png; launch.plot
compares several workdirs in transfer_table.csv (docs/text.md).
"""

from collections.abc import Sequence
import os
import pathlib

from fedfish_tff import errors
from fedfish_tff import trust as trust_lib
from launch import cli
from launch import context_flag
from launch import path_flags
from launch import trust_flags
from launch.runs import model_rounds

from absl import flags

_WORKDIR = path_flags.define(
  'workdir', None, 'The workdir of launch.train; results are written into it.'
)
_SPLIT = flags.DEFINE_enum(
  'split', 'test', ['test', 'validation'], 'The held-out clients to score.'
)
_EXPORT = flags.DEFINE_bool(
  'export', False, 'Write the model for TensorFlow and its weights, too.'
)
_TARGETS = flags.DEFINE_list(
  'targets',
  None,
  'Score on held-out clients of these tasks instead: NAME=FOLDER, or NAME for '
  "the workdir's own; separated by commas.",
)
_AT = flags.DEFINE_list(
  'at',
  None,
  'The model: half, last, or best, if the config keeps it; by default the one of '
  'summary.json. Several with --targets, by default half,last where there is a '
  'half.',
)
_MAX_CLIENTS = flags.DEFINE_integer(
  'max_clients',
  None,
  'With --targets: the most clients of each target, drawn at random; by default '
  'all.',
  lower_bound=1,
)
_SET_CONTEXT = context_flag.define_with_options()
_DATA_DIR = path_flags.define(
  'data_dir',
  None,
  'The folder of the data; by default where it was last found.',
  takes_urls=True,
)
_TRUST = trust_flags.define()


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  cli.check_given(_WORKDIR)
  evaluate = _evaluate if _TARGETS.value is None else _evaluate_transfer
  trust = _TRUST(is_json=True)
  for path in evaluate(trust):
    print(path)


def _evaluate(trust: trust_lib.Trust) -> Sequence[pathlib.Path]:
  if _MAX_CLIENTS.value is not None:
    raise errors.InputError('--max_clients is for an evaluation by --targets.')
  at = () if _AT.value is None else model_rounds.parse_rounds(_AT.value)
  if len(at) > 1:
    raise errors.InputError(
      f'--at={",".join(_AT.value)} is for an evaluation by --targets; without, '
      f'it must be one of {", ".join(model_rounds.ROUNDS)}.'
    )
  # Imported late: TFF takes seconds, and all above answers at once.
  cli.report_import()
  from launch.runs import evaluation_run  # pylint: disable=g-import-not-at-top

  _SET_CONTEXT()
  return evaluation_run.evaluate(
    _WORKDIR.value,
    split=_SPLIT.value,
    export=_EXPORT.value,
    at=at[0] if at else None,
    data_dir=_DATA_DIR.value,
    trust=trust,
  )


def _evaluate_transfer(trust: trust_lib.Trust) -> Sequence[pathlib.Path]:
  if _EXPORT.value:
    raise errors.InputError('--export is for an evaluation without --targets.')
  targets = _parse_targets(_TARGETS.value)
  at = () if _AT.value is None else model_rounds.parse_rounds(_AT.value)
  # Imported late, as above.
  cli.report_import()
  from launch.runs import transfer_run  # pylint: disable=g-import-not-at-top

  _SET_CONTEXT()
  return transfer_run.evaluate_transfer(
    _WORKDIR.value,
    targets,
    at=at,
    split=_SPLIT.value,
    max_clients=_MAX_CLIENTS.value,
    data_dir=_DATA_DIR.value,
    trust=trust,
  )


def _parse_targets(values: Sequence[str]) -> dict[str, str | None]:
  """Returns the folder of each target; None for one without."""
  targets = {}
  for value in values:
    name, equals, folder = value.partition('=')
    if not name or (equals and not folder):
      raise errors.InputError(
        '--targets must hold NAME or NAME=FOLDER, such as c4 or '
        f'cc_news=grouped/news, got {value!r}.'
      )
    if name in targets:
      raise errors.InputError(
        f'--targets must name each target once, got {name} twice.'
      )
    targets[name] = os.path.expanduser(folder) or None
  if not targets:
    raise errors.InputError(
      '--targets must name one target at least, got none.'
    )
  return targets


if __name__ == '__main__':
  cli.run(main)

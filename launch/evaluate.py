# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Evaluates the model of a workdir of launch.train, client by client.

  python -m launch.evaluate --workdir=runs/digits_fed_fish

scores the model of the last checkpoint on the test clients, which training has
never seen: as it is, and after fine-tuning on 25 % and 50 % of each client's
examples, on the other half. It also runs one more round, which is discarded,
and measures its client-server barrier. It adds to the workdir:

  evaluation/clients.csv: a row per held-out client; global/<metric> on all its
    examples; before/, few_shot_25/ and after/<metric> on the unseen half
  evaluation/barrier.csv: a row per client of the additional round
  evaluation/summary.csv: means over clients, with 95 % bootstrap intervals for
    five or more, the worst tenth of the clients, and the mean over all examples
  plots/: the plots of training, and those of the clients

For FedMA, the ensemble is also scored (ensemble/<metric>): the mean prediction
of the networks that the first round's clients train separately, before any are
matched. This trains them once more.

Every row names the round of the model (round) and the clients (split). A client
with a diverged model has the value nan; the summary excludes and counts it
(num_diverged). launch.plot uses an evaluation only if it is of the run's model,
that of the last round, so evaluate again after further training. With
early_stopping in the config, the run's model is that of the best round. --at
scores any model that is kept, such as --at=last.

While a model is still being chosen, use the validation clients instead; their
tables are evaluation/validation_clients.csv and so on:

  python -m launch.evaluate --workdir=runs/digits_fed_fish --split=validation

A language model can also be scored on clients of other tasks, by NAME=FOLDER.
The vocabulary of the model turns their texts into tokens:

  python -m launch.evaluate --workdir=runs/c4 \
    --targets=c4,cc_news=grouped/news,stackoverflow=tff_cache

FOLDER is that task's --data_dir; NAME alone is the workdir's own task. The
models of the half-way round and of the last checkpoint (--at) are fine-tuned on
0, 25 and 50 % of each held-out client, with the epochs
(evaluation.personalization_epochs), batches and client learning rate of the
config, and always scored on the same unseen half. If there are several
evaluation.personalization_learning_rates, validation clients of the workdir's
own task choose one for each model. Clients with fewer than 4 examples (chunks
of task.eval_sequence_length tokens) are excluded. The workdir then holds:

  evaluation/transfer.csv: a row per target, round, share of the data (percent)
    and metric: the numbers of clients that were scored, too small or diverged;
    the mean over clients with its 95 % bootstrap interval, and the value over
    all tokens together
  evaluation/transfer_clients.csv: a row per client, round and share
  plots/transfer_<metric>.png: scores by share, a panel per target

launch.plot --layout=transfer compares several such workdirs. Without data, a
workdir trained on synthetic pages has --targets=c4,cc_news, which are synthetic
and labelled so: "generated pages, task c4".

To use the model elsewhere, write export/saved_model, which TensorFlow loads
without this package, and export/weights.npz, with adapters merged into their
matrices:

  python -m launch.evaluate --workdir=runs/digits_fed_fish --export

  model = tf.saved_model.load('runs/digits_fed_fish/export/saved_model')
  outputs = model.signatures['serving_default'](x=batch)['output']

docs/export.md also has the SavedModel as a layer of Keras and in ONNX.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import pathlib
from typing import Any

from fedfish_tff import errors
from fedfish_tff import trust
from launch import cli
from launch import context_flag
from launch import path_flags
from launch import trust_flags
from launch.runs import model_rounds
from launch.runs import transfer_targets

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
  'Score on held-out clients of these tasks in place of all else: NAME=FOLDER, '
  "or NAME for the workdir's own; separated by commas.",
)
_AT = flags.DEFINE_list(
  'at',
  None,
  'Which model, half, last or best; with --targets several, such as half,last, '
  'which is the default there. launch.train keeps the checkpoint half-way, and '
  'with early_stopping in the config the best one; that is the default then, '
  'unless early_stopping.restore_best is False.',
)
_MAX_CLIENTS = flags.DEFINE_integer(
  'max_clients',
  None,
  'With --targets: score at most so many clients of each target, drawn at '
  'random; by default all.',
  lower_bound=1,
)
_CONTEXT = context_flag.define()
_CONTEXT_OPTIONS = context_flag.define_options(*context_flag.OPTION_FLAGS)
_DATA_DIR = path_flags.define(
  'data_dir',
  None,
  'The folder of the data; by default where it was last found.',
  takes_urls=True,
)
_TRUST_SAVED_MODELS = trust_flags.define_saved_models()
_TRUST_MODULES = trust_flags.define_modules()


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  trust.trust(
    saved_models=_TRUST_SAVED_MODELS.value, modules=_TRUST_MODULES.value
  )
  if not _WORKDIR.value:
    raise errors.InputError('--workdir is needed; --help shows an example.')
  options = dict(
    split=_SPLIT.value,
    context=_CONTEXT.value,
    context_options=_CONTEXT_OPTIONS(),
    data_dir=_DATA_DIR.value,
  )
  evaluate = _evaluate if _TARGETS.value is None else _evaluate_transfer
  for path in evaluate(options):
    print(path)


def _evaluate(options: Mapping[str, Any]) -> Sequence[pathlib.Path]:
  if _MAX_CLIENTS.value is not None:
    raise errors.InputError('--max_clients is for an evaluation by --targets.')
  at = () if _AT.value is None else model_rounds.parse_rounds(_AT.value)
  if len(at) > 1:
    raise errors.InputError(
      f'--at={",".join(_AT.value)} is for an evaluation by --targets; one of '
      f'{", ".join(model_rounds.ROUNDS)} was expected.'
    )
  # Imported late: TFF takes seconds, and all above answers at once.
  cli.report_import()
  from launch.runs import evaluation_run  # pylint: disable=g-import-not-at-top

  return evaluation_run.evaluate(
    _WORKDIR.value,
    export=_EXPORT.value,
    at=at[0] if at else None,
    **options,
  )


def _evaluate_transfer(options: Mapping[str, Any]) -> Sequence[pathlib.Path]:
  if _EXPORT.value:
    raise errors.InputError('--export is for an evaluation without --targets.')
  targets = transfer_targets.parse_targets(_TARGETS.value)
  at = () if _AT.value is None else model_rounds.parse_rounds(_AT.value)
  # Imported late, as above.
  cli.report_import()
  from launch.runs import transfer_run  # pylint: disable=g-import-not-at-top

  return transfer_run.evaluate_transfer(
    _WORKDIR.value, targets, at=at, max_clients=_MAX_CLIENTS.value, **options
  )


if __name__ == '__main__':
  cli.run(main)

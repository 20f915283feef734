# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Evaluates the model of a workdir of launch.train, client by client.

  python -m launch.evaluate --workdir=runs/digits_fed_fish

scores the model of the last checkpoint on the test clients, which training has
never seen: as it is, and fine-tuned on 25 % and 50 % of each client's examples
and scored on the other half. It also takes one more round, which is not kept,
and measures its client-server barrier. The workdir then holds, too:

  evaluation/clients.csv: a row a held-out client; global/<metric> on all its
    examples; before/, few_shot_25/ and after/<metric> on the unseen half
  evaluation/barrier.csv: a row a client of the further round
  evaluation/summary.csv: means over clients with 95 % bootstrap intervals, the
    worst tenth of the clients, and the mean over all examples
  plots/: the plots of training, and those of the clients

Every row says which round's model was scored (round) and on which clients
(split). A client whose model has diverged has the value nan: the summary
leaves it out and counts it (num_diverged). launch.plot uses an evaluation of
the last round only: evaluate again after training on.

While a model is still being chosen, look at the validation clients instead;
their tables are evaluation/validation_clients.csv and so on:

  python -m launch.evaluate --workdir=runs/digits_fed_fish --split=validation

To use the model elsewhere, write export/saved_model, which TensorFlow loads
without this package, and export/weights.npz:

  python -m launch.evaluate --workdir=runs/digits_fed_fish --export

  model = tf.saved_model.load('runs/digits_fed_fish/export/saved_model')
  outputs = model.signatures['serving_default'](x=batch)['output']
"""

from collections.abc import Sequence

from fedfish_tff import errors
from launch import cli
from launch import context_flag

from absl import flags

_WORKDIR = flags.DEFINE_string(
  'workdir', None, 'The workdir of launch.train; results are written into it.'
)
_SPLIT = flags.DEFINE_enum(
  'split', 'test', ['test', 'validation'], 'The held-out clients to score.'
)
_EXPORT = flags.DEFINE_bool(
  'export', False, 'Write the model and its weights, too.'
)
_CONTEXT = context_flag.define()
_DEVICES = context_flag.define_devices()
_XLA = context_flag.define_xla()
_DATA_DIR = flags.DEFINE_string(
  'data_dir', None, 'The folder of the data, for tasks that read files.'
)


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  if not _WORKDIR.value:
    raise errors.InputError('--workdir is needed; --help shows an example.')
  # Imported late: TFF takes seconds, and all above answers at once.
  from launch import evaluation_run  # pylint: disable=g-import-not-at-top

  paths = evaluation_run.evaluate(
    _WORKDIR.value,
    split=_SPLIT.value,
    export=_EXPORT.value,
    context=_CONTEXT.value,
    context_options=context_flag.options(_DEVICES.value, _XLA.value),
    data_dir=_DATA_DIR.value,
  )
  for path in paths:
    print(path)


if __name__ == '__main__':
  cli.run(main)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Draws the FedFish paper's toy figure: two clients, one merged function.

Two clients fit noisy points of sin(3x) on ranges that overlap fully, partly or
not at all; FedAvg and FedFish merge their networks after one round:

  python -m launch.toy_figure --output_dir=plots

writes two files to --output_dir: toy_regression.png (the clients' functions,
the merged ones, and the client-server barriers of FedFish against FedAvg, one
point per seed) and toy_regression.csv (every barrier). It also prints medians
over seeds.

The figure has two networks. In the first, each Gaussian unit responds to few
inputs, so the clients' Fisher information lies on different weights, and
FedFish merges them as in the paper's figure. In the second, tanh units respond
to all inputs, and neither method fits both clients' data.

The functions are those of the first seed, the barriers those of all seeds. The
paper's own Fisher estimator squares the gradient of a whole batch
(batch_gradient) and degrades when clients train long (try --local_epochs=200).
--estimator chooses the estimator of the figure; the table has all of them.
"""

from collections.abc import Sequence

from launch import cli
from launch import context_flag
from launch import path_flags

from absl import flags

_OUTPUT_DIR = path_flags.define(
  'output_dir', None, 'The folder for the figure; made if it does not exist.'
)
_SEEDS = flags.DEFINE_integer(
  'seeds', 10, 'Seeds of data, batches and initial weights.', lower_bound=1
)
_LOCAL_EPOCHS = flags.DEFINE_integer(
  'local_epochs',
  None,
  'Epochs of SGD at the clients; by default those of the config toy_regression: '
  '100 with Gaussian units, 50 with tanh units.',
  lower_bound=1,
)
_ESTIMATOR = flags.DEFINE_enum(
  'estimator',
  'batch_gradient',
  ['batch_gradient', 'per_example', 'sampled_label'],
  "The Fisher estimator of the figure; batch_gradient is the paper's own.",
)
_FORMAT = flags.DEFINE_enum(
  'format', 'png', ['png', 'pdf', 'svg'], 'The format of the figure.'
)
_CONTEXT = context_flag.define()


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  cli.check_given(_OUTPUT_DIR)
  # Imported late: TFF takes seconds, and all above answers at once.
  cli.report_import()
  from fedfish_tff.execution import contexts  # pylint: disable=g-import-not-at-top
  from launch.runs import toy_regression_study  # pylint: disable=g-import-not-at-top

  contexts.set_default_context(_CONTEXT.value)
  toy_regression_study.draw(
    _OUTPUT_DIR.value,
    seeds=_SEEDS.value,
    local_epochs=_LOCAL_EPOCHS.value,
    estimator=_ESTIMATOR.value,
    file_format=_FORMAT.value,
  )


if __name__ == '__main__':
  cli.run(main)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Draws simulations of SRPFL's theory: contraction, noise floor and speed-up.

Clients have linear functions on a common subspace. FedRep learns it with all
clients in every round, SRPFL with the fastest clients first (Tziotis et al.,
arXiv:2206.02078, section 4):

  python -m research.srpfl.linear_representation_figure --output_dir=plots

writes two files to --output_dir: linear_representation.png (the distance to the
true subspace by simulated time; the remaining distance by the number of clients
per round; SRPFL's time relative to FedRep's by the number of all clients,
beside the theory's prediction) and linear_representation.csv (every round). It
also prints the results as tables. It takes about two minutes, and some minutes
more with --most_clients=1024.
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
  'seeds', 5, 'Seeds of clients, examples and speeds.', lower_bound=1
)
_MOST_CLIENTS = flags.DEFINE_integer(
  'most_clients',
  256,
  'The speed-up is simulated with 16, 64, 256, 1024 and 4096 clients, up to '
  'this number.',
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
  from research.srpfl import linear_representation_study  # pylint: disable=g-import-not-at-top

  contexts.set_default_context(_CONTEXT.value)
  linear_representation_study.draw(
    _OUTPUT_DIR.value,
    seeds=_SEEDS.value,
    most_clients=_MOST_CLIENTS.value,
    file_format=_FORMAT.value,
  )


if __name__ == '__main__':
  cli.run(main)

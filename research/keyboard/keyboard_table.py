# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Compares keyboards with an n-gram model, as Hard et al. (2018) do.

  python -m research.keyboard.keyboard_table --data_dir=path/to/users \
    --workdirs=runs/keyboard_central,runs/keyboard

prints the share of test users' words that are the first suggestion (top-1
recall) or among the first three (top-3 recall), with its standard error over
users:

  Model           Top-1 recall [%]  Top-3 recall [%]
  5-gram          ...
  Server CIFG     ...
  Federated CIFG  ...

The workdirs of launch.train must have the task keyboard
(launch/configs/keyboard.py) and the same vocabulary. The label of a workdir
says whether it trained at the server (task.central) and with privacy.
--data_dir is the folder that they were trained with.

The n-gram model (interpolated Kneser-Ney) learns from all sentences of the
training users, with the same vocabulary, and keeps all n-grams in memory.

Recall is over all words of all test users together, including words outside the
vocabulary, which no model can suggest. The standard error estimates how much
recall varies between samples of the same number of users.
"""

from collections.abc import Sequence

from fedfish_tff.execution import contexts
from launch import cli
from launch import path_flags
from launch import trust_flags

from absl import flags

_WORKDIRS = path_flags.define_list(
  'workdirs', 'The workdirs of launch.train, separated by commas.'
)
_ORDER = flags.DEFINE_integer(
  'order', 5, 'The n of the n-gram model.', lower_bound=1
)
_DATA_DIR = path_flags.define(
  'data_dir',
  None,
  'The folder of the data; by default where it was last found.',
  takes_urls=True,
)
_TRUST = trust_flags.define(saved_models=False)


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  cli.check_given(_WORKDIRS)
  # Imported late: TFF takes seconds, and all above answers at once.
  cli.report_import()
  from research.keyboard import keyboards  # pylint: disable=g-import-not-at-top

  contexts.set_default_context()
  print(
    keyboards.compare(
      _WORKDIRS.value,
      order=_ORDER.value,
      data_dir=_DATA_DIR.value,
      trust=_TRUST(is_json=True),
    )
  )


if __name__ == '__main__':
  cli.run(main)

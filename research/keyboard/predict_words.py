# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Suggests next words with the model of a workdir of launch.train.

  python -m research.keyboard.predict_words --workdir=runs/keyboard \
    --data_dir=path/to/users --prefix="i would like to"

prints the three likeliest next words by the model of the last checkpoint, the
likeliest first. Without --prefix, it reads lines, each the beginning of a text,
until the input ends (Ctrl-D in a terminal), and answers each with a line.

The workdir must have the task keyboard (launch/configs/keyboard.py). --data_dir
is the folder that it was trained with, because the vocabulary is that of the
training clients. Only the last sentence of a line counts; a sentence ends with
. ! or ?. Case and punctuation do not matter, and all words outside the
vocabulary are one unknown word.
"""

from collections.abc import Sequence
import sys

from fedfish_tff.execution import contexts
from launch import cli
from launch import path_flags
from launch import trust_flags

from absl import flags

_WORKDIR = path_flags.define(
  'workdir', None, 'The workdir of launch.train, of the task keyboard.'
)
_DATA_DIR = path_flags.define(
  'data_dir',
  None,
  'The folder of the data; by default where it was last found.',
  takes_urls=True,
)
_TRUST = trust_flags.define(saved_models=False)
_PREFIX = flags.DEFINE_string(
  'prefix', None, 'The typed text; by default, each line of the input.'
)


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  cli.check_given(_WORKDIR)
  # Imported late: TFF takes seconds, and all above answers at once.
  cli.report_import()
  from research.keyboard import keyboards  # pylint: disable=g-import-not-at-top

  contexts.set_default_context()
  suggest = keyboards.build_suggester(
    _WORKDIR.value, data_dir=_DATA_DIR.value, trust=_TRUST(is_json=True)
  )
  lines = sys.stdin if _PREFIX.value is None else [_PREFIX.value]
  if lines is sys.stdin and lines.isatty():
    print('Type the beginning of a text; Ctrl-D ends.')
  for line in lines:
    print('  '.join(suggest(line.rstrip('\n'))), flush=True)


if __name__ == '__main__':
  cli.run(main)

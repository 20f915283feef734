# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Trains a vocabulary on the text of grouped clients.

  python -m launch.train_tokenizer --input=c4_by_host --vocabulary_size=32000

The texts are those of the clients of --split in a folder of
launch.group_dataset.

  --kind=bpe          byte pairs, as in GPT-2: they can encode every text
  --kind=word_piece   word pieces, as in BERT
  --kind=word         the most frequent words, as in TFF's Stack Overflow

The vocabulary is written to --output, by default vocabulary.json in the folder
of clients, in the JSON of the `tokenizers` library;
`fedfish_tff.datasets.load_vocabulary` and the tasks on text read it. Ids 0 to 3
are padding, beginning and end of a document, and out of vocabulary. The same
texts in any order give the same file. Held-out clients are not used.
"""

from collections.abc import Sequence
import os

from fedfish_tff import errors
from launch import cli
from launch import path_flags

from absl import flags

_INPUT = path_flags.define('input', None, 'A folder of grouped clients.')
_OUTPUT = path_flags.define(
  'output',
  None,
  'The file to write, a new one; by default vocabulary.json in the folder of '
  'grouped clients.',
)
_SPLIT = flags.DEFINE_string('split', 'train', 'The split of the clients.')
_FEATURE = flags.DEFINE_string('feature', 'text', 'The feature with the text.')
_KIND = flags.DEFINE_enum(
  'kind', 'bpe', ['bpe', 'word_piece', 'word'], 'The kind of tokens.'
)
_VOCABULARY_SIZE = flags.DEFINE_integer(
  'vocabulary_size', 32_000, 'The most token ids, special ones included.'
)
_LOWERCASE = flags.DEFINE_bool(
  'lowercase', False, 'Whether to convert text to lower case.'
)
_MAX_TEXTS = flags.DEFINE_integer(
  'max_texts',
  None,
  'The most texts to read, those of clients drawn at random; by default all.',
  lower_bound=1,
)

_DEFAULT_NAME = 'vocabulary.json'


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  cli.check_given(_INPUT)
  output = _OUTPUT.value or os.path.join(_INPUT.value, _DEFAULT_NAME)
  if os.path.exists(output):
    raise errors.InputError(
      f'{output} must be a new file, since nothing is overwritten.'
    )
  # Imported late: TFF takes seconds, and all above answers at once.
  from launch.data import train_tokenizer_run  # pylint: disable=g-import-not-at-top

  train_tokenizer_run.run(
    _INPUT.value,
    output,
    kind=_KIND.value,
    vocabulary_size=_VOCABULARY_SIZE.value,
    split=_SPLIT.value,
    feature=_FEATURE.value,
    lowercase=_LOWERCASE.value,
    max_texts=_MAX_TEXTS.value,
  )


if __name__ == '__main__':
  cli.run(main)

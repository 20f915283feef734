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

from collections.abc import Iterator
from collections.abc import Sequence
import itertools
import os
import pathlib

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import simulation
from launch import cli
from launch import path_flags
from launch.data import client_texts

from absl import flags
import tqdm

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
# The number of texts that the mean length of a token is measured on.
_SAMPLE = 1000


class _Texts:
  """Texts for repeated iteration, with a progress bar and counts."""

  def __init__(self) -> None:
    # Counts of the last iteration.
    self.num_texts = 0
    self.num_characters = 0

  def read(self) -> Iterator[str]:
    """Reads the texts without a progress bar."""
    texts = client_texts.read_texts(_INPUT.value, _SPLIT.value, _FEATURE.value)
    return itertools.islice(texts, _MAX_TEXTS.value)

  def __iter__(self) -> Iterator[str]:
    self.num_texts = self.num_characters = 0
    for text in tqdm.tqdm(
      self.read(), desc='read', unit=' texts', disable=None
    ):
      self.num_texts += 1
      self.num_characters += len(text)
      yield text


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  cli.check_given(_INPUT)
  output = _OUTPUT.value or os.path.join(_INPUT.value, _DEFAULT_NAME)
  if os.path.exists(output):
    raise errors.InputError(
      f'{output} must be a new file, since nothing is overwritten.'
    )
  texts = _Texts()
  vocabulary = datasets.train_vocabulary(
    texts,
    kind=datasets.VocabularyKind(_KIND.value),
    size=_VOCABULARY_SIZE.value,
    lowercase=_LOWERCASE.value,
  )
  simulation.make_folder(pathlib.Path(output).parent)
  simulation.write_atomically(output, vocabulary.to_json().encode())
  sample = list(itertools.islice(texts.read(), _SAMPLE))
  tokens = [token for text in sample for token in vocabulary.encode(text)]
  num_unknown = tokens.count(vocabulary.special_tokens.oov)
  num_characters = sum(map(len, sample))
  print(
    f'{vocabulary.size:,} tokens ({_KIND.value}) from {texts.num_texts:,} '
    f'texts of {texts.num_characters:,} characters.\n'
    f'In the first {len(sample):,} texts, a token has '
    f'{num_characters / max(1, len(tokens)):.2f} characters, and '
    f'{num_unknown / max(1, len(tokens)):.2%} of the tokens are out of '
    'vocabulary.'
  )
  print(output)


if __name__ == '__main__':
  cli.run(main)

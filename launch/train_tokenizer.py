# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Trains a vocabulary on the text of grouped clients.

  python -m launch.train_tokenizer --input=c4_by_host --vocabulary_size=32000

--input is a folder of launch.group_dataset. The texts are those of its training
clients; held-out clients are not used.

  --kind=bpe          byte pairs, as in GPT-2: they can encode every text
  --kind=word_piece   word pieces, as in BERT
  --kind=word         the most frequent words, as in TFF's Stack Overflow

The vocabulary is written to vocabulary.json in the folder, in the JSON of the
`tokenizers` library; `fedfish_tff.datasets.load_vocabulary` and the tasks on
text read it. Ids 0 to 3 are padding, beginning and end of a document, and out of
vocabulary. The same texts in any order give the same file.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import itertools
import os

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import simulation
from launch import cli
from launch import path_flags
from launch.data import client_texts

from absl import flags
import tqdm

_INPUT = path_flags.define('input', None, 'A folder of grouped clients.')
_KIND = flags.DEFINE_enum(
  'kind', 'bpe', ['bpe', 'word_piece', 'word'], 'The kind of tokens.'
)
_VOCABULARY_SIZE = flags.DEFINE_integer(
  'vocabulary_size', 32_000, 'The most token ids, special ones included.'
)

# The number of texts that the mean length of a token is measured on.
_SAMPLE = 1000


class _Texts:
  """Texts for repeated iteration, with a progress bar.

  Attributes:
    num_texts: The number of texts of the last iteration.
    num_characters: The number of their characters.
  """

  num_texts = 0
  num_characters = 0

  def __iter__(self) -> Iterator[str]:
    self.num_texts = self.num_characters = 0
    for text in tqdm.tqdm(
      client_texts.read_texts(_INPUT.value),
      desc='read',
      unit=' texts',
      disable=None,
    ):
      self.num_texts += 1
      self.num_characters += len(text)
      yield text


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  cli.check_given(_INPUT)
  output = os.path.join(_INPUT.value, 'vocabulary.json')
  if os.path.exists(output):
    raise errors.InputError(
      f'{output} must be a new file, since nothing is overwritten.'
    )
  texts = _Texts()
  vocabulary = datasets.train_vocabulary(
    texts,
    kind=datasets.VocabularyKind(_KIND.value),
    size=_VOCABULARY_SIZE.value,
  )
  simulation.write_atomically(output, vocabulary.to_json().encode())
  sample = list(
    itertools.islice(client_texts.read_texts(_INPUT.value), _SAMPLE)
  )
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

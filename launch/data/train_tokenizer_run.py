# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Training of a vocabulary on the text of grouped clients."""

from collections.abc import Callable
from collections.abc import Iterator
import functools
import itertools
import pathlib

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import simulation

import tqdm

# The number of clients that are shuffled together.
_WINDOW = 4096
# The number of texts that the mean length of a token is measured on.
_SAMPLE = 1000


def run(
  input_path: str,
  output: str,
  *,
  kind: str,
  vocabulary_size: int,
  split: str = 'train',
  feature: str = 'text',
  lowercase: bool = False,
  max_texts: int | None = None,
) -> None:
  """Writes the vocabulary and prints a summary.

  Args:
    input_path: A folder of grouped clients.
    output: The path of the vocabulary's file.
    kind: The value of a `datasets.VocabularyKind`.
    vocabulary_size: The number of token ids, special ones included.
    split: The split of the clients.
    feature: The feature with the text.
    lowercase: Whether all text is converted to lower case.
    max_texts: The largest number of texts to read; None for all.

  Raises:
    errors.InputError: If there is no text, a text cannot be read, the size is
      too small for single characters, or the file cannot be written.
  """
  texts = _Texts(
    functools.partial(read_texts, input_path, split, feature), max_texts
  )
  vocabulary = datasets.train_vocabulary(
    texts,
    kind=datasets.VocabularyKind(kind),
    size=vocabulary_size,
    lowercase=lowercase,
  )
  simulation.make_folder(pathlib.Path(output).parent)
  simulation.write_atomically(output, vocabulary.to_json().encode())
  sample = list(itertools.islice(texts.read(), _SAMPLE))
  tokens = [token for text in sample for token in vocabulary.encode(text)]
  num_unknown = tokens.count(vocabulary.special_tokens.oov)
  num_characters = sum(map(len, sample))
  print(
    f'{vocabulary.size:,} tokens ({kind}) from {texts.num_texts:,} '
    f'texts of {texts.num_characters:,} characters.\n'
    f'In the first {len(sample):,} texts, a token has '
    f'{num_characters / max(1, len(tokens)):.2f} characters, and '
    f'{num_unknown / max(1, len(tokens)):.2%} of the tokens are out of '
    'vocabulary.'
  )
  print(output)


class _Texts:
  """Texts for repeated iteration, with a progress bar and counts."""

  def __init__(
    self, read: Callable[[], Iterator[str]], max_texts: int | None
  ) -> None:
    self._read = read
    self._max_texts = max_texts
    # Counts of the last iteration.
    self.num_texts = 0
    self.num_characters = 0

  def read(self) -> Iterator[str]:
    """Reads the texts without a progress bar."""
    return itertools.islice(self._read(), self._max_texts)

  def __iter__(self) -> Iterator[str]:
    self.num_texts = self.num_characters = 0
    for text in tqdm.tqdm(
      self.read(), desc='read', unit=' texts', disable=None
    ):
      self.num_texts += 1
      self.num_characters += len(text)
      yield text


def read_texts(folder: str, split: str, feature: str) -> Iterator[str]:
  """Yields the texts of clients, client by client in random order."""
  clients = datasets.StreamedClients(
    folder, split, window=_WINDOW, seed=0, features=(feature,)
  )
  for client in clients.clients():
    for value in client.examples[feature]:
      try:
        if not isinstance(value, str | bytes):
          raise errors.InputError(
            f'The value must be a text, got a {type(value).__name__}.'
          )
        yield datasets.to_unicode(value)
      except errors.InputError as error:
        raise errors.InputError(
          f'Feature {feature!r} of client {client.client_id!r}: {error}'
        ) from error

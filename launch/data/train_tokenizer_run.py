# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Training of a vocabulary on the text of grouped clients, or of files."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import gzip
import itertools
import json
import os
import pathlib
import zlib

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff import simulation

import tqdm

# The number of clients that are shuffled together.
_WINDOW = 4096
# The number of texts that the mean length of a token is measured on.
_SAMPLE = 1000
_JSON_SUFFIXES = ('.json', '.jsonl')
_TEXT_SUFFIXES = ('.txt',)


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
    input_path: A folder of grouped clients, or a pattern of files.
    output: The path of the vocabulary's file.
    kind: The value of a `datasets.VocabularyKind`.
    vocabulary_size: The number of token ids, special ones included.
    split: The split of a folder.
    feature: The feature with the text, in a folder or in lines of JSON.
    lowercase: Whether all text is converted to lower case.
    max_texts: The largest number of texts to read; None for all.

  Raises:
    errors.InputError: If there is no text, a text cannot be read, the size is
      too small for single characters, or the file cannot be written.
  """
  texts = _Texts(_open(input_path, split, feature), max_texts)
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


def _open(
  input_path: str, split: str, feature: str
) -> Callable[[], Iterator[str]]:
  """Returns a function that reads the texts from the start."""
  if os.path.isdir(input_path):
    clients = datasets.StreamedClients(
      input_path,
      split,
      window=_WINDOW,
      seed=0,
      features=(feature,),
    )
    return lambda: _read_clients(clients, feature)
  paths = regular_files.find_files(input_path)
  if not paths:
    raise errors.InputError(
      f'There is no file or folder {input_path}; a folder of grouped clients '
      'or files of text were expected.'
    )
  for path in paths:
    _kind_of(path)
  return lambda: _read_files(paths, feature)


def _read_clients(
  clients: 'datasets.StreamedClients', feature: str
) -> Iterator[str]:
  """Yields the texts of clients, client by client in random order."""
  for client in clients.clients():
    try:
      yield from map(_text_of, client.examples[feature])
    except errors.InputError as error:
      raise errors.InputError(
        f'Feature {feature!r} of client {client.client_id!r}: {error}'
      ) from error


def _text_of(value: object) -> str:
  if not isinstance(value, str | bytes):
    raise errors.InputError(
      f'A {type(value).__name__} was found; a text was expected.'
    )
  return datasets.to_unicode(value)


def _kind_of(path: str) -> str:
  """Returns the suffix that tells the format of a file."""
  suffix = pathlib.Path(path.removesuffix('.gz')).suffix.lower()
  if suffix not in _JSON_SUFFIXES + _TEXT_SUFFIXES:
    known = ', '.join(_JSON_SUFFIXES + _TEXT_SUFFIXES)
    raise errors.InputError(
      f'The name of {path} does not say what it holds; one that ends with '
      f'{known} was expected, with or without .gz.'
    )
  return suffix


def _read_files(paths: Iterable[str], feature: str) -> Iterator[str]:
  """Yields the texts of files, line by line, without blank lines."""
  for path in paths:
    is_json = _kind_of(path) in _JSON_SUFFIXES
    for number, line in enumerate(_read_lines(path), start=1):
      if not line.strip():
        continue
      try:
        text = _text_in_json(line, feature) if is_json else line.rstrip(b'\r\n')
        yield _text_of(text)
      except errors.InputError as error:
        raise errors.InputError(f'{path}, line {number}: {error}') from error


def _read_lines(path: str) -> Iterator[bytes]:
  try:
    with open(path, 'rb', opener=regular_files.opener) as file:
      yield from gzip.open(file) if path.endswith('.gz') else file
  except (OSError, EOFError, zlib.error) as error:
    reason = getattr(error, 'strerror', None) or str(error)
    raise errors.InputError(
      f'{path} cannot be read to its end: {reason}.'
    ) from error


def _text_in_json(line: bytes, feature: str) -> object:
  try:
    record = json.loads(line)
  except (ValueError, RecursionError) as error:
    raise errors.InputError(
      f'No JSON ({error}); an object with {feature!r} was expected.'
    ) from error
  if not isinstance(record, dict) or feature not in record:
    found = ', '.join(record) if isinstance(record, dict) else 'no object'
    raise errors.InputError(f'{feature!r} was expected, found {found}.')
  return record[feature]

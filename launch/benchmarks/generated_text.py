# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Made-up text, as much as one likes: lines of web pages, and grouped clients."""

import json
import os
import pathlib

from fedfish_tff import datasets

import numpy as np
import tensorflow as tf
import tqdm

SPLIT = 'train'
# As many as there are shards to read, or more, for any number of workers.
NUM_FILES = 8

_NUM_WORDS = 5000
_RUNNING_WORDS = 200_000
# Six letters and a space.
_WORD_LENGTH = 7

_MOST_HOSTS = 100_000
# Hosts have one page to many, by a power law.
_HOST_EXPONENT = 1.5
# Letters of a page, as of C4: their median, and how far they spread.
_MEDIAN_LENGTH = 1200
_LENGTH_DEVIATION = 1.0

_NUM_SHARDS = 16
_MOST_EXAMPLES = 8
_CLIENTS_AT_A_TIME = 1000


def _make_text(generator: np.random.Generator) -> tuple[list[str], str]:
  """Returns words, and a long text of which others are pieces.

  To make the words of each text would take the longest.

  Args:
    generator: Decides which.
  """
  letters = generator.integers(0, 26, [_NUM_WORDS, _WORD_LENGTH - 1])
  words = [''.join(chr(ord('a') + letter) for letter in row) for row in letters]
  chosen = generator.integers(0, _NUM_WORDS, _RUNNING_WORDS)
  return words, ' '.join(words[i] for i in chosen)


def write_lines(folder: str | os.PathLike[str], num_bytes: int) -> str:
  """Writes lines of JSON with url, text and timestamp, as C4 is published.

  Args:
    folder: An existing folder.
    num_bytes: Bytes of all files together, or a line more each.

  Returns:
    A pattern for the files.
  """
  generator = datasets.random_generator('generated lines', num_bytes)
  words, running_text = _make_text(generator)
  folder = pathlib.Path(folder)
  number = 0
  for file_number in range(NUM_FILES):
    size = 0
    with open(folder / f'pages-{file_number:05}.jsonl', 'wb') as file:
      while size < num_bytes // NUM_FILES:
        host = min(int(generator.zipf(_HOST_EXPONENT)), _MOST_HOSTS)
        length = int(generator.lognormal(0, _LENGTH_DEVIATION) * _MEDIAN_LENGTH)
        start = int(generator.integers(0, len(running_text) // 2))
        page = {
          'text': running_text[start : start + max(length, 1)].strip()
          or words[0],
          'timestamp': f'2019-04-{number % 30 + 1:02}T00:00:00Z',
          'url': f'https://host{host}.{words[host % 97]}.com/{number}',
        }
        size += file.write(json.dumps(page).encode() + b'\n')
        number += 1
  return str(folder / 'pages-*.jsonl')


def write_one_client(
  path: str | os.PathLike[str], num_bytes: int, *, page_bytes: int
) -> None:
  """Writes lines of JSON, as `write_lines` does, of a single host.

  Args:
    path: The file.
    num_bytes: Bytes of all texts together, a page at least.
    page_bytes: Bytes of the text of a page.
  """
  generator = datasets.random_generator('generated client', num_bytes)
  _, running_text = _make_text(generator)
  with open(path, 'wb') as file:
    for number in range(max(1, num_bytes // page_bytes)):
      start = int(generator.integers(0, len(running_text) - page_bytes))
      page = {
        'text': running_text[start : start + page_bytes],
        'timestamp': '2019-04-01T00:00:00Z',
        'url': f'https://example.com/{number}',
      }
      file.write(json.dumps(page).encode() + b'\n')


def write_clients(folder: str | os.PathLike[str], num_clients: int) -> None:
  """Writes clients: the name of a host each, 1 to 8 texts of 20 to 60 words.

  Args:
    folder: A new folder.
    num_clients: How many.
  """
  generator = datasets.random_generator('generated clients', num_clients)
  words, running_text = _make_text(generator)
  running_text = running_text.encode()
  with (
    datasets.GroupedWriter(
      folder,
      features={'text': tf.TensorSpec([], tf.string)},
      num_shards=_NUM_SHARDS,
      source={'generated': num_clients},
    ) as writer,
    tqdm.tqdm(
      total=num_clients, desc='generate', unit=' clients', disable=None
    ) as progress,
  ):
    for first in range(0, num_clients, _CLIENTS_AT_A_TIME):
      count = min(_CLIENTS_AT_A_TIME, num_clients - first)
      sizes = generator.integers(1, _MOST_EXAMPLES + 1, count).tolist()
      total = sum(sizes)
      starts = _WORD_LENGTH * generator.integers(0, _RUNNING_WORDS // 2, total)
      lengths = _WORD_LENGTH * generator.integers(20, 61, total) - 1
      texts = iter(
        running_text[start : start + length]
        for start, length in np.stack([starts, lengths], axis=1).tolist()
      )
      for number, size in enumerate(sizes, first):
        # Not in the order of the ids, as no pipeline writes them.
        host = f'{(number * 7919) % num_clients:07}.{words[number % 97]}.com'
        writer.write(SPLIT, host, [{'text': next(texts)} for _ in range(size)])
      progress.update(count)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lines of made-up web pages in the form that C4 is published in."""

import json
import os
import pathlib

from fedfish_tff.datasets import random_streams

# As many as there are shards to read, or more, for any number of workers.
NUM_FILES = 8
_NUM_WORDS = 5000
_RUNNING_WORDS = 200_000
_MOST_HOSTS = 100_000
# Hosts have one page to many, by a power law.
_HOST_EXPONENT = 1.5
# Letters of a page, as of C4: their median, and how far they spread.
_MEDIAN_LENGTH = 1200
_LENGTH_DEVIATION = 1.0


def generate(folder: str | os.PathLike[str], num_bytes: int) -> str:
  """Writes files of lines of JSON with url, text and timestamp.

  Args:
    folder: An existing folder.
    num_bytes: Bytes of all files together, or a line more each.

  Returns:
    A pattern for the files.
  """
  generator = random_streams.random_generator('generated lines', num_bytes)
  words = [
    ''.join(chr(ord('a') + letter) for letter in letters[:length])
    for letters, length in zip(
      generator.integers(0, 26, [_NUM_WORDS, 9]),
      generator.integers(2, 10, _NUM_WORDS),
    )
  ]
  # Texts are pieces of one long one: making words would take the longest.
  running_text = ' '.join(
    words[i] + ('.\n' if i % 12 == 0 else '')
    for i in generator.integers(0, _NUM_WORDS, _RUNNING_WORDS)
  )
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

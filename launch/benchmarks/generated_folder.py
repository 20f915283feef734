# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Grouped clients of made-up text, as many as one likes."""

import os

from fedfish_tff import datasets

import numpy as np
import tensorflow as tf
import tqdm

SPLIT = 'train'

_NUM_SHARDS = 16
_NUM_WORDS = 5000
_MOST_EXAMPLES = 8
_CLIENTS_AT_A_TIME = 1000


def generate(folder: str | os.PathLike[str], num_clients: int) -> None:
  """Writes clients: the name of a host each, 1 to 8 texts of 20 to 60 words.

  Args:
    folder: A new folder.
    num_clients: How many.
  """
  generator = datasets.random_generator('generated clients', num_clients)
  words = [
    ''.join(chr(ord('a') + letter) for letter in letters)
    for letters in generator.integers(0, 26, [_NUM_WORDS, 6])
  ]
  # Texts are pieces of one long one: making words would take the longest.
  running_text = ' '.join(
    words[i] for i in generator.integers(0, _NUM_WORDS, 100_000)
  ).encode()
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
      # A word and its space are seven letters.
      starts = 7 * generator.integers(0, 99_000, total)
      lengths = 7 * generator.integers(20, 61, total) - 1
      texts = iter(
        running_text[start : start + length]
        for start, length in np.stack([starts, lengths], axis=1).tolist()
      )
      for number, size in enumerate(sizes, first):
        # Not in the order of the ids, as no pipeline writes them.
        host = f'{(number * 7919) % num_clients:07}.{words[number % 97]}.com'
        writer.write(SPLIT, host, [{'text': next(texts)} for _ in range(size)])
      progress.update(count)

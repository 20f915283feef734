# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The published files of AG News, train.csv and test.csv.

A row is a class of 1 to 4, a title and a description, all in double quotes. In
texts, a backslash stands for a line break.
"""

import csv
import dataclasses
import io
import os
import pathlib

from fedfish_tff import errors
from fedfish_tff import regular_files
from tasks.text import class_sampling

from absl import logging
import numpy as np

# The names of classes 1 to 4.
CLASS_NAMES = ('world', 'sports', 'business', 'sci_tech')
TRAIN_FILE = 'train.csv'
TEST_FILE = 'test.csv'
_COLUMNS = 'class, title and description'


@dataclasses.dataclass(frozen=True, kw_only=True)
class News:
  """Labelled texts.

  Attributes:
    texts: The title and description of each piece of news, in one line.
    labels: The indices into `CLASS_NAMES`, int32 [texts].
  """

  texts: tuple[str, ...]
  labels: np.ndarray

  def take(self, indices: np.ndarray) -> 'News':
    """Returns the news at `indices` (int [m]), in that order."""
    return News(
      texts=tuple(self.texts[i] for i in indices), labels=self.labels[indices]
    )


def load_news(
  data_dir: str | os.PathLike[str], *, test_fraction: float, seed: int
) -> tuple[News, News]:
  """Reads training and test news.

  Args:
    data_dir: The folder of train.csv and test.csv. Without train.csv, as in
      samples of the data, test.csv is divided into both parts.
    test_fraction: The share for testing in that case, the same of every class.
    seed: The seed of this division.

  Returns:
    (training, test) news.
  """
  folder = pathlib.Path(os.path.expanduser(data_dir))
  if not (folder / TEST_FILE).exists():
    raise errors.InputError(
      f'There is no {TEST_FILE} in {folder}, which must hold the files of AG '
      f'News, {TRAIN_FILE} and {TEST_FILE}.'
    )
  test = read_news(folder / TEST_FILE)
  if (folder / TRAIN_FILE).exists():
    return read_news(folder / TRAIN_FILE), test
  train, test = split_news(test, test_fraction=test_fraction, seed=seed)
  logging.info(
    'There is no %s in %s: its %s is divided into %d news to train on and %d '
    'to test on.',
    TRAIN_FILE,
    folder,
    TEST_FILE,
    len(train.texts),
    len(test.texts),
  )
  return train, test


def split_news(
  news: News, *, test_fraction: float, seed: int
) -> tuple[News, News]:
  """Divides news into (training, test) with the same share of every class.

  Args:
    news: All news, of which each part gets some.
    test_fraction: The share for testing, the same of every class.
    seed: The seed of the division.
  """
  test = class_sampling.sample_evenly(
    news.labels,
    round(test_fraction * len(news.labels)),
    ('test news', seed),
  )
  train = np.setdiff1d(np.arange(len(news.labels)), test)
  if not test.size or not train.size:
    raise errors.InputError(
      f'test_fraction {test_fraction} of {len(news.labels)} news must leave at '
      f'least one to train on and one to test on, got {train.size} and '
      f'{test.size}.'
    )
  return news.take(train), news.take(test)


def read_news(path: str | os.PathLike[str]) -> News:
  """Reads one of the files; the error of a damaged one names the line."""
  path = os.fspath(path)
  # `str.splitlines` would also break lines inside texts, such as at U+2028.
  reader = csv.reader(io.StringIO(_read_text(path), newline=''), strict=True)
  texts, labels = [], []
  while True:
    line = reader.line_num + 1
    try:
      row = next(reader)
    except StopIteration:
      break
    except csv.Error as error:
      raise errors.InputError(
        f'{path}, line {line}: {error}; it must hold {_COLUMNS} in double '
        'quotes.'
      ) from error
    try:
      label, text = _parse_row(row)
    except errors.InputError as error:
      raise errors.InputError(f'{path}, line {line}: {error}') from None
    labels.append(label)
    texts.append(text)
  if not texts:
    raise errors.InputError(
      f'{path}, line 1: the file must have rows of {_COLUMNS}, got an empty '
      'file.'
    )
  return News(texts=tuple(texts), labels=np.array(labels, np.int32))


def _read_text(path: str) -> str:
  content = regular_files.read_bytes(path)
  try:
    return content.decode()
  except UnicodeDecodeError as error:
    line = content.count(b'\n', 0, error.start) + 1
    raise errors.InputError(
      f'{path}, line {line}: the file must be valid UTF-8, and is not at byte '
      f'{error.start}.'
    ) from None


def _parse_row(row: list[str]) -> tuple[int, str]:
  """Returns (label from 0, text)."""
  if len(row) != 3:
    raise errors.InputError(
      f'the row must have {_COLUMNS}, got {len(row)} column(s).'
    )
  classes = [str(c + 1) for c in range(len(CLASS_NAMES))]
  errors.check_member('the class', row[0], classes)
  # Line breaks, like all other white space, become single spaces.
  text = ' '.join(' '.join(row[1:]).replace('\\', ' ').split())
  if not text:
    raise errors.InputError('title and description must not both be blank.')
  return classes.index(row[0]), text

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Next characters of Shakespeare's plays, a client being a speaker.

Read through TFF's own loader (`tff.simulation.datasets.shakespeare`), whose
cache is data_dir: the file shakespeare.sqlite there. TFF divides what a speaker
says into an earlier part for training and a later one for testing.

As in Wang et al. (2020, arXiv:2002.06440), clients are some of the speakers who
say enough, and what is reported is the accuracy on their later parts. Such parts
are clients here, whose ids begin with "test/". Validation clients are other
speakers with all that they say.

A text is what somebody says at once, with its beginning and its end. The
characters are the 80 of LEAF's data, which is TFF's and the paper's.
"""

from collections.abc import Sequence
import functools
import string

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import models
from tasks import checks
from tasks import tff_files
from tasks.task import Task

import tensorflow_federated as tff

NAME = 'shakespeare'
_FILE_NAME = 'shakespeare.sqlite'
_FEATURE = 'snippets'
_TEST_PREFIX = 'test/'
_CHARACTERS = (
  '\n !"&\'(),-.'
  + string.digits
  + ':;>?'
  + string.ascii_uppercase
  + '[]'
  + string.ascii_lowercase
  + '}'
)


def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  num_clients: int = 66,
  num_validation_clients: int = 20,
  min_characters: int = 10_000,
  sequence_length: int = 80,
  embedding_size: int = 8,
  lstm_size: int = 256,
  download: bool = False,
) -> Task:
  """Creates the task.

  Args:
    seed: Draws the speakers, and decides the initial weights.
    data_dir: Folder of shakespeare.sqlite; None for TFF's cache, ~/.tff.
    num_clients: Speakers that train.
    num_validation_clients: Speakers that are held out for validation.
    min_characters: Whoever says fewer is left out.
    sequence_length: Characters of an example.
    embedding_size: Width of the model's embedding.
    lstm_size: Units of the model's LSTM.
    download: Whether to download a missing file.

  Returns:
    The task: x and y int32 [sequence_length], y being x one character ahead;
    metric accuracy, of the next character.

  Raises:
    errors.InputError: If an option is out of range or the data cannot be used.
  """
  checks.check_integer('num_clients', num_clients, 1)
  checks.check_integer('num_validation_clients', num_validation_clients, 1)
  sources = tff_files.load_tff_data(
    NAME,
    tff.simulation.datasets.shakespeare.load_data,
    _FILE_NAME,
    splits=('train', 'test'),
    data_dir=data_dir,
    download=download,
  )
  earlier, later = map(datasets.TffClientData, sources)
  everything = datasets.ConcatenatedClientData([earlier, later])
  speakers = _draw_speakers(
    everything.select(sorted({*earlier.client_ids} & {*later.client_ids})),
    num_clients + num_validation_clients,
    min_characters,
    seed,
  )
  training, held_out = speakers[:num_clients], speakers[num_clients:]
  vocabulary = datasets.create_character_vocabulary(_CHARACTERS)
  create_model = functools.partial(_create_model, vocabulary.size)
  return Task(
    name=NAME,
    train=earlier.select(training),
    validation=everything.select(held_out),
    test=datasets.TffClientData(sources[1], prefix=_TEST_PREFIX).select(
      _TEST_PREFIX + speaker for speaker in training
    ),
    create_model=functools.partial(
      create_model, (embedding_size, lstm_size), seed
    ),
    create_sized_model=create_model,
    metric='accuracy',
    higher_is_better=True,
    label_sampler=models.token_label_sampler(),
    preprocess=datasets.build_chunk_fn(
      vocabulary, sequence_length=sequence_length, feature=_FEATURE
    ),
    tensor_names=models.CHARACTER_LSTM_TENSORS,
  )


def _draw_speakers(
  data: datasets.ClientData, number: int, min_characters: int, seed: int
) -> list[str]:
  """Draws speakers of those who say enough."""
  found = [
    speaker
    for speaker in data.client_ids
    if sum(map(len, data.load_client(speaker)[_FEATURE])) >= min_characters
  ]
  if len(found) < number:
    raise errors.InputError(
      f'Task {NAME!r} has {len(found)} speakers of min_characters = '
      f'{min_characters} or more; the {number} of num_clients and '
      'num_validation_clients were expected.'
    )
  stream = datasets.random_generator('shakespeare speakers', seed)
  return [found[i] for i in stream.permutation(len(found))[:number]]


def _create_model(
  vocabulary_size: int, widths: Sequence[int], seed: int
) -> tff.learning.models.FunctionalModel:
  embedding_size, lstm_size = widths
  return models.create_character_lstm(
    vocabulary_size=vocabulary_size,
    seed=seed,
    embedding_size=embedding_size,
    lstm_size=lstm_size,
  )

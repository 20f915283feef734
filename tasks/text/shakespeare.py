# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Next characters of Shakespeare's plays; each client is a speaker.

TFF's own loader (`tff.simulation.datasets.shakespeare`) reads the data from its
cache, the file shakespeare.sqlite in data_dir. TFF divides each speaker's lines
into an earlier part for training and a later one for testing.

As in Wang et al. (2020, arXiv:2002.06440), clients are a sample of the speakers
with enough text, and the reported accuracy is that on their later parts. Each
later part is a test client with an id that begins with "test/". Validation
clients are other speakers with all their lines.

A text is one uninterrupted speech, with a begin and an end token. The 80
characters are those of LEAF's data, which TFF and the paper use.
"""

from __future__ import annotations

from collections.abc import Sequence
import functools
import string
import typing

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from tasks import networks
from tasks import options
from tasks import tff_files
from tasks.task import Task

if typing.TYPE_CHECKING:
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


OPTIONS = {
  'num_clients': fields.Field(
    66, fields.integer(1), 'The number of training speakers.'
  ),
  'num_validation_clients': fields.Field(
    20, fields.integer(1), 'The number of speakers held out for validation.'
  ),
  'min_characters': fields.Field(
    10_000,
    fields.integer(0),
    'The smallest number of characters of a speaker, for training and testing '
    'together.',
  ),
  'sequence_length': fields.Field(
    80, fields.integer(1), 'The number of characters per example.'
  ),
  'embedding_size': fields.Field(
    8, fields.integer(1), "The width of the model's embedding."
  ),
  'lstm_size': fields.Field(
    256, fields.integer(1), "The number of units of the model's LSTM."
  ),
  'download': tff_files.DOWNLOAD_OPTION,
}


@options.declare(OPTIONS)
def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  num_clients: int,
  num_validation_clients: int,
  min_characters: int,
  sequence_length: int,
  embedding_size: int,
  lstm_size: int,
  download: bool,
) -> Task:
  """Creates the task; `OPTIONS` describes the options.

  The seed is that of the choice of speakers and of initial weights. data_dir is
  the folder of shakespeare.sqlite; None means TFF's cache, ~/.tff.

  Returns:
    The task: x and y int32 [sequence_length], y being x one character ahead;
    metric accuracy, of the next character.
  """
  import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

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
    tensor_names=networks.CHARACTER_LSTM_TENSORS,
  )


def _draw_speakers(
  data: datasets.ClientData, number: int, min_characters: int, seed: int
) -> list[str]:
  """Draws `number` speakers with at least `min_characters` characters."""
  found = [
    speaker
    for speaker in data.client_ids
    if sum(map(len, data.load_client(speaker)[_FEATURE])) >= min_characters
  ]
  if len(found) < number:
    raise errors.InputError(
      f'Task {NAME!r} must have {number} speakers, for num_clients and '
      f'num_validation_clients, got {len(found)} with min_characters = '
      f'{min_characters} or more.'
    )
  stream = datasets.random_generator('shakespeare speakers', seed)
  return [found[i] for i in stream.permutation(len(found))[:number]]


def _create_model(
  vocabulary_size: int, widths: Sequence[int], seed: int
) -> tff.learning.models.FunctionalModel:
  embedding_size, lstm_size = widths
  return networks.create_character_lstm(
    vocabulary_size=vocabulary_size,
    seed=seed,
    embedding_size=embedding_size,
    lstm_size=lstm_size,
  )

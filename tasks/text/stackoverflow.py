# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Questions and answers of Stack Overflow; each client is an author.

TFF's own loader (`tff.simulation.datasets.stackoverflow`) reads the data from
its cache, the file stackoverflow.sqlite in data_dir. TFF splits texts by time:
train holds texts from before 2018, test holds later texts, some by the same
authors. The authors of heldout are in neither. So training clients are TFF's
train authors, validation clients its heldout ones, and test clients its test
authors, with ids that begin with "test/" here.

Texts are words in lower case between spaces, as TFF publishes them.
"""

from fedfish_tff import datasets
from tasks import checks
from tasks import tff_files
from tasks.task import Task
from tasks.text import language

import tensorflow_federated as tff

NAME = 'stackoverflow'
FILE_NAME = 'stackoverflow.sqlite'
# The name of the array of texts.
FEATURE = 'tokens'
_TEST_PREFIX = 'test/'


def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  vocabulary: str | datasets.Vocabulary | None = None,
  vocabulary_size: int = 10_004,
  vocabulary_clients: int = 1000,
  model: str = 'rnn',
  size: str = '6x384',
  activation_dtype: str = 'float32',
  sequence_length: int = 128,
  eval_sequence_length: int = 128,
  cache_megabytes: int = 1024,
  download: bool = False,
) -> Task:
  """Creates the task.

  Args:
    seed: The seed of initial weights.
    data_dir: The folder of stackoverflow.sqlite; None for TFF's cache, ~/.tff.
    vocabulary: A file of launch.train_tokenizer, such as that of a model's
      training corpus, or a vocabulary read from one; None for the most frequent
      words of training clients.
    vocabulary_size: The number of these words, special tokens included.
    vocabulary_clients: The number of training clients, the first by their ids,
      that words are counted over; 0 for all.
    model: rnn (TFF's LSTM) or transformer.
    size: The size of the transformer: tiny, 6x384 or 12x768.
    activation_dtype: The dtype of the transformer's activations: float32 or
      bfloat16.
    sequence_length: The number of tokens per example in training.
    eval_sequence_length: The number of tokens per example in evaluation and
      personalisation.
    cache_megabytes: The budget for keeping tokens in memory, in 2^20 bytes, for
      each of training, validation and test clients.
    download: Whether to download a missing file.

  Returns:
    The task: x and y int32 [tokens], y being x one token ahead; metric
    accuracy, of the next token.

  Raises:
    errors.InputError: If an option is out of range or the data cannot be used.
  """
  checks.check_integer('vocabulary_clients', vocabulary_clients, 0)
  train, held_out, test = load_clients(data_dir, download=download)
  if vocabulary is None:
    counted = train.client_ids[: vocabulary_clients or None]
    tokens = datasets.train_vocabulary(
      language.Texts(train.select(counted), feature=FEATURE),
      kind=datasets.VocabularyKind.WORD,
      size=vocabulary_size,
    )
  else:
    tokens = language.load_vocabulary(vocabulary)
  return language.create_language_task(
    NAME,
    train=train,
    validation=held_out,
    test=test,
    vocabulary=tokens,
    seed=seed,
    model=model,
    size=size,
    activation_dtype=activation_dtype,
    sequence_length=sequence_length,
    eval_sequence_length=eval_sequence_length,
    cache_megabytes=cache_megabytes,
    feature=FEATURE,
  )


def load_clients(
  data_dir: str | None, *, download: bool = False
) -> tuple[datasets.ClientData, datasets.ClientData, datasets.ClientData]:
  """Returns TFF's splits train, heldout and test: clients with `FEATURE`.

  Args:
    data_dir: See `create_task`.
    download: Whether to download a missing file.

  Raises:
    errors.InputError: If the file cannot be used.
  """
  return tuple(
    datasets.TffClientData(source, prefix=prefix)
    for source, prefix in zip(
      tff_files.load_tff_data(
        NAME,
        tff.simulation.datasets.stackoverflow.load_data,
        FILE_NAME,
        splits=('train', 'heldout', 'test'),
        data_dir=data_dir,
        download=download,
      ),
      ('', '', _TEST_PREFIX),
      strict=True,
    )
  )

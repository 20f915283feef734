# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Common parts of tasks on text: from clients' texts to a language model.

Clients are those of a folder of `launch.group_dataset`, or synthetic pages
without one. Training reads long sequences and evaluation short ones, as in the
FedFish paper, so each divides the texts into chunks of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
import functools
import os
import typing
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from tasks import networks
from tasks import options
from tasks.task import Task
from tasks.text import generated_pages

import numpy as np

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff

# The file of a folder's vocabulary, which launch.train_tokenizer writes.
VOCABULARY_FILE = 'vocabulary.json'
# The name of the synthetic data.
GENERATED = 'generated pages'
# The share of synthetic domains for validation, and also for testing.
_GENERATED_HELD_OUT = 0.15
_GENERATED_VOCABULARY_SIZE = 1024
# Prefixes of tasks whose synthetic domains must differ from other tasks'.
_GENERATED_PREFIXES = {'cc_news': 'news'}


def _check_vocabulary(name: str, value: Any) -> None:
  is_path = isinstance(value, (str, os.PathLike))
  if not is_path and not isinstance(value, datasets.Vocabulary):
    raise errors.unexpected(name, value, 'the path of a vocabulary')


def _vocabulary_option(otherwise: str) -> fields.Field:
  """Returns the option `vocabulary`, given the meaning of None."""
  return fields.Field(
    None,
    fields.Optional(str, _check_vocabulary),
    'A file of launch.train_tokenizer, or in Python a vocabulary read from '
    f'one; None for {otherwise}.',
  )


def counted_words_options(size: int) -> dict[str, fields.Field]:
  """Returns the options of a vocabulary of counted words, given its size."""
  return {
    'vocabulary': _vocabulary_option(
      'the most frequent words of training clients'
    ),
    'vocabulary_size': fields.Field(
      size,
      fields.integer(1),
      'The number of these words, special tokens included.',
    ),
    'vocabulary_clients': fields.Field(
      1000,
      fields.integer(0),
      'The number of training clients, the first by their ids, that words are '
      'counted over; 0 for all.',
    ),
  }


def model_options(
  *, model: str, size: str, sequence_length: int
) -> dict[str, fields.Field]:
  """Returns the options of `create_language_task`, given some defaults."""
  return {
    'model': fields.Field(
      model,
      fields.one_of('transformer', 'rnn'),
      "transformer, or rnn for TFF's Stack Overflow LSTM.",
    ),
    'size': fields.Field(
      size,
      fields.one_of('tiny', '6x384', '12x768'),
      'The size of the transformer: tiny (for CPUs), 6x384 or 12x768.',
    ),
    'activation_dtype': fields.Field(
      'float32',
      fields.one_of('float32', 'bfloat16'),
      "The dtype of the transformer's activations: float32, or bfloat16 for "
      'half of the memory.',
      goes_with={'model': ('transformer',)},
    ),
    'sequence_length': fields.Field(
      sequence_length,
      fields.integer(1),
      'The number of tokens per example in training.',
    ),
    'eval_sequence_length': fields.Field(
      128,
      fields.integer(1),
      'The number of tokens per example in evaluation and personalisation.',
    ),
    'cache_megabytes': options.cache_megabytes(1024),
  }


OPTIONS = {
  'vocabulary': _vocabulary_option(
    f'{VOCABULARY_FILE} below --data_dir, or a vocabulary of the synthetic pages'
  ),
  **model_options(model='transformer', size='12x768', sequence_length=1024),
  'num_generated_domains': fields.Field(
    200,
    fields.integer(1),
    'The number of synthetic domains, without --data_dir.',
  ),
}


def create_web_text_task(
  name: str,
  *,
  seed: int,
  data_dir: str | None = None,
  vocabulary: str | datasets.Vocabulary | None,
  model: str,
  size: str,
  activation_dtype: str,
  sequence_length: int,
  eval_sequence_length: int,
  cache_megabytes: int,
  num_generated_domains: int,
) -> Task:
  """Creates a task of web pages by domain; `OPTIONS` describes the options.

  The first argument is the task's name. The seed is that of initial weights,
  and of the synthetic pages if there is no data_dir. data_dir is a folder that
  launch.group_dataset wrote, with the splits train, validation and held_out,
  which is for testing; None means synthetic pages.

  Returns:
    The task: x and y int32 [tokens], y being x one token ahead; metric
    accuracy, of the next token.
  """
  train, validation, test = load_clients(
    name, data_dir, num_generated_domains=num_generated_domains, seed=seed
  )
  if data_dir is None and vocabulary is None:
    tokens = datasets.train_vocabulary(
      Texts(train),
      kind=datasets.VocabularyKind.BPE,
      size=_GENERATED_VOCABULARY_SIZE,
      lowercase=True,
    )
  else:
    tokens = load_vocabulary(
      vocabulary or os.path.join(data_dir, VOCABULARY_FILE), data_dir
    )
  return create_language_task(
    name,
    train=train,
    validation=validation,
    test=test,
    vocabulary=tokens,
    seed=seed,
    model=model,
    size=size,
    activation_dtype=activation_dtype,
    sequence_length=sequence_length,
    eval_sequence_length=eval_sequence_length,
    cache_megabytes=cache_megabytes,
    synthetic=GENERATED if data_dir is None else None,
  )


# Pages of C4, and news articles of CC-News, by web domain. data_dir is a folder
# that launch.group_dataset wrote with --format=c4 or --format=cc_news.
TASKS = {
  name: options.declare(OPTIONS)(functools.partial(create_web_text_task, name))
  for name in ('c4', 'cc_news')
}


def load_clients(
  name: str, data_dir: str | None, *, num_generated_domains: int, seed: int
) -> tuple[datasets.ClientData, datasets.ClientData, datasets.ClientData]:
  """Returns (training, validation, test) clients with an array `text`.

  Args:
    name: The task's name, for messages.
    data_dir: A folder that launch.group_dataset wrote; None for synthetic
      pages.
    num_generated_domains: The number of synthetic domains.
    seed: The seed of the synthetic pages.
  """
  if data_dir is None:
    return _generate_pages(name, num_generated_domains, seed)
  return tuple(
    datasets.GroupedClientData(data_dir, split)
    for split in ('train', 'validation', 'held_out')
  )


def create_language_task(
  name: str,
  *,
  train: datasets.ClientData,
  validation: datasets.ClientData,
  test: datasets.ClientData,
  vocabulary: datasets.Vocabulary,
  seed: int,
  model: str,
  size: str,
  activation_dtype: str,
  sequence_length: int,
  eval_sequence_length: int,
  cache_megabytes: int,
  feature: str = 'text',
  synthetic: str | None = None,
) -> Task:
  """Creates a task of predicting the next token.

  Args:
    name: The name in the registry.
    train: The training clients, with an array `feature` of texts.
    validation: The validation clients, with the same array.
    test: The test clients, with the same array.
    vocabulary: The vocabulary that turns texts into tokens.
    seed: The seed of initial weights.
    model: 'transformer' or 'rnn'.
    size: The size of a transformer, 'tiny', '6x384' or '12x768'.
    activation_dtype: The dtype of a transformer's activations.
    sequence_length: The number of tokens per example in training.
    eval_sequence_length: The number of tokens per example in evaluation and
      personalisation.
    cache_megabytes: The budget for keeping clients in memory.
    feature: The name of the array of texts.
    synthetic: A name for synthetic data; None for real data.
  """

  def chunked(data: datasets.ClientData, length: int) -> datasets.ClientData:
    return datasets.CachedClientData(
      datasets.PreprocessedClientData(
        data,
        datasets.build_chunk_fn(
          vocabulary, sequence_length=length, feature=feature
        ),
      ),
      max_bytes=cache_megabytes * 2**20,
    )

  return Task(
    name=name,
    train=chunked(train, sequence_length),
    validation=chunked(validation, eval_sequence_length),
    test=chunked(test, eval_sequence_length),
    create_model=functools.partial(
      _create_model,
      vocabulary_size=vocabulary.size,
      special_tokens=vocabulary.special_tokens,
      seed=seed,
      model=model,
      size=size,
      activation_dtype=activation_dtype,
    ),
    metric='accuracy',
    higher_is_better=True,
    label_sampler=models.token_label_sampler(
      padding=vocabulary.special_tokens.pad
    ),
    tensor_names=(
      networks.STACKOVERFLOW_RNN_TENSORS
      if model == 'rnn'
      else networks.transformer_tensor_names(
        networks.TRANSFORMER_SIZES[size]['num_layers']
      )
    ),
    # Logits are [examples, tokens, vocabulary].
    eval_batch_size=16,
    transfer_options={
      'vocabulary': vocabulary,
      'eval_sequence_length': eval_sequence_length,
    },
    synthetic=synthetic,
  )


def load_vocabulary(
  path: str | os.PathLike[str] | datasets.Vocabulary,
  data_dir: str | None = None,
) -> datasets.Vocabulary:
  """Reads a vocabulary; the error for a missing file says how to make one.

  Args:
    path: The file, which may begin with ~, or a vocabulary, which is returned.
    data_dir: The folder of the texts that it is for.
  """
  if isinstance(path, datasets.Vocabulary):
    return path
  path = os.path.expanduser(path)
  if data_dir is not None and not os.path.exists(path):
    raise errors.InputError(
      f'There is no vocabulary {path}; make one by python -m '
      f'launch.train_tokenizer --input={data_dir}, or name one by '
      '--config.task.vocabulary.'
    )
  return datasets.load_vocabulary(path)


class Texts:
  """The texts of clients, client by client, for repeated iteration."""

  def __init__(
    self, clients: datasets.ClientData, *, feature: str = 'text'
  ) -> None:
    """Stores the arguments; reads nothing yet.

    Args:
      clients: Clients with an array `feature` of texts.
      feature: The name of the array.
    """
    self._clients = clients
    self._feature = feature

  def __iter__(self) -> Iterator[bytes]:
    for client_id in self._clients.client_ids:
      yield from self._clients.load_client(client_id)[self._feature]


def _create_model(
  *,
  vocabulary_size: int,
  special_tokens: datasets.SpecialTokens,
  seed: int,
  model: str,
  size: str,
  activation_dtype: str,
) -> tff.learning.models.FunctionalModel:
  if model == 'rnn':
    return networks.create_stackoverflow_rnn(
      vocabulary_size=vocabulary_size, special_tokens=special_tokens, seed=seed
    )
  return networks.create_transformer(
    vocabulary_size=vocabulary_size,
    special_tokens=special_tokens,
    seed=seed,
    activation_dtype=activation_dtype,
    **networks.TRANSFORMER_SIZES[size],
  )


def _generate_pages(
  name: str, num_domains: int, seed: int
) -> tuple[datasets.ClientData, datasets.ClientData, datasets.ClientData]:
  """Returns synthetic (training, validation, test) domains."""
  pages = generated_pages.PageGenerator(
    num_domains=num_domains,
    seed=seed,
    prefix=_GENERATED_PREFIXES.get(name, 'site'),
  )
  domains = datasets.InMemoryClientData(
    {
      domain: {
        'text': np.array(
          [page.encode() for page in pages.pages(domain)], object
        )
      }
      for domain in pages.domain_names()
    }
  )
  return datasets.split_clients(
    domains,
    validation_fraction=_GENERATED_HELD_OUT,
    test_fraction=_GENERATED_HELD_OUT,
    seed=seed,
  )

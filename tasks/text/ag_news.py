# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""AG News: classification of news into four classes.

This is the benchmark of Zhang and Emerson (Partial Weight Exchange in Federated
Learning, 2023): a few clients with different class proportions. data_dir holds
the published files train.csv and test.csv (Zhang, Zhao and LeCun 2015,
arXiv:1509.01626), or test.csv alone; without data_dir, num_generated is the
number of synthetic news. The validation part makes the held-out validation
clients, and the whole test set is one test client.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
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
from tasks.text import ag_news_clients
from tasks.text import ag_news_files
from tasks.text import class_sampling
from tasks.text import generated_news
from tasks.text import text_tokens

import numpy as np

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff

NAME = 'ag_news'
# So few synthetic news still give each part some of each class.
_LEAST_GENERATED = 4 * len(ag_news_files.CLASS_NAMES)


def _check_num_generated(name: str, value: Any) -> None:
  fields.integer(0)(name, value)
  if 0 < value < _LEAST_GENERATED:
    raise errors.unexpected(name, value, f'0, or {_LEAST_GENERATED} or more')


_OF_ROBERTA = {'model': ('roberta',)}

OPTIONS = {
  'model': fields.Field(
    'linear',
    fields.one_of('linear', 'cnn', 'roberta'),
    "linear (the mean of the tokens' embeddings, 3 tensors), cnn "
    '(networks.create_text_cnn, 9 tensors) or roberta (tasks.text.roberta).',
  ),
  **ag_news_clients.OPTIONS,
  'test_fraction': fields.Field(
    0.25,
    fields.below_1,
    'The share for testing if there is no separate test set: of test.csv '
    'without train.csv, and of synthetic news.',
  ),
  'max_examples': fields.Field(
    0,
    fields.integer(0),
    'The largest number of examples of the training set, validation included, '
    'with the same share of every class; 0 for all.',
  ),
  'max_test_examples': fields.Field(
    0,
    fields.integer(0),
    'The largest number of examples of the test set; 0 for all.',
  ),
  'sequence_length': fields.Field(
    256,
    fields.integer(1),
    'The number of tokens per text; longer texts are truncated.',
  ),
  'vocabulary_size': fields.Field(
    8192,
    fields.integer(1),
    'The number of token ids of the vocabulary, which is trained on the texts '
    'that clients sample from.',
  ),
  'size': fields.Field(
    'tiny',
    fields.one_of('tiny', 'small', 'base'),
    'The size of roberta with random weights: tiny, small or base.',
    goes_with=_OF_ROBERTA,
  ),
  'dropout': fields.Field(
    None,
    fields.Optional(float, fields.below_1),
    'The dropout rate of roberta; None for that of the checkpoint, or 0 '
    'without one.',
    goes_with=_OF_ROBERTA,
  ),
  'checkpoint': fields.Field(
    None,
    fields.Optional(str, fields.text),
    'The folder of the initial weights and tokens of roberta, which also '
    'determine its size; None for random weights.',
    goes_with=_OF_ROBERTA,
  ),
  'num_generated': fields.Field(
    0,
    _check_num_generated,
    'The number of synthetic news, used without --data_dir; 0 for none.',
  ),
}


@options.declare(OPTIONS)
def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  model: str,
  num_clients: int,
  beta: float,
  client_fraction: float,
  with_replacement: bool,
  pool: str,
  validation_fraction: float,
  test_fraction: float,
  max_examples: int,
  max_test_examples: int,
  sequence_length: int,
  vocabulary_size: int,
  size: str,
  dropout: float | None,
  checkpoint: str | None,
  num_generated: int,
) -> Task:
  """Creates the task; `OPTIONS` describes the options.

  The seed is that of the clients' examples, synthetic news and initial weights.
  data_dir is the folder of train.csv and test.csv, or of test.csv alone; None
  means synthetic news.

  Returns:
    The task: x int32 [sequence_length], y int32; metric accuracy.
  """
  if not isinstance(data_dir, (str, os.PathLike, type(None))):
    raise errors.InputError(
      f'data_dir must be the path of a folder, got {data_dir!r}.'
    )
  if data_dir is None and not num_generated:
    raise errors.InputError(
      f'Task {NAME} must have --data_dir, a folder with '
      f'{ag_news_files.TEST_FILE}, or task.num_generated above 0 for synthetic '
      'news, got neither.'
    )
  train, test = _load(data_dir, test_fraction, num_generated, seed)
  train = _cap(train, max_examples, seed)
  test = _cap(test, max_test_examples, seed)
  clients = ag_news_clients.sample_clients(
    train.labels,
    num_classes=len(ag_news_files.CLASS_NAMES),
    num_clients=num_clients,
    beta=beta,
    client_fraction=client_fraction,
    validation_fraction=validation_fraction,
    with_replacement=with_replacement,
    pool=pool,
    seed=seed,
  )
  known = train.take(clients.training_pool())
  if model == 'roberta':
    # The transformers library takes seconds to import.
    from tasks.text import roberta  # pylint: disable=g-import-not-at-top

    parts = roberta.create_roberta(
      known.texts,
      class_names=ag_news_files.CLASS_NAMES,
      seed=seed,
      sequence_length=sequence_length,
      vocabulary_size=vocabulary_size,
      size=size,
      dropout=dropout,
      checkpoint=checkpoint,
    )
  else:
    parts = _small_model_parts(
      model, known.texts, seed, sequence_length, vocabulary_size
    )
  train_tokens = parts.tokenize(train.texts)
  return Task(
    name=NAME,
    train=_clients_of(train_tokens, train.labels, clients.train),
    validation=_clients_of(train_tokens, train.labels, clients.validation),
    test=datasets.InMemoryClientData(
      {'test': (parts.tokenize(test.texts), test.labels)}
    ),
    create_model=parts.create_model,
    metric='accuracy',
    higher_is_better=True,
    label_sampler=models.categorical_label_sampler(),
    tensor_names=parts.tensor_names,
    synthetic='generated news' if data_dir is None else None,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _ModelParts:
  """A model, its tokenizer and the names of its tensors."""

  tokenize: Callable[[Sequence[str]], np.ndarray]
  create_model: Callable[[], tff.learning.models.FunctionalModel]
  tensor_names: tuple[str, ...]


def _small_model_parts(
  model: str,
  texts: Sequence[str],
  seed: int,
  sequence_length: int,
  vocabulary_size: int,
) -> _ModelParts:
  vocabulary = text_tokens.train_word_pieces(texts, vocabulary_size)
  create, tensor_names = {
    'linear': (
      networks.create_bag_of_tokens_classifier,
      networks.BAG_OF_TOKENS_TENSORS,
    ),
    'cnn': (networks.create_text_cnn, networks.TEXT_CNN_TENSORS),
  }[model]
  return _ModelParts(
    tokenize=functools.partial(
      text_tokens.tokenize, vocabulary, sequence_length=sequence_length
    ),
    create_model=functools.partial(
      create,
      vocabulary_size=vocabulary.size,
      class_names=ag_news_files.CLASS_NAMES,
      seed=seed,
      sequence_length=sequence_length,
    ),
    tensor_names=tensor_names,
  )


def _load(
  data_dir: str | None, test_fraction: float, num_generated: int, seed: int
) -> tuple[ag_news_files.News, ag_news_files.News]:
  """Returns (training, test) news."""
  if data_dir is not None:
    return ag_news_files.load_news(
      data_dir, test_fraction=test_fraction, seed=seed
    )
  return ag_news_files.split_news(
    generated_news.generate_news(num_generated, seed=seed),
    test_fraction=test_fraction,
    seed=seed,
  )


def _cap(
  news: ag_news_files.News, max_examples: int, seed: int
) -> ag_news_files.News:
  """Returns at most `max_examples` news, the same share of every class."""
  if not max_examples or max_examples >= len(news.labels):
    return news
  return news.take(
    class_sampling.sample_evenly(news.labels, max_examples, ('news kept', seed))
  )


def _clients_of(
  tokens: np.ndarray, labels: np.ndarray, clients: Mapping[str, np.ndarray]
) -> datasets.ClientData:
  """Returns clients that look up their examples when they are read.

  Clients share many examples, so copies would take much more memory.
  """
  return datasets.PreprocessedClientData(
    datasets.InMemoryClientData(clients),
    lambda indices: (tokens[indices], labels[indices]),
  )

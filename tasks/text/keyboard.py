# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Next-word suggestions of a keyboard; each client is a user who types.

The task follows Hard et al. (2018, arXiv:1811.03604). data_dir is a folder that
launch.group_dataset wrote, with a split held_out for testing; or the folder of
stackoverflow.sqlite. The authors of its split heldout, who are not in train,
are then alternately for validation and for testing. Without data_dir, texts are
synthetic.

Texts are split into sentences at line ends and after . ! and ?, and sentences
into words in lower case; all other characters are dropped. An example is a
sentence: a begin token, its words, an end token. Words outside the vocabulary
share one token, which is never predicted.
"""

from __future__ import annotations

from collections.abc import Callable
import functools
import os
import re

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from tasks import networks
from tasks import options
from tasks.task import Task
from tasks.text import language
from tasks.text import stackoverflow

import numpy as np

NAME = 'keyboard'
# The single client of centralised training.
CENTRAL_CLIENT = 'all_training_clients'
_END = re.compile(r'\n|[.!?]+(?=\s|$)')
_WORD = re.compile(r"\w+(?:['-]\w+)*")
_FEATURE = 'sentence'


OPTIONS = {
  # With these sizes, the model has 1,412,250 weights.
  **language.counted_words_options(10_000),
  'embedding': fields.Field(
    96, fields.integer(1), "The width of the model's embedding."
  ),
  'units': fields.Field(
    670, fields.integer(1), 'The number of units of its CIFG-LSTM.'
  ),
  'projection': fields.Field(
    True,
    fields.boolean,
    'Whether the LSTM feeds its output back through a projection.',
  ),
  'sentence_length': fields.Field(
    32,
    fields.integer(1),
    'The number of tokens per example; longer sentences continue in another '
    'example.',
  ),
  'central': fields.Field(
    False,
    fields.boolean,
    'Whether one client has all training data, as in centralised training.',
  ),
  'num_generated_users': fields.Field(
    200,
    fields.integer(1),
    'The number of users with synthetic texts, without --data_dir.',
  ),
  'cache_megabytes': options.cache_megabytes(1024),
}


@options.declare(OPTIONS)
def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  vocabulary: str | datasets.Vocabulary | None,
  vocabulary_size: int,
  vocabulary_clients: int,
  embedding: int,
  units: int,
  projection: bool,
  sentence_length: int,
  central: bool,
  num_generated_users: int,
  cache_megabytes: int,
) -> Task:
  """Creates the task; `OPTIONS` describes the options.

  The seed is that of initial weights and of synthetic texts. data_dir is the
  folder of users' texts that the module describes; None means synthetic texts.

  Returns:
    The task: x and y int32 [tokens], y being x one token ahead; metric
    top_1_recall.
  """
  train, validation, test = _load_clients(data_dir, num_generated_users, seed)
  if vocabulary is None:
    counted = train.client_ids[: vocabulary_clients or None]
    tokens = datasets.train_vocabulary(
      language.Texts(train.select(counted), feature=_FEATURE),
      kind=datasets.VocabularyKind.WORD,
      size=vocabulary_size,
    )
  else:
    tokens = language.load_vocabulary(vocabulary)
  special = tokens.special_tokens
  if tokens.size <= len(special):
    raise errors.InputError(
      'Training clients must have texts with words: the vocabulary has only '
      'special tokens.'
    )

  def tokenized(data: datasets.ClientData) -> datasets.ClientData:
    return datasets.CachedClientData(
      datasets.PreprocessedClientData(
        data, _build_sentence_fn(tokens, sentence_length)
      ),
      max_bytes=cache_megabytes * 2**20,
    )

  train = tokenized(train)
  return Task(
    name=NAME,
    train=_pool(train) if central else train,
    validation=tokenized(validation),
    test=tokenized(test),
    create_model=functools.partial(
      networks.create_cifg_lstm,
      vocabulary_size=tokens.size,
      seed=seed,
      embedding_size=embedding,
      lstm_size=units,
      recurrent_projection=projection,
      special_tokens=special,
    ),
    metric='top_1_recall',
    higher_is_better=True,
    label_sampler=models.token_label_sampler(padding=special.pad),
    tensor_names=networks.CIFG_LSTM_TENSORS,
    # Logits are [examples, tokens, vocabulary].
    eval_batch_size=64,
    transfer_options={
      'vocabulary': tokens,
      'sentence_length': sentence_length,
    },
    synthetic=language.GENERATED if data_dir is None else None,
  )


def split_sentences(text: str) -> list[str]:
  """Returns the sentences of a text: words in lower case between spaces.

  Some may have no words. The last one is the unfinished sentence at the end of
  the text, which may be empty.
  """
  plain = text.lower().replace('\N{RIGHT SINGLE QUOTATION MARK}', "'")
  return [' '.join(_WORD.findall(part)) for part in _END.split(plain)]


def _load_clients(
  data_dir: str | None, num_generated_users: int, seed: int
) -> tuple[datasets.ClientData, datasets.ClientData, datasets.ClientData]:
  """Returns (training, validation, test) clients, with texts as sentences."""
  path = os.path.expanduser(data_dir) if data_dir is not None else None
  if path and os.path.exists(os.path.join(path, stackoverflow.FILE_NAME)):
    feature = stackoverflow.FEATURE
    train, held_out, _ = stackoverflow.load_clients(path)
    ids = held_out.client_ids
    parts = train, held_out.select(ids[::2]), held_out.select(ids[1::2])
  else:
    feature = 'text'
    parts = language.load_clients(
      NAME, path, num_generated_domains=num_generated_users, seed=seed
    )

  def to_sentences(examples: datasets.Examples) -> datasets.Examples:
    sentences = [
      sentence.encode()
      for text in examples[feature]
      for sentence in split_sentences(datasets.to_unicode(text))
      if sentence
    ]
    # A user who has typed no word has one sentence without words.
    return {_FEATURE: np.array(sentences or [b''], object)}

  return tuple(
    datasets.PreprocessedClientData(part, to_sentences) for part in parts
  )


def _build_sentence_fn(
  vocabulary: datasets.Vocabulary, sentence_length: int
) -> Callable[[datasets.Examples], datasets.Examples]:
  """Builds a function that turns a client's sentences into rows (x, y)."""

  def to_rows(examples: datasets.Examples) -> datasets.Examples:
    rows = [
      datasets.chunk_documents(
        [vocabulary.encode(sentence)],
        sequence_length=sentence_length,
        special_tokens=vocabulary.special_tokens,
      )
      for sentence in examples[_FEATURE]
    ]
    return tuple(map(np.concatenate, zip(*rows)))

  return to_rows


def _pool(clients: datasets.ClientData) -> datasets.ClientData:
  """Returns a single client with the examples of all clients."""
  examples = map(clients.load_client, clients.client_ids)
  return datasets.InMemoryClientData(
    {CENTRAL_CLIENT: tuple(map(np.concatenate, zip(*examples)))}
  )

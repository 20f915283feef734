# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Federated EMNIST: handwritten characters; each client is a writer.

TFF's own loader (`tff.simulation.datasets.emnist`) reads the data from its
cache, the file emnist_all.sqlite in data_dir. TFF publishes 3,400 writers of 62
classes (digits, upper and lower case letters), or 3,383 of the digits alone.

TFF divides each writer's examples into a training and a test part. This task
needs held-out writers, so `datasets.split_clients` divides the writers: a
training writer has the training part of its examples, a held-out writer has all
of its examples.
"""

from __future__ import annotations

import functools

from fedfish_tff import datasets
from fedfish_tff import fields
from fedfish_tff import models
from tasks import class_labels
from tasks import networks
from tasks import options
from tasks import tff_files
from tasks.images import dealt_clients
from tasks.task import Task

import numpy as np

NAME = 'emnist'
IMAGE_SHAPE = (28, 28, 1)
_FILE_NAME = 'emnist_all.sqlite'

OPTIONS = {
  'model': fields.Field(
    'cnn',
    fields.one_of('cnn', 'dropout_cnn', 'compact_cnn'),
    "cnn (the FedAvg paper's, 1.7 million weights), dropout_cnn (1.2 million) "
    'or compact_cnn (46,000 weights, fast on a CPU).',
  ),
  'only_digits': fields.Field(
    False,
    fields.boolean,
    'Whether to use only the 10 digits instead of 62 classes.',
  ),
  'train_part': fields.Field(
    'train',
    fields.one_of('train', 'all'),
    "The examples of training writers: train (TFF's training part) or all; "
    'held-out writers have all.',
  ),
  'alpha': dealt_clients.ALPHA_OPTION,
  'validation_fraction': fields.Field(
    0.1, fields.below_1, 'The share of writers held out for validation.'
  ),
  'test_fraction': fields.Field(
    0.2, fields.below_1, 'The share of writers held out for testing.'
  ),
  'cache_megabytes': options.cache_megabytes(4096, 'all writers take 2,250'),
  'download': tff_files.DOWNLOAD_OPTION,
}


@options.declare(OPTIONS)
def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  model: str,
  only_digits: bool,
  train_part: str,
  alpha: float | None,
  validation_fraction: float,
  test_fraction: float,
  cache_megabytes: int,
  download: bool,
) -> Task:
  """Creates the task; `OPTIONS` describes the options.

  The seed is that of the held-out writers and of initial weights. data_dir is
  the folder of emnist_all.sqlite; None means TFF's cache, ~/.tff.

  Returns:
    The task: x float32 [28, 28, 1] in [0, 1] with a background of 1, y int32;
    metric accuracy.
  """
  import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

  split = 'digits_only' if only_digits else 'all'
  train_examples, test_examples = map(
    datasets.TffClientData,
    tff_files.load_tff_data(
      NAME,
      functools.partial(tff.simulation.datasets.emnist.load_data, only_digits),
      _FILE_NAME,
      splits=(f'{split}_train', f'{split}_test'),
      data_dir=data_dir,
      download=download,
    ),
  )
  writers = datasets.ConcatenatedClientData([train_examples, test_examples])
  train, validation, test = datasets.split_clients(
    writers,
    validation_fraction=validation_fraction,
    test_fraction=test_fraction,
    seed=seed,
  )
  if train_part == 'train':
    known = set(train_examples.client_ids)
    train = train_examples.select(c for c in train.client_ids if c in known)
  if alpha is not None:
    train = dealt_clients.deal_anew(
      train, label='label', alpha=alpha, seed=seed
    )
  num_classes = 10 if only_digits else 62
  create_model, tensor_names = {
    'cnn': (networks.create_fed_avg_cnn, networks.FED_AVG_CNN_TENSORS),
    'dropout_cnn': (networks.create_dropout_cnn, networks.DROPOUT_CNN_TENSORS),
    'compact_cnn': (networks.create_compact_cnn, networks.COMPACT_CNN_TENSORS),
  }[model]
  return Task(
    name=NAME,
    train=train,
    validation=validation,
    test=test,
    create_model=functools.partial(
      create_model,
      input_shape=IMAGE_SHAPE,
      num_classes=num_classes,
      seed=seed,
    ),
    metric='accuracy',
    higher_is_better=True,
    label_sampler=models.categorical_label_sampler(),
    tensor_names=tensor_names,
    preprocess=functools.partial(_preprocess, num_classes=num_classes),
    cache_bytes=cache_megabytes * 2**20,
  )


def _preprocess(
  examples: datasets.Examples, *, num_classes: int
) -> datasets.Examples:
  label = examples['label']
  class_labels.check_labels('label', label, num_classes)
  return examples['pixels'].reshape(-1, *IMAGE_SHAPE), label.astype(np.int32)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""AG News in four classes, five unlike clients that send a part of a model.

  python -m launch.train --config=launch/configs/ag_news.py \
    --workdir=runs/ag_news_partial --data_dir=DIR

trains a linear classifier of words; DIR holds the data set's train.csv and
test.csv. --config.task.num_generated=4000 in place of --data_dir makes news up.
A variant is a model and a method, such as cnn_fed_avg_partial_client_keeps:

  linear_<method>   a linear classifier of words
  cnn_<method>      a convolutional network
  roberta_<method>  a small RoBERTa, from random weights
  memo_<method>     RoBERTa from the checkpoint in the folder roberta-base, with
                    the optimizer and rates of Zhang and Emerson's memo

launch/configs/exchange.py lists the methods. Fields of the exchange are set on
the command line, too: --config.exchange.share=0.3.

The memo's setting is 5 clients with 75 % of their news each, their classes in
proportions from a Dirichlet distribution of beta 1, 0.5 or 0.25, 4 rounds of
1 epoch, batches of 4, 256 tokens, and AdamW of rate 1e-5 and weight decay 1e-3.
linear and cnn differ from it in the optimizer, which is Adam of rate 3e-3 and
1e-3 without weight decay; roberta, which begins at random, in the rate, 3e-4.

  python -m launch.train \
    --config=launch/configs/ag_news.py:memo_fed_avg_partial \
    --workdir=runs/ag_news_memo --data_dir=DIR

wants the folder roberta-base, as the transformers package saves it, where it is
run; --config.task.checkpoint=FOLDER names another one. Grids over shares are in
launch/configs/ag_news_partial.py.
"""

from collections.abc import Mapping
from typing import Any

from launch.configs import base
from launch.configs import exchange

from ml_collections import config_dict

# How each model is trained, beside the memo's setting.
_MODELS: Mapping[str, Mapping[str, Any]] = {
  'linear': {'client_optimizer': 'adam', 'client_learning_rate': 3e-3},
  'cnn': {'client_optimizer': 'adam', 'client_learning_rate': 1e-3},
  'roberta': {
    'client_optimizer': 'adamw',
    'client_learning_rate': 3e-4,
    'client_weight_decay': 1e-3,
  },
  'memo': {
    'client_optimizer': 'adamw',
    'client_learning_rate': 1e-5,
    'client_weight_decay': 1e-3,
  },
}
MODELS = tuple(_MODELS)
# What tasks have beside those of the other models.
_MEMO_TASK = {'model': 'roberta', 'checkpoint': 'roberta-base'}


def get_config(variant: str = 'linear_fed_avg_partial') -> base.ConfigDict:
  """Returns the config of `<model>_<method>`."""
  model, _, method = variant.partition('_')
  if model not in _MODELS:
    raise ValueError(
      f'there is no variant {variant!r}; expected <model>_<method> with a '
      f'model of {", ".join(_MODELS)}, such as linear_fed_avg_partial'
    )
  fields = dict(_MODELS[model])
  client_optimizer = fields.pop('client_optimizer')
  config = exchange.create_config(
    method,
    task={
      'name': 'ag_news',
      'model': model,
      'num_clients': 5,
      # How unlike the clients' classes are: the smaller, the more.
      'beta': 1.0,
      # The share of the training set that a client subsamples.
      'client_fraction': 0.75,
      'with_replacement': True,
      # Or divided: no example is at two clients.
      'pool': 'whole',
      'validation_fraction': 0.1,
      # Of data without a test set, such as made-up news.
      'test_fraction': 0.25,
      # 0 for all.
      'max_examples': 0,
      'max_test_examples': 0,
      'sequence_length': 256,
      'vocabulary_size': 8192,
      # Of a RoBERTa with random weights: tiny, small or base.
      'size': 'tiny',
      # Of a RoBERTa; None for the checkpoint's own.
      'dropout': config_dict.placeholder(float),
      # The folder of a RoBERTa; None for random weights.
      'checkpoint': config_dict.placeholder(str),
      # Made-up news to use in place of files.
      'num_generated': 0,
      **(_MEMO_TASK if model == 'memo' else {}),
    },
    rounds=4,
    cohort_size=5,
    local_epochs=1,
    batch_size=4,
    evaluate_every=1,
    checkpoint_every=1,
    **fields,
  )
  config.algorithm.client_optimizer = client_optimizer
  return config

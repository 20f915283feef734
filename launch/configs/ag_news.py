# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""AG News with five heterogeneous clients that send a part of the model.

  python -m launch.train --config=launch/configs/ag_news.py \
    --workdir=runs/ag_news_partial --data_dir=DIR

trains a linear classifier of words; DIR holds the data set's train.csv and
test.csv. --config.task.num_generated=4000 instead of --data_dir generates
synthetic news. Variants (launch/configs/base.py) have an axis model:

  linear   a linear classifier of words
  cnn      a convolutional network
  roberta  a small RoBERTa, from random weights
  memo     RoBERTa from the checkpoint in the folder roberta-base, with the
           optimizer and rates of Zhang and Emerson's memo

as in fed_avg,model=cnn,exchange=partial,unsent=client_keeps. Fields of the
exchange can be set on the command line, too: --config.exchange.share=0.3. The
server takes plain steps; neither personalisation nor the barrier is measured.

The memo's setting is 5 clients with 75 % of the news each, with class
proportions from a Dirichlet distribution of beta 1, 0.5 or 0.25, 4 rounds of
1 epoch, batches of 4, 256 tokens, and AdamW of rate 1e-5 and weight decay 1e-3.
linear and cnn differ in the optimizer, which is Adam of rate 3e-3 and 1e-3
without weight decay; roberta, with random initial weights, in the rate, 3e-4.

  python -m launch.train \
    --config=launch/configs/ag_news.py:fed_avg,model=memo,exchange=partial \
    --workdir=runs/ag_news_memo --data_dir=DIR

requires the folder roberta-base, as the transformers package saves it, in the
working folder; --config.task.checkpoint=FOLDER names another one.

  python -m launch.train \
    --config=launch/configs/ag_news.py:fed_avg,model=memo,adapters=lora \
    --workdir=runs/ag_news_lora --data_dir=DIR

trains LoRA's adapters of queries and values, and the classifier, with the rank,
alpha and learning rate (5e-4) of Hu et al. (2021, table 9) for roberta-base;
--config.adapters.rank=4 sets another rank (docs/partial_exchange.md).

A grid that takes about a minute, on synthetic news:

  python -m launch.sweep --config=launch/configs/ag_news.py:smoke \
    --sweep_dir=runs/ag_news_smoke

(on real news with --data_dir). research/partial_exchange has the sweeps of
docs/results_partial_exchange.md and the memo's, and draws scores against the
share.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from launch.configs import base
from launch.configs import sweeps

# Models in the memo's setting, with its optimizer or another one.
_ADAM = {'algorithm.client_optimizer': 'adam'}
_ADAMW = {'algorithm.client_optimizer': 'adamw'}
_MODELS: Mapping[str, Mapping[str, Any]] = {
  'linear': {**_ADAM, 'client_learning_rate': 3e-3, 'task.model': 'linear'},
  'cnn': {**_ADAM, 'client_learning_rate': 1e-3, 'task.model': 'cnn'},
  'roberta': {**_ADAMW, 'client_learning_rate': 3e-4, 'task.model': 'roberta'},
  'memo': {
    **_ADAMW,
    'client_learning_rate': 1e-5,
    'task.model': 'roberta',
    'task.checkpoint': 'roberta-base',
  },
}
# Adapters begin at zero and take larger steps than the weights of a checkpoint.
_ADAPTERS: Mapping[str, Mapping[str, Any]] = {
  'lora': {'client_learning_rate': 5e-4}
}

_SMOKE: Mapping[str, Any] = {
  'rounds': 2,
  'task.num_generated': 1000,
  'task.sequence_length': 32,
  'task.vocabulary_size': 1000,
}


def get_config(
  variant: str = 'fed_avg,model=linear,exchange=partial',
) -> base.ConfigDict:
  """Returns a variant's config; the default model is linear.

  With adapters, the default model is roberta.
  """
  _, chosen = base.parse_variant(variant)
  model = chosen.get('model', 'roberta' if 'adapters' in chosen else 'linear')
  return base.create_config(
    variant if 'model' in chosen else f'{variant},model={model}',
    axes={'model': _MODELS, 'adapters': _ADAPTERS},
    task={'name': 'ag_news'},
    rounds=4,
    cohort_size=5,
    local_epochs=1,
    batch_size=4,
    evaluate_every=1,
    checkpoint_every=1,
    client_learning_rate=3e-3,
    evaluation={'personalization_epochs': 0, 'barrier': False},
    # Only adamw, the optimizer of a RoBERTa, has weight decay.
    **({'client_weight_decay': 1e-3} if model in ('roberta', 'memo') else {}),
  )


def share_sweep(
  variant: str,
  *,
  shares: Sequence[float],
  directions: Sequence[str] = ('largest', 'smallest'),
  betas: Sequence[float],
  seeds: Sequence[int] = sweeps.SEEDS,
  fixed: Mapping[str, Any] | None = None,
) -> tuple[sweeps.Run, ...]:
  """Returns runs over shares and directions, and full exchange to compare.

  Full exchange has no direction, so it runs once.

  Args:
    variant: A variant with an exchange.
    shares: The shares of sent tensors, less than 1.
    directions: The values of `exchange.direction`.
    betas: The values of `task.beta`.
    seeds: The seeds that every setting runs with.
    fixed: The values of fields that are the same in all runs.
  """
  runs = []
  for beta in betas:
    for direction, some in (
      *((direction, shares) for direction in directions),
      (directions[0], (1.0,)),
    ):
      settings = {'task.beta': beta, 'exchange.direction': direction}
      runs += sweeps.grid(
        [variant],
        {'exchange.share': some, 'seed': seeds},
        fixed={**(fixed or {}), **settings},
      )
  return tuple(runs)


sweep = sweeps.choice(
  get_config,
  lambda _: {
    'smoke': lambda: share_sweep(
      'fed_avg,model=linear,exchange=partial',
      shares=(0.5,),
      betas=(1.0, 0.25),
      seeds=(0,),
      fixed=_SMOKE,
    )
  },
)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Sweeps of docs/results_partial_exchange.md, on AG News, and the memo's.

  python -m launch.sweep --config=research/partial_exchange/ag_news.py:linear \
    --sweep_dir=runs/ag_news_linear --data_dir=DIR

DIR holds the data set's train.csv and test.csv; configs are those of
launch/configs/ag_news.py. The sweeps are

  linear, cnn           a linear classifier and a convolutional network: betas
                        1, 0.5 and 0.25, shares 0.1, 0.2, ..., 0.7 and 1, the
                        tensors that have moved furthest and those that have
                        moved least, three seeds: 135 runs
  linear_levels         the linear one at shares 0.3, 0.6 and 1: it has three
                        tensors, so other shares send as many: 45 runs
  linear_client_keeps   the same, but clients keep unsent tensors: 45 runs
  cnn_client_keeps      the same for the network, with all shares: 135 runs
  roberta               a small RoBERTa, with clients that sample from 1,260 of
                        1,400 news (10 % are for validation): beta 1, shares
                        0.3, 0.6 and 1, both directions, three seeds: 15 runs
  roberta_heterogeneous        the same with beta 0.25
  roberta_bytes         sending all against a tenth and three tenths of the
                        weights, and three tenths of the tensors by drift per
                        weight, for comparison at equal bytes: beta 1, 12
                        rounds, three seeds: 12 runs
  roberta_client_keeps  both betas, and clients keep unsent tensors: 30 runs
  memo                  the memo's grid on RoBERTa from the folder roberta-base,
                        or that of --config.task.checkpoint=FOLDER: its betas
                        and shares, the tensors that have moved furthest,
                        clients keep unsent tensors: 72 runs

The RoBERTa of the sweeps has random weights, or those that
research.partial_exchange.pretrain_roberta has learned from other news:
--config.task.checkpoint=FOLDER.
"""

from collections.abc import Mapping
import functools
from typing import Any

from launch.configs import ag_news
from launch.configs import sweeps

# The memo's shares of sent tensors, and concentrations of clients' classes.
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
_BETAS = (1.0, 0.5, 0.25)
_CLIENT_KEEPS = ',unsent=client_keeps'
# Nine tenths of the texts have no more than 64 tokens.
_SHORT: Mapping[str, Any] = {
  'task.sequence_length': 64,
  'task.vocabulary_size': 4096,
}
# These values let 15 runs take less than half an hour on two cores.
_FEW = {'task.max_examples': 1400, 'task.sequence_length': 48}
_LEVELS = {'shares': (0.3, 0.6), 'fixed': _SHORT}
_ROBERTA = {'shares': (0.3, 0.6), 'fixed': {**_SHORT, **_FEW}}
# The model, the rule for unsent tensors and the other arguments of each sweep.
_SWEEPS: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
  'linear': ('linear', '', {'fixed': _SHORT}),
  'linear_levels': ('linear', '', _LEVELS),
  'linear_client_keeps': ('linear', _CLIENT_KEEPS, _LEVELS),
  'cnn': ('cnn', '', {'fixed': _SHORT}),
  'cnn_client_keeps': ('cnn', _CLIENT_KEEPS, {'fixed': _SHORT}),
  'roberta': ('roberta', '', {**_ROBERTA, 'betas': (1.0,)}),
  'roberta_heterogeneous': ('roberta', '', {**_ROBERTA, 'betas': (0.25,)}),
  'roberta_client_keeps': (
    'roberta',
    _CLIENT_KEEPS,
    {**_ROBERTA, 'betas': (1.0, 0.25)},
  ),
  'memo': ('memo', _CLIENT_KEEPS, {'directions': ('largest',)}),
}

get_config = ag_news.get_config


def bytes_sweep() -> tuple[sweeps.Run, ...]:
  """Returns runs that send all, or fewer bytes per round, for 12 rounds."""
  return tuple(
    run
    for exchange in (
      {'share': 1.0},
      {'share': 0.3, 'normalize': True},
      {'share': 0.3, 'selection': 'coordinates'},
      {'share': 0.1, 'selection': 'coordinates'},
    )
    for run in sweeps.grid(
      ['fed_avg,model=roberta,exchange=partial'],
      {'seed': sweeps.SEEDS},
      fixed={
        **_ROBERTA['fixed'],
        'rounds': 12,
        **{f'exchange.{name}': value for name, value in exchange.items()},
      },
    )
  )


sweep = sweeps.choice(
  get_config,
  lambda _: {
    'roberta_bytes': bytes_sweep,
    **{
      name: functools.partial(
        ag_news.share_sweep,
        f'fed_avg,model={model},exchange=partial{unsent}',
        **{'shares': _SHARES, 'betas': _BETAS, **arguments},
      )
      for name, (model, unsent, arguments) in _SWEEPS.items()
    },
  },
)

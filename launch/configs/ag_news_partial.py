# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Sweeps over the share of tensors that clients send, on AG News.

A grid that takes about a minute, on made-up news, with its figures:

  python -m launch.sweep --config=launch/configs/ag_news_partial.py:smoke \
    --workdir=runs/ag_news_smoke

(on real ones with --data_dir). The others want the data set's folder, with
train.csv and test.csv:

  python -m launch.sweep --config=launch/configs/ag_news_partial.py:linear \
    --workdir=runs/ag_news_linear --data_dir=DIR

  linear, cnn           a linear classifier and a convolutional network: betas
                        1, 0.5 and 0.25, shares 0.1, 0.2, ..., 0.7 and 1, the
                        tensors that have moved furthest and those that have
                        moved least, three seeds: 135 runs
  linear_levels         the linear one at shares 0.3, 0.6 and 1: it has three
                        tensors, and other shares send as many: 45 runs
  linear_client_keeps   the same, but clients keep what nobody has sent: 45 runs
  cnn_client_keeps      the network likewise, with all shares: 135 runs
  roberta               a small RoBERTa, whose clients sample from 1,260 of
                        1,400 news (10 % are for validation): beta 1, shares
                        0.3, 0.6 and 1, both directions, three seeds: 15 runs
  roberta_unlike        the same with beta 0.25
  roberta_client_keeps  both betas, and clients keep what nobody has sent: 30
                        runs
  memo                  the memo's grid on RoBERTa from the folder roberta-base,
                        or that of --config.task.checkpoint=FOLDER: its betas
                        and shares, the tensors that have moved furthest,
                        clients keep what nobody has sent: 72 runs

The folder then holds table.md, and in plots/ accuracy and the classes' F1
against the share, a panel for each beta.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import functools
from typing import Any

from launch.configs import ag_news
from launch.configs import base
from launch.configs import exchange
from launch.configs import sweeps

_SMOKE: Mapping[str, Any] = {
  'rounds': 2,
  'task.num_generated': 1000,
  'task.sequence_length': 32,
  'task.vocabulary_size': 1000,
}
# Nine tenths of the texts have no more than 64 tokens.
_SHORT: Mapping[str, Any] = {
  'task.sequence_length': 64,
  'task.vocabulary_size': 4096,
}
# So that 15 runs take less than half an hour on two cores.
_FEW = {'task.max_examples': 1400, 'task.sequence_length': 48}


def get_config(variant: str = 'linear_fed_avg_partial') -> base.ConfigDict:
  """Returns the config of a variant of launch/configs/ag_news.py."""
  return ag_news.get_config(variant)


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep, see above."""
  return sweeps.select(
    name,
    {
      'linear': functools.partial(
        exchange.share_sweep, 'linear_fed_avg_partial', fixed=_SHORT
      ),
      **{
        name: functools.partial(
          exchange.share_sweep,
          f'linear_fed_avg_partial{suffix}',
          shares=(0.3, 0.6),
          fixed=_SHORT,
        )
        for name, suffix in (
          ('linear_levels', ''),
          ('linear_client_keeps', '_client_keeps'),
        )
      },
      **{
        f'cnn{suffix}': functools.partial(
          exchange.share_sweep, f'cnn_fed_avg_partial{suffix}', fixed=_SHORT
        )
        for suffix in ('', '_client_keeps')
      },
      **{
        name: functools.partial(
          exchange.share_sweep,
          f'roberta_fed_avg_partial{suffix}',
          shares=(0.3, 0.6),
          betas=betas,
          fixed={**_SHORT, **_FEW},
        )
        for name, suffix, betas in (
          ('roberta', '', (1.0,)),
          ('roberta_unlike', '', (0.25,)),
          ('roberta_client_keeps', '_client_keeps', (1.0, 0.25)),
        )
      },
      'memo': functools.partial(
        exchange.share_sweep,
        'memo_fed_avg_partial_client_keeps',
        directions=('largest',),
      ),
      'smoke': functools.partial(
        exchange.share_sweep,
        'linear_fed_avg_partial',
        shares=(0.5,),
        betas=(1.0, 0.25),
        seeds=(0,),
        fixed=_SMOKE,
      ),
    },
  )

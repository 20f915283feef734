# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""FedAvg and FedFish compared on news articles, of a size for a laptop.

  python -m launch.group_dataset --format=cc_news --input='news/*.jsonl.gz' \
    --key=host --validation_fraction=0.03 --held_out_fraction=0.04 \
    --output_dir=runs/news
  python -m launch.train_tokenizer --input=runs/news --vocabulary_size=2048
  python -m launch.sweep --config=launch/configs/cc_news_results.py:fixed_compute \
    --sweep_dir=runs/cc_news_fixed_compute --data_dir=runs/news

It is c4_results.py with half of its rounds, 256 local epochs in total, since news
sites have more text, and with the learning rates that were the best on C4. What
came out, and how the models do on other corpora, is in docs/results.md. See
cc_news.py for the size of the paper.
"""

from collections.abc import Sequence

from launch.configs import base
from launch.configs import cc_news
from launch.configs import language
from launch.configs import sweeps

# (clients', server's) by local epochs; FedAvg and FedFish had the same.
_C4_RATES = {1: (0.1, 0.005), 16: (0.01, 0.01)}


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  config = language.shorten(cc_news.get_config(f'tiny_{variant}'))
  config.rounds = 16
  return config


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: one of `sweeps.ready_sweeps`."""
  ready = language.comparison_sweeps(get_config)
  return sweeps.select(
    name,
    {
      **ready,
      'fixed_compute': lambda: _with_c4_rates(ready['fixed_compute']()),
    },
  )


def _with_c4_rates(runs: Sequence[sweeps.Run]) -> tuple[sweeps.Run, ...]:
  tuned = []
  for run in runs:
    client, server = _C4_RATES[run.overrides['local_epochs']]
    rates = {'client_learning_rate': client, 'server_learning_rate': server}
    tuned.append(sweeps.Run(run.variant, {**run.overrides, **rates}))
  return tuple(tuned)

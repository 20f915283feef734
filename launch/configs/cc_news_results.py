# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""FedAvg and FedFish compared on news articles, of a size for a laptop.

  python -m launch.group_dataset --format=cc_news --input='news/*.jsonl.gz' \
    --key=host --validation_fraction=0.1 --held_out_fraction=0.25 \
    --output_dir=runs/news
  python -m launch.train_tokenizer --input=runs/news --vocabulary_size=2048
  python -m launch.sweep --config=launch/configs/cc_news_results.py:fixed_compute \
    --sweep_dir=runs/cc_news_fixed_compute --tuned_by=runs/c4_tuning \
    --data_dir=runs/news

where runs/c4_tuning is of c4_results.py: the rates are those of C4.

It is the variant tiny of cc_news.py with sequences of 128 tokens, as the paper
has them in evaluation, and few rounds: 512 local epochs in total, 1 or 16 of
them a round. Plain steps at the server learn next to nothing in so few rounds,
so it has Adam. What came out, and how the models do on other corpora, is in
docs/results.md. See cc_news.py for the size of the paper.
"""

from collections.abc import Sequence

from launch.configs import base
from launch.configs import cc_news
from launch.configs import language
from launch.configs import sweeps


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return language.shorten(cc_news.get_config(f'tiny_{variant}'))


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: one of `sweeps.ready_sweeps`."""
  return sweeps.select(name, language.comparison_sweeps(get_config))

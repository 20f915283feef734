# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""A language model on CC-News: a client is a news domain.

  python -m launch.train --config=launch/configs/cc_news.py:fed_fish \
    --workdir=runs/cc_news_fed_fish --data_dir=path/to/grouped

The fields are those of table 2 of Dhawan et al. (2024, arXiv:2311.10291)
for C4; the paper has CC-News as a target of transfer.
path/to/grouped is a folder of clients with a vocabulary, made once:

  python -m launch.group_dataset --format=cc_news --input='cc_news/*.jsonl' \
    --key=host --validation_fraction=0.02 --held_out_fraction=0.1 \
    --output_dir=path/to/grouped
  python -m launch.train_tokenizer --input=path/to/grouped

Variants: see launch/configs/base.py. A local epoch of a round has up to 131,072
tokens, or 10^14 floating-point operations: a matter for GPUs.

Variants tiny and tiny_<variant> have a model of two layers and sequences of 64
tokens, and run anywhere in minutes; without --data_dir on made-up pages, which
show how it goes and nothing about real text:

  python -m launch.train --config=launch/configs/cc_news.py:tiny \
    --workdir=runs/cc_news_tiny
"""

from collections.abc import Sequence

from launch.configs import base
from launch.configs import language
from launch.configs import sweeps


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return language.create_web_config('cc_news', variant)


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: one of `sweeps.ready_sweeps`."""
  return sweeps.select(name, sweeps.ready_sweeps(get_config))

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""A language model on C4 as in the FedFish paper: a client is a web domain.

  python -m launch.train --config=launch/configs/c4.py:fed_fish \
    --workdir=runs/c4_fed_fish --data_dir=path/to/grouped

The fields are those of table 2 of Dhawan et al. (2024, arXiv:2311.10291);
the paper names 1 and 16 local epochs, and its model only by its kind.
path/to/grouped is a folder of clients with a vocabulary, made once:

  python -m launch.group_dataset --format=c4 --input='c4/en/*.json.gz' \
    --key=host --validation_fraction=0.02 --held_out_fraction=0.1 \
    --output_dir=path/to/grouped
  python -m launch.train_tokenizer --input=path/to/grouped

Variants: see launch/configs/base.py. A local epoch of a round has up to 131,072
tokens, or 10^14 floating-point operations: a matter for GPUs.

Variants tiny and tiny_<variant> have a model of two layers and sequences of 64
tokens, and run anywhere in minutes; without --data_dir on made-up pages, which
show how it goes and nothing about real text:

  python -m launch.train --config=launch/configs/c4.py:tiny \
    --workdir=runs/c4_tiny
  python -m launch.evaluate --workdir=runs/c4_tiny --targets=c4,cc_news

With seed 0 expect an accuracy of 0.107 on made-up test domains, after about a
minute, and of 0.106 and 0.105 on those of the two targets that are large enough.
"""

from collections.abc import Sequence

from launch.configs import base
from launch.configs import language
from launch.configs import sweeps


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return language.create_web_config('c4', variant)


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: one of `sweeps.ready_sweeps`."""
  return sweeps.select(name, sweeps.ready_sweeps(get_config))

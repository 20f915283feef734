# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""A language model on CC-News; clients are news domains.

  python -m launch.train --config=launch/configs/cc_news.py:fed_fish \
    --workdir=runs/cc_news_fed_fish --data_dir=path/to/grouped

The fields are those of table 2 of Dhawan et al. (2024, arXiv:2311.10291)
for C4; in the paper, CC-News is a target of transfer.
path/to/grouped is a folder of clients with a vocabulary, made once:

  python -m launch.group_dataset --format=cc_news --input='cc_news/*.jsonl' \
    --key=host --validation_fraction=0.02 --held_out_fraction=0.1 \
    --output_dir=path/to/grouped
  python -m launch.train_tokenizer --input=path/to/grouped

Variants: see launch/configs/base.py. A local epoch of a round has up to 131,072
tokens, or 10^14 floating-point operations, so it needs GPUs.

size=tiny is a model of two layers with sequences of 64 tokens, which runs
anywhere in minutes. Without --data_dir, it runs on synthetic pages, which serve
as a demonstration and say nothing about real text:

  python -m launch.train --config=launch/configs/cc_news.py:fed_fish,size=tiny \
    --workdir=runs/cc_news_tiny

size=results is that of c4.py with half of its rounds, 256 local epochs in
total, because news sites have more text, and with the best learning rates on
C4. docs/results.md has the results, also on other corpora, by

  python -m launch.group_dataset --format=cc_news --input='news/*.jsonl.gz' \
    --key=host --validation_fraction=0.03 --held_out_fraction=0.04 \
    --output_dir=runs/news
  python -m launch.train_tokenizer --input=runs/news --vocabulary_size=2048
  python -m launch.sweep --sweep_dir=runs/cc_news_fixed_compute \
    --config=launch/configs/cc_news.py:fixed_compute,size=results \
    --data_dir=runs/news
"""

from collections.abc import Sequence

from launch.configs import base
from launch.configs import language
from launch.configs import sweeps

_SIZES = {'tiny': language.TINY, 'results': {**language.RESULTS, 'rounds': 16}}
# The learning rates (client, server) that tuning chose on C4, by local epochs.
_C4_RATES = {1: (0.1, 0.005), 16: (0.01, 0.01)}


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return language.create_config(
    variant,
    axes={'size': _SIZES},
    task={
      'name': 'cc_news',
      # Or rnn, TFF's recurrent baseline for Stack Overflow.
      'model': 'transformer',
      # Or 6x384, tiny.
      'size': '12x768',
      'sequence_length': 1024,
      'eval_sequence_length': 128,
      # For synthetic pages.
      'num_generated_domains': 200,
    },
    rounds=10_000,
    cohort_size=8,
    local_epochs=1,
    batch_size=4,
    max_examples_per_client=16,
    client_learning_rate=1e-3,
    server_learning_rate=1e-2,
    evaluate_every=500,
    checkpoint_every=100,
    evaluation={'personalization_epochs': 4},
  )


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: one of `sweeps.ready_sweeps`.

  With size=results, of `language.comparison_sweeps`.
  """
  if 'size=results' not in name:
    return sweeps.select(name, get_config, sweeps.ready_sweeps)
  runs = sweeps.select(name, get_config, language.comparison_sweeps)
  return _with_c4_rates(runs) if name.startswith('fixed_compute,') else runs


def _with_c4_rates(runs: Sequence[sweeps.Run]) -> tuple[sweeps.Run, ...]:
  tuned = []
  for run in runs:
    client, server = _C4_RATES[run.overrides['local_epochs']]
    rates = {'client_learning_rate': client, 'server_learning_rate': server}
    tuned.append(sweeps.Run(run.variant, {**run.overrides, **rates}))
  return tuple(tuned)

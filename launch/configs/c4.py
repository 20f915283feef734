# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""A language model on C4 as in the FedFish paper; clients are web domains.

  python -m launch.train --config=launch/configs/c4.py:fed_fish \
    --workdir=runs/c4_fed_fish --data_dir=path/to/grouped

The fields are those of table 2 of Dhawan et al. (2024, arXiv:2311.10291);
the paper has 1 and 16 local epochs, and gives only the kind of its model.
path/to/grouped is a folder of clients with a vocabulary, made once:

  python -m launch.group_dataset --format=c4 --input='c4/en/*.json.gz' \
    --key=host --validation_fraction=0.02 --held_out_fraction=0.1 \
    --output_dir=path/to/grouped
  python -m launch.train_tokenizer --input=path/to/grouped

Variants: see launch/configs/base.py. A local epoch of a round has up to 131,072
tokens, or 10^14 floating-point operations, so it needs GPUs.

size=tiny is a model of two layers with sequences of 64 tokens, which runs
anywhere in minutes. Without --data_dir, it runs on synthetic pages, which serve
as a demonstration and say nothing about real text:

  python -m launch.train --config=launch/configs/c4.py:fed_fish,size=tiny \
    --workdir=runs/c4_tiny
  python -m launch.evaluate --workdir=runs/c4_tiny --targets=c4,cc_news

With seed 0, expect an accuracy of 0.107 on synthetic test domains, after about
a minute, and of 0.106 and 0.105 on those of the two targets that are large
enough.

size=results is tiny with sequences of 128 tokens, as in the paper's evaluation,
and few rounds: 512 local epochs in total, 1 or 16 of them per round. The server
uses Adam, because plain steps learn next to nothing in so few rounds.
docs/results.md has the results, also on other corpora, by

  python -m launch.group_dataset --format=c4 --input='c4/*.json.gz' \
    --key=host --keep_www --validation_fraction=0.1 --held_out_fraction=0.25 \
    --output_dir=runs/c4
  python -m launch.train_tokenizer --input=runs/c4 --vocabulary_size=2048
  python -m launch.sweep --sweep_dir=runs/c4_tuning --data_dir=runs/c4 \
    --config=launch/configs/c4.py:fixed_compute_tuning,size=results \
    --config.evaluation.barrier=False \
    --config.evaluation.personalization_epochs=0
  python -m launch.sweep --sweep_dir=runs/c4_fixed_compute \
    --config=launch/configs/c4.py:fixed_compute,size=results \
    --tuned_by=runs/c4_tuning --tuned_metric=loss --data_dir=runs/c4
"""

from collections.abc import Sequence

from launch.configs import base
from launch.configs import language
from launch.configs import sweeps

_SIZES = {'tiny': language.TINY, 'results': language.RESULTS}


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return language.create_config(
    variant,
    axes={'size': _SIZES},
    task={
      'name': 'c4',
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
  if 'size=results' in name:
    return sweeps.select(name, get_config, language.comparison_sweeps)
  return sweeps.select(name, get_config, sweeps.ready_sweeps)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""FedAvg and FedFish compared on pages of C4, of a size for a laptop.

  python -m launch.group_dataset --format=c4 --input='c4/*.json.gz' \
    --key=host --keep_www --validation_fraction=0.1 --held_out_fraction=0.25 \
    --output_dir=runs/c4
  python -m launch.train_tokenizer --input=runs/c4 --vocabulary_size=2048
  python -m launch.sweep \
    --config=launch/configs/c4_results.py:fixed_compute_tuning \
    --sweep_dir=runs/c4_tuning --data_dir=runs/c4 \
    --config.evaluation.barrier=False \
    --config.evaluation.personalization_epochs=0
  python -m launch.sweep --config=launch/configs/c4_results.py:fixed_compute \
    --sweep_dir=runs/c4_fixed_compute --tuned_by=runs/c4_tuning \
    --tuned_metric=loss --data_dir=runs/c4

It is the variant tiny of c4.py with sequences of 128 tokens, as the paper
has them in evaluation, and few rounds: 512 local epochs in total, 1 or 16 of
them a round. Plain steps at the server learn next to nothing in so few rounds,
so it has Adam. What came out, and how the models do on other corpora, is in
docs/results.md. See c4.py for the size of the paper.
"""

from collections.abc import Sequence

from launch.configs import base
from launch.configs import c4
from launch.configs import language
from launch.configs import sweeps


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return language.shorten(c4.get_config(f'tiny_{variant}'))


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: one of `sweeps.ready_sweeps`."""
  return sweeps.select(name, language.comparison_sweeps(get_config))

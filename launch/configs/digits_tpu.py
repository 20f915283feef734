# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Handwritten digits on a TPU VM; docs/tpu.md says how to set one up.

  python -m launch.train --config=launch/configs/digits_tpu.py:fed_fish \
    --workdir=runs/digits_tpu --devices=TPU

The clients and the model are those of digits.py. XLA compiles client work once
for each size of a batch, so every client uses 16 of its examples in a round
(a fresh choice each round), which is one batch of 16: clients with fewer are the
only ones that cost a compilation. Variants as in digits.py.

It has run on a CPU compiled by XLA (--devices=CPU --xla), not yet on a TPU, so
no time is promised. On the CPU expect, with seed 0, an accuracy of 0.894 on
the 8 test clients.
"""

from launch.configs import base
from launch.configs import digits


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  config = digits.get_config(variant)
  config.batch_size = 16
  config.max_examples_per_client = 16
  return config

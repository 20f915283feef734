# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Compiles a round's client work for an accelerator, and prints its cost.

  python -m launch.compile --config=launch/configs/digits.py:fed_fish

The TPU chips of --topology need not be present, but `make accelerator
PLATFORM=tpu` must have installed the compiler; --platform=cpu compiles for this
machine. Large programs take minutes: a ResNet-18 or a transformer takes ten on
a laptop.

The output says whether and how fast that succeeds, and has the results of JAX's
memory_analysis() and cost_analysis(): memory per chip, operations and bytes
accessed. JAX counts the body of each loop once, regardless of the number of
iterations, so the cost is roughly that of one batch of one client
(docs/tpu.md).

Nothing is trained. The data is read as in launch.train, because the clients of
the first round determine the shapes.
"""

from collections.abc import Sequence

from launch import cli
from launch import json_config
from launch import path_flags
from launch import trust_flags
from launch.methods import config_checks

from absl import flags

_CONFIG = json_config.define_flag(
  'The experiment, as for launch.train: a file of launch/configs, with :variant '
  'at its end, or the config.json of a run. A .py file is a program and is run: '
  'use those that you trust. --config.<field>=<value> changes a field.'
)
_DATA_DIR = path_flags.define(
  'data_dir',
  None,
  'The folder of the data, for tasks that read files.',
  takes_urls=True,
)
_PLATFORM = flags.DEFINE_enum(
  'platform', 'tpu', ['tpu', 'cpu'], 'The kind of device.'
)
_TOPOLOGY = flags.DEFINE_string(
  'topology',
  'v5e:2x2',
  'For --platform=tpu: the kind and arrangement of chips, such as v5e:2x2, '
  'v4:2x2x1 or v6e:2x2.',
)
_TRUST = trust_flags.define()


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  cli.check_given(_CONFIG)
  trust = _TRUST(is_json=json_config.is_data())
  config = config_checks.read(_CONFIG.value.to_dict(), trust=trust)
  # Imported late: TFF takes seconds, and all above answers at once.
  cli.report_import()
  from launch.runs import compiled_round  # pylint: disable=g-import-not-at-top

  compiled_round.print_costs(
    config,
    platform=_PLATFORM.value,
    topology=_TOPOLOGY.value,
    data_dir=_DATA_DIR.value,
  )


if __name__ == '__main__':
  cli.run(main)

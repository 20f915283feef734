# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""FedFish beside FedAvg on C4 and news: the sweeps of docs/results_fedfish.md.

  python -m launch.sweep --data_dir=path/to/grouped \
    --config=research/fedfish/c4.py:fixed_rounds,size=results \
    --sweep_dir=runs/c4_fixed_rounds

They are the ready sweeps of launch.sweep with Adam at the server, because plain
steps learn next to nothing in so few rounds. fixed_compute has 512 local epochs
in total, 1 or 16 of them per round; with corpus=cc_news, the sweeps have half of
the rounds and the best learning rates on C4. Configs are those of
launch/configs/c4.py.
"""

from collections.abc import Iterator
import functools

from launch.configs import base
from launch.configs import c4
from launch.configs import sweeps
from research.fedfish import images

# The paper's local epochs for text.
_LOCAL_EPOCHS = (1, 16)
# The learning rates of clients and server that tuning chose on C4, by sweep and
# by method and local epochs.
_C4_RATES = {
  'fixed_compute': {
    ('fed_avg', 1): (0.1, 0.005),
    ('fed_fish', 1): (0.1, 0.005),
    ('fed_avg', 16): (0.01, 0.01),
    ('fed_fish', 16): (0.01, 0.01),
  },
  'fixed_rounds': {
    ('fed_avg', 1): (0.01, 0.01),
    ('fed_fish', 1): (0.05, 0.01),
    ('fed_avg', 16): (0.01, 0.01),
    ('fed_fish', 16): (0.01, 0.01),
  },
}

get_config = c4.get_config


def create_sweeps(
  get_config: sweeps.GetConfig,
) -> dict[str, sweeps.MakeRuns]:
  """Returns `sweeps.ready_sweeps` of FedAdam and FedFish with Adam, by name.

  Both have the paper's local epochs for text, TFF's values of Adam, and on
  CC-News the rates of C4.
  """
  ready = sweeps.ready_sweeps(
    get_config,
    methods=('fed_avg,server=adam', 'fed_fish,server=adam'),
    local_epochs=_LOCAL_EPOCHS,
  )
  is_tuned = get_config('fed_avg').task.name == 'c4'

  def complete(name: str) -> Iterator[sweeps.Run]:
    for run in ready[name]():
      fields = {**run.overrides}
      if name != 'variants':
        fields |= images.TFF_ADAM
      if not is_tuned and name in _C4_RATES:
        method, _ = base.parse_variant(run.variant)
        client, server = _C4_RATES[name][method, fields['local_epochs']]
        fields['client_learning_rate'] = client
        fields['server_learning_rate'] = server
      yield sweeps.Run(run.variant, fields)

  return {name: functools.partial(complete, name) for name in ready}


sweep = sweeps.choice(get_config, create_sweeps)

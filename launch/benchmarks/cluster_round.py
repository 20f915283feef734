# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a round on many hosts takes on paper, from what was measured on one."""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Constants:
  """What a round is made of.

  Attributes:
    client_seconds: One client on one core.
    fixed_seconds: A round without clients.
    split_seconds: To send, await and merge one actor's part.
    server_bytes: To each host.
    partial_bytes: Back from each actor.
  """

  client_seconds: float
  fixed_seconds: float
  split_seconds: float
  server_bytes: float
  partial_bytes: float


def round_seconds(
  constants: Constants,
  *,
  hosts: int,
  cores: int,
  actors: int,
  clients: int,
  link: float,
) -> dict[str, float]:
  """Returns the parts of a round on a cluster, in seconds, by their names.

  Args:
    constants: As measured.
    hosts: Beside the one from which rounds are run.
    cores: Of each.
    actors: On each, which share its cores.
    clients: In the cohort.
    link: Of the host from which rounds are run, each way, in bytes a second.
  """
  splits = min(hosts * actors, clients)
  return {
    'client work': constants.client_seconds
    * -(-clients // min(hosts * cores, clients)),
    'link out': constants.server_bytes * min(hosts, splits) / link,
    'link back': constants.partial_bytes * splits / link,
    'merging': constants.split_seconds * splits,
    'fixed': constants.fixed_seconds,
  }

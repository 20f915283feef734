# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Measures rounds on Ray's actors, and says what more machines would come to.

  python -m launch.benchmarks.scale_out

Prints two tables. The first has rounds of FedAvg in process, on all cores, and on a
local Ray cluster with one actor and with two, in turns: a CNN, and softmax
regression with 1,000 clients and with 10,000 clients of a grouped folder. All
clients lie in such folders, of made-up data, that are removed at the end; actors
read their clients themselves.

The second is on paper: rounds an hour of the CNN, for 10,000 clients a round on 1 to
1,000 hosts, from the constants measured here and the link of the host from which
rounds are run (--link_gbits). It counts the server's values to each host, a sum of
each actor back, and their merging as parts that follow one another, and names the
largest. `make ray` installs Ray.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import os
import pathlib
import tempfile

from fedfish_tff import datasets
from fedfish_tff.execution import cohort_context
from fedfish_tff.execution import threads
from fedfish_tff.execution.ray import ray_context
from launch import cli
from launch.benchmarks import cluster_round
from launch.benchmarks import report
from launch.benchmarks import round_time
from launch.benchmarks import rounds

from absl import flags
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_SPLIT = 'train'
_BATCH_SIZE = 10
# Of the model on paper.
_HOSTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
_COHORT = 10_000
_MANY_SPLITS = 16


@dataclasses.dataclass(frozen=True)
class Case:
  """What is measured.

  Attributes:
    network: Of `rounds.NETWORKS`.
    clients: In the cohort, and in the folder.
    examples: Of each client.
  """

  network: str
  clients: int
  examples: int


CASES: Mapping[str, Case] = {
  'cnn': Case('cnn', 16, 100),
  'compact_cnn': Case('compact_cnn', 64, 100),
  'softmax_1000': Case('softmax', 1000, 20),
  'softmax_10000': Case('softmax', 10_000, 5),
}

_CASES = flags.DEFINE_multi_enum(
  'cases',
  list(CASES),
  list(CASES),
  'What to measure; repeat the flag for several. The first is on paper, too.',
)
_CLIENTS = flags.DEFINE_integer(
  'clients', None, "In place of a case's own number.", lower_bound=1
)
_REPEATS = flags.DEFINE_integer(
  'repeats', 7, 'Measured rounds of each; medians are shown.', lower_bound=1
)
_CORES_PER_HOST = flags.DEFINE_integer(
  'cores_per_host', 16, 'On paper: cores of each host.'
)
_LINK_GBITS = flags.DEFINE_float(
  'link_gbits', 10.0, 'On paper: of the host from which rounds are run.'
)


def load_clients(folder: str) -> datasets.ClientData:
  """Returns a folder's clients, as actors read them.

  Args:
    folder: What `_write` has written.
  """
  return datasets.CachedClientData(
    datasets.PreprocessedClientData(
      datasets.GroupedClientData(folder, _SPLIT, features=('x', 'y')),
      # As models take examples.
      lambda examples: (examples['x'], examples['y']),
    ),
    max_bytes=2**30,
  )


class _Work:
  """A case and its folder."""

  def __init__(self, name: str, folder: pathlib.Path):
    self.name = name
    case = CASES[name]
    self.num_clients = _CLIENTS.value or case.clients
    network = rounds.NETWORKS[case.network]
    _write(network, self.num_clients, case.examples, folder)
    self._clients = load_clients(os.fspath(folder))
    # By its name for others: here, this module may be the program.
    datasets.set_source(
      self._clients,
      'launch.benchmarks.scale_out:load_clients',
      folder=os.fspath(folder),
    )
    model = network.create_functional()
    self._weights = tff.learning.models.ModelWeights(*model.initial_weights)
    self._process = rounds.build_process(model)
    self.title = (
      f'{name}: {self.num_clients} clients of {case.examples} examples by '
      f'{_BATCH_SIZE}.'
    )

  def round_in(self, context: tff.framework.SyncContext) -> rounds.Round:
    """Returns a round in a context, whose clients are planned anew."""
    return rounds.federated_round(
      self._process, self._weights, context, self._cohorts(context)
    )

  def _cohorts(
    self, context: tff.framework.SyncContext
  ) -> Iterator[list[datasets.ClientBatches]]:
    refers = getattr(context, 'takes_client_references', False)
    spec = datasets.BatchSpec(batch_size=_BATCH_SIZE, shuffle=False)
    while True:
      yield [
        datasets.plan_client(
          self._clients,
          spec,
          client_id=client_id,
          seed=0,
          round_number=0,
          refers=refers,
        )
        for client_id in self._clients.client_ids
      ]


def _write(
  network: rounds.Network,
  num_clients: int,
  num_examples: int,
  folder: pathlib.Path,
) -> None:
  """Writes clients as `launch.group_dataset` would."""
  # As many as differ; the work is the same.
  made = network.generate_clients(min(num_clients, 100), num_examples)
  x, y = made[0]
  features = {
    'x': tf.TensorSpec(x.shape[1:], x.dtype),
    'y': tf.TensorSpec(y.shape[1:], y.dtype),
  }
  with datasets.GroupedWriter(folder, features=features) as writer:
    for i in range(num_clients):
      x, y = made[i % len(made)]
      writer.write(
        _SPLIT,
        f'client{i:06d}',
        [dict(x=a, y=b) for a, b in zip(x, y, strict=True)],
      )


def _measure(
  works: Sequence[_Work],
  here: tff.framework.SyncContext,
  *,
  actors: int,
  splits: int,
) -> dict[str, tuple[float, float, Mapping[str, float]]]:
  """Returns seconds here and on Ray, and a round's columns, of each case."""
  context = ray_context.SyncRayExecutionContext(
    ray_actors=actors, ray_splits=splits
  )
  found = {}
  try:
    for work in works:
      rows = {'here': work.round_in(here), 'ray': work.round_in(context)}
      expected, ours = (run() for run in rows.values())
      for one, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
      context.take_columns()
      rows['ray']()
      columns = context.take_columns()
      seconds = round_time.measure_in_turns(rows, repeats=_REPEATS.value)
      found[work.name] = (seconds['here'], seconds['ray'], columns)
  finally:
    context.stop()
  return found


def _paper_lines(constants: cluster_round.Constants) -> list[list[str]]:
  """Returns the table of hosts."""
  lines = [['hosts', *['rounds an hour', 'largest part', 'its share'] * 2]]
  for hosts in _HOSTS:
    lines.append([str(hosts)])
    for actors in (_CORES_PER_HOST.value, 1):
      parts = cluster_round.round_seconds(
        constants,
        hosts=hosts,
        cores=_CORES_PER_HOST.value,
        actors=actors,
        clients=_COHORT,
        link=_LINK_GBITS.value * 1e9 / 8,
      )
      seconds = sum(parts.values())
      largest = max(parts, key=parts.get)
      share = parts[largest] / seconds
      lines[-1] += [f'{3600 / seconds:.0f}', f' {largest}', f'{share:.2f}']
  return lines


def main(argv: Sequence[str]) -> None:
  """Prints the tables."""
  cli.check_no_arguments(argv)
  # Before the first operation of TensorFlow.
  here = cohort_context.SyncCohortExecutionContext()
  cores = threads.num_cores()
  with tempfile.TemporaryDirectory() as scratch:
    works = [
      _Work(name, pathlib.Path(scratch, name))
      for name in dict.fromkeys(_CASES.value)
    ]
    one = _measure(works, here, actors=1, splits=1)
    two = _measure(works, here, actors=2, splits=2)
    many = _measure(works[:1], here, actors=2, splits=_MANY_SPLITS)
  lines = [
    [
      'seconds a round',
      'in process',
      '1 actor',
      '2 actors',
      '1 to 2',
      'of in process',
      'MB out',
      'MB back',
    ]
  ]
  for work in works:
    _, alone, _ = one[work.name]
    in_process, both, columns = two[work.name]
    lines.append(
      [
        work.name,
        *(f'{s:.4f}' for s in (in_process, alone, both)),
        f'{alone / both:.2f}',
        f'{in_process / both:.2f}',
        f'{columns["time/sent_bytes"] / 1e6:.2f}',
        f'{columns["time/received_bytes"] / 1e6:.2f}',
      ]
    )
  print(
    report.format_text(
      lines,
      [
        f'{report.processor()}, {cores} cores. The fifth column is the speed of '
        'two actors by that of one, the sixth by that of this process, measured '
        'in turns.',
        *(work.title for work in works),
      ],
    ),
    flush=True,
  )
  name = works[0].name
  in_process, both, columns = two[name]
  work_seconds = in_process * cores / works[0].num_clients
  split_seconds = max(0.0, many[name][1] - both) / (_MANY_SPLITS - 2)
  constants = cluster_round.Constants(
    client_seconds=work_seconds,
    fixed_seconds=max(0.0, both - in_process * cores / 2 - 2 * split_seconds),
    split_seconds=split_seconds,
    server_bytes=columns['time/sent_bytes'],
    partial_bytes=columns['time/received_bytes'] / 2,
  )
  print(
    report.format_text(
      _paper_lines(constants),
      [
        f'On paper: {name}, {_COHORT} clients a round, {_CORES_PER_HOST.value} '
        f'cores a host, {_LINK_GBITS.value:g} Gbit/s; first with an actor a core, '
        'then with an actor a host (--ray_actor_cpus). Measured: '
        f'{constants.client_seconds * 1e3:.1f} ms a client and core, '
        f'{constants.fixed_seconds * 1e3:.1f} ms a round, '
        f'{constants.split_seconds * 1e3:.2f} ms an actor, '
        f'{constants.server_bytes / 1e6:.2f} MB to each host, '
        f'{constants.partial_bytes / 1e6:.2f} MB back from each actor.'
      ],
    ),
    flush=True,
  )


if __name__ == '__main__':
  cli.run(main)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Workdirs and runs as launch.train and launch.evaluate leave them."""

import dataclasses
import json
import pathlib

from fedfish_tff import fields
from fedfish_tff import simulation
from fedfish_tff.simulation import checked_json
from launch.configs import base
from launch.configs import digits
from launch.methods import config as config_lib
from launch.methods import config_fields
from launch.methods import method as method_lib
from launch.methods import method_notes
from launch.methods import participation
from launch.methods import registry
from launch.results import frames as frames_lib
from launch.results import run_reader
from launch.results import settings

import numpy as np
import pandas as pd

ROUNDS = (2, 4, 6)
NUM_CLIENTS = {'train': 24, 'validation': 8, 'test': 8}
_RATES = (config_fields.CLIENT_RATE, config_fields.SERVER_RATE)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class FakeRun:
  """A run before it is read: what `write_run` writes, and `to_run` reads.

  Attributes:
    workdir: The workdir.
    config: The config, or a part of it.
    columns: metrics.csv by column.
    empty: The empty cells by column; all other NaN have been written.
    clients: evaluation/clients.csv by client and column.
    values: The numbers of summary.json on test clients.
    is_finished: Whether there is a summary.json.
    transfer: The rows of evaluation/transfer.csv.
    metric: The metric that decides.
    higher_is_better: Whether a higher value of it is better.
    judged_by: Whose values of it decide.
    synthetic: What synthetic data are.
    diverged_round: The round in which the run has diverged, if it has.
  """

  workdir: pathlib.Path
  config: dict
  columns: dict
  empty: dict = dataclasses.field(default_factory=dict)
  clients: dict | None = None
  values: dict = dataclasses.field(default_factory=dict)
  is_finished: bool = True
  transfer: tuple = ()
  metric: str = 'accuracy'
  higher_is_better: bool = True
  judged_by: str = 'global'
  synthetic: str | None = None
  diverged_round: int | None = None

  @property
  def algorithm(self):
    return self.config['algorithm']['name']

  @property
  def seed(self):
    return self.config['seed']


def as_config(values):
  """Returns a config of some of its values, which nothing has checked."""
  algorithm = values['algorithm']
  method = registry.own_methods().get(algorithm['name']) or method_lib.Method(
    name=algorithm['name'],
    title=algorithm['name'],
    fields={},
    supports=frozenset(['local_epochs']),
    build=lambda parts: None,
  )
  named = {'name': 'uniform', **values.get('participation', {})}
  usual = participation.BLOCK.defaults(named['name'])
  shown = {**values, 'participation': usual | named}
  sizes = ('seed', 'rounds', 'cohort_size', 'local_epochs', 'batch_size')
  sizes += ('max_examples_per_client', 'evaluate_every', 'checkpoint_every')
  sizes += ('stop_after_diverged_rounds',)
  return config_lib.Config(
    values=values,
    method=method,
    **{name: values.get(name) for name in sizes},
    algorithm=config_fields.Values.of(
      {**fields.defaults(method.fields), **algorithm}
    ),
    **{rate: values.get(rate) for rate in _RATES},
    task=values['task'],
    blocks={
      name: config_fields.Values.of(shown[name])
      for name in registry.own_blocks()
      if name in shown
    },
    declared=[
      of for name, of in registry.own_blocks().items() if name in shown
    ],
    origin=_find_origin(values),
  )


def _find_origin(values):
  """Returns the run that a fine-tuning starts from, if it does."""
  start = values.get('fine_tuning', {}).get('start')
  if start is None or start['name'] == 'none':
    return None
  first = {n: v for n, v in values.items() if n != 'fine_tuning'}
  return config_lib.Origin(config=as_config(first | {'algorithm': start}))


def make_label(values, *, metric='accuracy', judged_by='global', higher=True):
  """Returns what a run notes of its method."""
  return {
    **method_notes.describe(as_config(values)),
    'task': values['task']['name'],
    'clients': dict(NUM_CLIENTS),
    'metric': metric,
    'higher_is_better': higher,
    'judged_by': judged_by,
  }


def to_run(fake):
  """Returns what `run_reader.read_run` would."""
  name = fake.config['task']['name']
  finite = lambda values: np.where(np.isfinite(values), values, np.inf)  # noqa: E731
  columns = {
    column: np.where(fake.empty.get(column, False), np.nan, finite(values))
    for column, values in fake.columns.items()
  }
  clients = fake.clients or {}
  about = run_reader.describe_run(
    simulation.Workdir(fake.workdir),
    fake.config,
    _make_summary(fake) if fake.is_finished else {},
  )
  about |= _label(fake)
  about['synthetic'] = fake.synthetic
  if fake.synthetic:
    about['task'] = f'{fake.synthetic}, task {name}'
  return run_reader.Run(
    about=about,
    rounds=pd.DataFrame(
      columns,
      index=pd.Index(columns['round'].astype(int), name='round'),
      dtype=float,
    ),
    clients=pd.DataFrame(
      [{c: float(finite(v)) for c, v in of.items()} for of in clients.values()],
      index=pd.Index(list(clients), name='client'),
      dtype=float,
    ),
    transfer=pd.DataFrame(
      fake.transfer, columns=run_reader.TransferScore._fields
    ),
  )


def _label(fake):
  return make_label(
    fake.config,
    metric=fake.metric,
    judged_by=fake.judged_by,
    higher=fake.higher_is_better,
  )


def _make_summary(fake):
  """Returns the summary.json of a finished run."""
  diverged = {'status': 'finished'}
  if fake.diverged_round is not None:
    found = {'round': fake.diverged_round, 'reason': 'nothing was finite'}
    diverged = {'status': 'diverged', 'diverged': found}
  return {
    **diverged,
    'rounds': fake.config['rounds'],
    'model_round': fake.config['rounds'],
    'label': _label(fake),
    'final': {},
    'test': {n.removeprefix('test/'): v for n, v in fake.values.items()},
    'totals': {},
  }


def frames(runs):
  """Returns labelled frames of runs."""
  return frames_lib.label(frames_lib.join(map(to_run, runs)))


def named(groups):
  """Returns frames of runs that have the labels that are given."""
  runs = [run for of in groups.values() for run in of]
  found = frames_lib.join(map(to_run, runs))
  labels = [label for label, of in groups.items() for _ in of]
  numbers = pd.factorize(np.array(labels, object))[0]
  return found.of(found.runs.assign(label=labels, group=numbers))


def make_config(algorithm='fed_avg', seed=0, task='digits', **algorithm_fields):
  return dict(
    seed=seed,
    rounds=6,
    local_epochs=4,
    checkpoint_every=2,
    algorithm=dict(name=algorithm, **algorithm_fields),
    task=dict(name=task),
  )


def make_exchange(**fields):
  """Returns the block of a config whose clients send a part."""
  return {
    'selection': 'share',
    'share': 0.5,
    'threshold': 0.1,
    'direction': 'largest',
    'normalize': False,
    'group_by': 'tensor',
    'coordinate_score': 'change',
    'unsent': 'server_keeps',
    **fields,
  }


def make_columns(algorithm='fed_avg', seed=0):
  rounds = np.array(ROUNDS, np.float64)
  gain = 0.1 if algorithm == 'fed_fish' else 0.0
  return {
    'round': rounds,
    'train/loss': 2 / rounds,
    'eval/global/accuracy': 0.1 * rounds + gain + 0.01 * seed,
    'csb/accuracy': 0.3 - gain + 0.01 * rounds,
    'compute/local_steps_total': rounds * (100 + seed),
    'communication/wire_bytes_total': rounds * (2e6 if gain else 1e6),
  }


def make_clients(algorithm='fed_avg', seed=0):
  gain = 0.1 if algorithm == 'fed_fish' else 0.0
  clients = {}
  for i in range(5):
    before = 0.4 + 0.05 * i + 0.01 * seed
    clients[f'client_{i}'] = {
      'num_examples': 10.0,
      'num_unseen': 5.0,
      'global/accuracy': before,
      'before/accuracy': before,
      'few_shot_25/accuracy': before + gain / 2,
      'after/accuracy': before + gain,
    }
  # Too small a client to personalise.
  clients['tiny'] = {'num_examples': 1.0, 'global/accuracy': 1.0}
  return clients


def make_run(algorithm='fed_avg', seed=0, *, evaluated=False, **fields):
  return FakeRun(
    workdir=pathlib.Path(f'{algorithm}_{seed}'),
    config=make_config(algorithm, seed, **fields),
    columns=make_columns(algorithm, seed),
    clients=make_clients(algorithm, seed) if evaluated else None,
  )


def make_setting_run(
  algorithm='fed_avg',
  seed=0,
  *,
  local_epochs=1,
  rounds=6,
  task='digits',
  finished=True,
  **algorithm_fields,
):
  """Returns a run of so many rounds and local epochs, as far as layouts go."""
  run = make_run(algorithm, seed, task=task, **algorithm_fields)
  run.config.update(local_epochs=local_epochs, rounds=rounds)
  numbers = np.arange(1, rounds + 1, dtype=np.float64)
  gain = 0.1 if algorithm == 'fed_fish' else 0.0
  score = 0.5 + gain - 0.01 * local_epochs + 0.02 * seed
  columns = {
    'round': numbers,
    'eval/global/accuracy': score * numbers / rounds,
    'eval/personalized/accuracy_before': score * numbers / rounds,
    'eval/personalized/accuracy': (score + 0.2) * numbers / rounds,
    'csb/accuracy': 0.3 - gain + 0.01 * numbers,
    'compute/local_steps_total': numbers * local_epochs * 1000,
    'communication/wire_bytes_total': numbers * 2e6,
  }
  values = {
    'test/global/accuracy': score,
    'test/personalized/accuracy_before': score + 0.01,
    'test/personalized/accuracy': score + 0.3,
  }
  return dataclasses.replace(
    run,
    columns=columns,
    values=values if finished else {},
    is_finished=finished,
  )


def make_setting_runs(
  specs=((1, 6), (8, 6)),
  algorithms=('fed_avg', 'fed_fish'),
  tasks=('digits',),
  seeds=(0, 1),
  **kwargs,
):
  """Returns runs of each task, algorithm, (epochs, rounds) and seed."""
  return [
    make_setting_run(
      algorithm, seed, local_epochs=epochs, rounds=rounds, task=task, **kwargs
    )
    for task in tasks
    for algorithm in algorithms
    for epochs, rounds in specs
    for seed in seeds
  ]


def read_settings(runs):
  """Returns the settings of runs."""
  return settings.read_settings(frames(runs))


def make_timed_run(
  algorithm, policy='uniform', seed=0, *, kind='exponential', **fields
):
  """Returns a run of 6 rounds of 10 seconds, half of them messages."""
  run = make_run(algorithm, seed)
  speeds = {'kind': kind, 'communication_seconds': 5.0}
  run.config.update(
    {
      'cohort_size': 20,
      'participation': {'name': policy, 'speeds': speeds},
      **fields,
    }
  )
  rounds = np.arange(7.0)
  final = {'fed_rep': 0.9, 'fed_avg': 0.8}.get(algorithm, 0.6)
  columns = {
    'round': rounds,
    'simulated/seconds': rounds * 10,
    'eval/own_fine_tuned/accuracy': final * rounds / 6 + 0.01 * seed,
    'eval/own_global/accuracy': final * rounds / 12 + 0.01 * seed,
    'eval/own_fine_tuned/accuracy_median': final * rounds / 6 + 0.01 * seed,
    'eval/own_global/accuracy_median': final * rounds / 12 + 0.01 * seed,
  }
  return dataclasses.replace(run, columns=columns)


def with_transfer(runs, **kwargs):
  """Returns runs with the scores of `make_transfer_scores`."""
  return [
    dataclasses.replace(run, transfer=make_transfer_scores(run, **kwargs))
    for run in runs
  ]


def make_transfer_scores(run, targets=('c4', 'cc_news')):
  """Returns the scores of a run at half of its rounds and at the end."""
  gain = 0.1 if run.algorithm == 'fed_fish' else 0.0
  rounds = run.config['rounds']
  return tuple(
    run_reader.TransferScore(
      target=target,
      round=number,
      split='test',
      percent=percent,
      metric=metric,
      num_clients=20,
      num_too_small=3,
      num_diverged=0,
      mean=(score := gain + 0.01 * run.seed + 0.1 * number / rounds)
      + 0.002 * percent,
      low=score + 0.002 * percent - 0.01,
      high=score + 0.002 * percent + 0.01,
      all_tokens=score + 0.5,
    )
    for target in targets
    for number in (rounds // 2, rounds)
    for metric in ('accuracy', 'perplexity', 'num_tokens')
    for percent in (0, 25, 50)
  )


def _complete(config):
  """Returns a config with all fields that its method must have."""
  try:
    own = base.create_config(config['algorithm']['name']).to_dict()
    whole = {**digits.get_config('fed_avg').to_dict(), **own}
  except ValueError:  # A method that is not there.
    return config
  blocks = {
    name: {**whole[name], **block}
    for name, block in config.items()
    if isinstance(block, dict) and name in whole
  }
  return {**whole, **config, **blocks}


def write_run(run, folder):
  """Writes config.json, metrics.csv and what else the run has."""
  folder = pathlib.Path(folder)
  folder.mkdir(parents=True)
  (folder / 'config.json').write_text(json.dumps(_complete(run.config)))
  columns = dict(run.columns, round=run.columns['round'].astype(int))
  lines = [','.join(columns)]
  for row in zip(*(column.tolist() for column in columns.values())):
    lines.append(','.join(map(repr, row)))
  (folder / 'metrics.csv').write_text('\n'.join(lines) + '\n')
  data = {'data_dir': None, 'synthetic': None, 'label': make_label(run.config)}
  content = json.dumps(checked_json.add_checksum(data))
  (folder / 'data.json').write_text(content)
  if run.is_finished:
    simulation.Workdir(folder).write_summary(_make_summary(run))
  if run.transfer:
    path = folder / run_reader.TRANSFER_CSV
    path.parent.mkdir()
    lines = [','.join(run_reader.TransferScore._fields)]
    lines += [','.join(map(str, score)) for score in run.transfer]
    path.write_text('\n'.join(lines) + '\n')
  return folder


def write_workdir(
  folder, algorithm='fed_avg', seed=0, *, evaluated=False, finished=True
):
  """Writes the files of a run and, if asked, evaluation/clients.csv."""
  run = make_run(algorithm, seed)
  folder = write_run(dataclasses.replace(run, is_finished=finished), folder)
  if evaluated:
    write_clients(folder, make_clients(algorithm, seed), ROUNDS[-1])
  return folder


def write_clients(folder, clients, round_number):
  """Writes evaluation/clients.csv."""
  names = list(clients['client_0'])
  lines = [','.join(['client_id', 'round', 'split', *names])]
  for client, row in clients.items():
    cells = [str(row[name]) if name in row else '' for name in names]
    lines.append(','.join([client, str(round_number), 'test', *cells]))
  path = folder / run_reader.CLIENTS_CSV
  path.parent.mkdir(exist_ok=True)
  path.write_text('\n'.join(lines) + '\n')

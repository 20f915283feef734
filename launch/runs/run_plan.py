# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The plan of a run: its data, model, costs and workdir, without training."""

from collections.abc import Iterator
from collections.abc import Sequence
import itertools
import pathlib

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.execution import contexts
from launch.methods import config as config_lib
from launch.methods import config_fields
from launch.methods import optimizers
from launch.results import text_table
from launch.runs import experiment as experiment_lib
from launch.runs import longer_run
from launch.runs import run_start
from launch.runs import run_summary
from launch.runs import training_run
from tasks import task as task_lib

import numpy as np
import tensorflow as tf

_ROUND_SECONDS, _EVALUATION_SECONDS = (
  'time/round_seconds',
  'time/evaluation_seconds',
)
# The number of a split's clients that are read; others count like these.
_MAX_CLIENTS = 1000
# The number of rounds that are planned; later ones count like these.
_MAX_ROUNDS = 10_000


def describe(
  config: config_lib.Config,
  options: training_run.RunOptions,
  *,
  overruled: Sequence[str] = (),
) -> str:
  """Returns the plan of a run as lines, without training or writing.

  Args:
    config: The config of the run.
    options: The options; the workdir is '' for none, and the context is the
      default one.
    overruled: A sentence for each value of the config that a rule has replaced.
  """
  contexts.set_default_context()
  task = experiment_lib.create_task(config, data_dir=options.data_dir)
  training_run.check_task(config, task)
  folder = simulation.Workdir(pathlib.Path(options.workdir or ''))
  has_run = bool(options.workdir) and not options.overwrite
  start = run_start.load_start(folder.path) if has_run else None
  origin = config.origin
  if start is None and origin is not None and origin.config is None:
    start = run_start.read_start(
      task, origin.path, trusted=config.trust.saved_models
    )
  experiment = experiment_lib.build_experiment_of(config, task, start=start)
  rows = [
    ('task', task.title),
    *_describe_data(task, config.cohort_size),
    *_describe_rounds(experiment),
    *(('overruled', line) for line in overruled),
  ]
  if has_run:
    rows += _describe_time(experiment, folder)
  if options.workdir:
    rows.append(('workdir', _describe_workdir(experiment, folder, has_run)))
  return text_table.align(rows)


def _describe_data(
  task: task_lib.Task, cohort_size: int
) -> Iterator[tuple[str, str]]:
  """Yields names and values for each split, and for the cohort's memory."""
  for split in task_lib.SPLITS:
    clients = getattr(task, split)
    if clients is None:
      continue
    number = len(clients.client_ids)
    examples = [
      clients.load_client(client_id)
      for client_id in itertools.islice(clients.client_ids, _MAX_CLIENTS)
    ]
    sizes = [datasets.count_examples(e) for e in examples]
    share = number / len(sizes)
    about = '' if share == 1 else f'about, by the first {len(sizes):,}: '
    total = round(share * sum(sizes))
    line = (
      f'{text_table.count(f"{number:,}", "client")}; '
      f'{about}{text_table.count(f"{total:,}", "example")}, '
      f'{errors.span(sizes, ",")} each, median {np.median(sizes):,.0f}'
    )
    labels = [tf.nest.flatten(e)[-1] for e in examples]
    if all(y.ndim == 1 and y.dtype.kind in 'iu' for y in labels):
      held = [len(np.unique(y)) for y in labels]
      classes = len(np.unique(np.concatenate(labels)))
      line += f'; {classes} classes, {errors.span(held, ",")} each'
    yield split.replace('_', ' '), line
    if split == 'train':
      nbytes = [datasets.count_bytes(e) for e in examples]
      cohort = np.mean(nbytes) * min(cohort_size, number)
      memory = (
        f'{text_table.quantity(cohort)}B of examples packed for a cohort, {about}'
        f'{text_table.quantity(share * sum(nbytes))}B for all training clients'
      )
  yield 'memory', memory


def _describe_rounds(
  experiment: experiment_lib.Experiment,
) -> Iterator[tuple[str, str]]:
  """Yields names and values for the model, the method and its costs."""
  config, task = experiment.config, experiment.task
  weights = [
    np.asarray(w) for w in tf.nest.flatten(experiment.model.initial_weights[0])
  ]
  yield (
    'model',
    f'{len(weights)} trained tensors, '
    f'{sum(w.size for w in weights):,} parameters, '
    f'{text_table.quantity(sum(w.nbytes for w in weights))}B',
  )
  yield (
    'method',
    f'{config.label}; {config.cohort_size} of '
    f'{len(task.train.client_ids):,} clients per round, '
    f'{experiment.cohorts.title}',
  )
  first = experiment.first_round
  start_config = config.first_run(len(task.train.client_ids))
  if start_config is not None:
    first = start_config.rounds
  yield from _describe_steps(config)
  validation, test = (
    text_table.count(len(getattr(task, split).client_ids), f'{split} client')
    for split in ('validation', 'test')
  )
  yield (
    'judged by',
    f'{experiment.judged_column} on {validation}; reported on {test}',
  )
  yield (
    'rounds',
    f'{config.rounds}'
    + (f', {first} of them for the start' if first else '')
    + f'; evaluated every {config.evaluate_every} and after the last, checkpoint every '
    f'{config.checkpoint_every}',
  )
  if isinstance(experiment.participation, simulation.Asynchronous):
    yield 'staleness', _describe_staleness(experiment, weights)
  yield 'bytes', _describe_bytes(experiment, first)


def _describe_bytes(experiment: experiment_lib.Experiment, first: int) -> str:
  """Returns the bytes per client and of all rounds after the first ones."""
  config, hooks = experiment.config, experiment.build_hooks()
  (sent,) = (
    hook.wire_bytes
    for hook in hooks
    if isinstance(hook, simulation.CommunicationCosts)
  )
  num_rounds = config.rounds - first
  numbers = range(first + 1, first + min(num_rounds, _MAX_ROUNDS) + 1)
  about = ''
  cohorts = experiment.cohorts
  if cohorts.accuracy_stages is None:
    visits = sum(len(cohorts.planned(r)) for r in numbers)
    total = sent.total * visits
    total += sum(
      hook.count_bytes(r, len(cohorts.planned(r)))
      for hook in hooks
      if isinstance(hook, simulation.CandidateLosses)
      for r in numbers
    )
    if len(numbers) < num_rounds:
      about = f'about, by the first {len(numbers):,} rounds: '
      visits = round(visits * num_rounds / len(numbers))
      total *= num_rounds / len(numbers)
  else:
    about, visits = 'at most ', config.cohort_size * num_rounds
    total = sent.total * visits
  return (
    f'{sent.download:,} down and {sent.upload:,} up per client and round; '
    f'{about}{text_table.quantity(total)}B in '
    f'{text_table.count(num_rounds, "round")}, '
    f'{text_table.count(f"{visits:,}", "visit")}'
  )


def _describe_steps(config: config_lib.Config) -> Iterator[tuple[str, str]]:
  """Yields names and values for what clients and the server do in a round."""
  algorithm, rates = config.algorithm, config.method.learning_rates
  told = []
  if (
    config_fields.CLIENT_RATE in rates
    and 'local_epochs' in config.method.supports
  ):
    told += [
      f'{_describe_optimizer(algorithm, "client")}, rate '
      f'{config.client_learning_rate:g}',
      text_table.count(config.local_epochs, 'local epoch'),
    ]
  told.append(f'batches of {config.batch_size}')
  if cap := config.max_examples_per_client:
    told.append(f'at most {text_table.count(cap, "example")} per round')
  weighting = getattr(algorithm, 'client_weighting', None)
  if weighting is not None:
    told.append(
      {'uniform': 'all weighted alike'}.get(weighting, 'weighted by examples')
    )
  yield 'clients', ', '.join(told)
  if config_fields.SERVER_RATE in rates:
    yield (
      'server',
      f'{_describe_optimizer(algorithm, "server")}, rate '
      f'{config.server_learning_rate:g}',
    )


def _describe_optimizer(algorithm: config_fields.Values, of: str) -> str:
  name = getattr(algorithm, f'{of}_optimizer', 'sgd')
  return optimizers.OPTIMIZERS[name].title


def _describe_time(
  experiment: experiment_lib.Experiment, folder: simulation.Workdir
) -> Iterator[tuple[str, str]]:
  """Yields the time of a round and of the remaining ones, once measured."""
  if not folder.metrics_path.exists():
    return
  rows = [
    row
    for row in simulation.read_rows(folder.metrics_path)
    if _ROUND_SECONDS in row
  ]
  if not rows:
    return
  # The first round also traces.
  later = rows[1:] or rows
  seconds = float(np.median([row[_ROUND_SECONDS] for row in later]))
  evaluations = [
    r[_EVALUATION_SECONDS] for r in rows if _EVALUATION_SECONDS in r
  ]
  left = range(int(rows[-1]['round']) + 1, experiment.config.rounds + 1)
  every = experiment.config.evaluate_every
  total = seconds * len(left)
  if evaluations:
    # A multiple of `every`, or the last round, is evaluated.
    due = -(-(left.stop - 1) // every) - (left.start - 1) // every
    total += float(np.median(evaluations)) * due
  told = f'{seconds:.3g} s per round, measured in '
  told += text_table.count(len(later), 'round')
  if left:
    told += f'; about {_duration(total)} for the {len(left)} that are left'
  yield 'time', told


def _duration(seconds: float) -> str:
  """Returns '40 s', '3 min' or '2.5 h'."""
  if seconds < 120:
    return f'{seconds:.0f} s'
  return (
    f'{seconds / 60:.0f} min' if seconds < 7200 else f'{seconds / 3600:.1f} h'
  )


def _describe_staleness(
  experiment: experiment_lib.Experiment, weights: Sequence[np.ndarray]
) -> str:
  """Returns how stale updates will be, and the memory of earlier models."""
  of_round = experiment.participation
  num_rounds = min(experiment.config.rounds, _MAX_ROUNDS)
  numbers = range(1, num_rounds + 1)
  found = [d for r in numbers for d in of_round.staleness(r).values()]
  held = of_round.max_staleness + 1
  nbytes = held * sum(w.nbytes for w in weights)
  about = ''
  if num_rounds < experiment.config.rounds:
    about = f' in the first {num_rounds:,} rounds'
  return (
    f'{np.median(found):g} steps in the median, {max(found)} at most; '
    f'{sum(map(of_round.num_lost, numbers)):,} answers lost{about}; {held} models '
    f'kept, {text_table.quantity(nbytes)}B'
  )


def _describe_workdir(
  experiment: experiment_lib.Experiment,
  folder: simulation.Workdir,
  has_run: bool,
) -> str:
  """Returns a description of what the workdir holds and what follows."""
  config = experiment.config
  if not has_run and folder.path.exists():
    return f'{folder.path}: what it holds of a run will be removed'
  folder.check(
    config.values,
    experiment_lib.fingerprint_data(config, experiment.task),
    length_field=config.length_field,
  )
  if not folder.config_path.exists():
    return f'{folder.path}: new'
  before = folder.read_config()['rounds']
  kept = folder.checkpoint_rounds()
  last = kept[-1] if kept else -1
  if before < config.rounds:
    last = longer_run.find_checkpoint(experiment, folder, before)
  elif summary := folder.read_summary():
    if 'diverged' in summary:
      return f'{folder.path}: {run_summary.tell_divergence(summary)}'
    return f'{folder.path}: a finished run, which is scored and plotted again'
  where = 'at the beginning' if last < 0 else f'after round {last}'
  rounds = text_table.count(before, 'round')
  return f'{folder.path}: a run of {rounds}, which goes on {where}'

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs of closed-form methods and fine-tuning that take a second or two."""

from collections.abc import Iterator
import contextlib
import copy
import functools
import json
from unittest import mock

from fedfish_tff import datasets
from fedfish_tff import evaluation
from fedfish_tff import simulation
from fedfish_tff.execution import contexts
from launch.configs import fed3r_digits
from launch.configs import srpfl_digits
from launch.methods import building
from launch.methods import config_checks
from launch.methods import participation
from launch.runs import experiment as experiment_lib
from launch.runs import training_run
from tests import temporary_folders

from absl.testing import parameterized
import cachetools
import numpy as np
import tensorflow_federated as tff

NUM_FEATURES, NUM_RANDOM_FEATURES, NUM_CLASSES = 8, 16, 10
# 8 training clients, 2 validation clients and 2 test clients.
NUM_TRAINING_CLIENTS = 8
VISITING_ROUNDS = 3
FINE_TUNING_ROUNDS = 2


def make_config(variant='fed3r', **changes):
  """Returns a config of a variant, on the digits of few clients.

  Args:
    variant: Of launch/configs/fed3r_digits.py.
    **changes: Values of fields by their dotted names.
  """
  config = fed3r_digits.get_config(variant)
  closed_form = config.participation.name == 'visit_once'
  started = config.get('fine_tuning', {}).get('start', {}).get('name', 'none')
  config.rounds = VISITING_ROUNDS * (
    closed_form or started != 'none'
  ) + FINE_TUNING_ROUNDS * (not closed_form)
  config.update(
    cohort_size=3, local_epochs=1, evaluate_every=2, checkpoint_every=2
  )
  config.task.update(num_clients=12, hidden_units=(NUM_FEATURES,))
  if 'num_random_features' in config.algorithm:
    config.algorithm.num_random_features = NUM_RANDOM_FEATURES
  if 'body_epochs' in config.algorithm:
    config.local_epochs = 1 + config.algorithm.body_epochs
  return with_fields(config.to_dict(), changes)


def make_timed_config(policy, *, speeds='exponential', **changes):
  """Returns a config of FedAvg with a participation and speeds.

  Args:
    policy: The name of the policy.
    speeds: The kind of speeds.
    **changes: The values of their fields, and of `cohort_size`.
  """
  config = make_config('fed_avg', rounds=20)
  config['cohort_size'] = changes.pop('cohort_size', 4)
  block = participation.BLOCK.defaults(policy, speeds=speeds)
  for name, value in changes.items():
    (block['speeds'] if name in block['speeds'] else block)[name] = value
  return {**config, 'participation': block}


def with_fields(config, changes):
  """Returns a config with other values of fields, by their dotted names."""
  config = copy.deepcopy(config)
  for name, value in changes.items():
    *blocks, field = name.split('.')
    functools.reduce(dict.__getitem__, blocks, config)[field] = value
  return config


# What another run of a sweep may have, as far as methods share it.
_SHARED = {
  'seed': 1,
  'client_learning_rate': 0.03,
  'server_learning_rate': 0.7,
  'local_epochs': 2,
  'rounds': 3,
  'cohort_size': 4,
  'batch_size': 5,
}


def vary(config):
  """Returns the config with other values of all that may share what is built."""
  read = config_checks.read(config)
  method, across = read.method, read.method.shared_across
  if method.draws(read.algorithm):
    across -= {'seed'}
  if 'local_epochs' not in method.supports:
    across -= {'local_epochs'}
  if config.get('exchange', {}).get('unsent') == 'client_keeps':
    across -= {'server_learning_rate'}
  for block in read.declared:
    across -= block.built_from(read) or frozenset()
  return {**config, **{k: v for k, v in _SHARED.items() if k in across}}


def read_config(variant='fed3r', **changes):
  """Returns the config of `make_config` as one checked value."""
  return config_checks.read(make_config(variant, **changes))


def build(variant, **changes):
  """Returns the built method of the config of `make_config`."""
  config = read_config(variant, **changes)
  return building.build_method(config, experiment_lib.create_task(config))


def run_rounds(config, folder, *, rounds, batch_size=None):
  """Returns the task and process of a config, and the state after rounds.

  Args:
    config: Nested mappings; uniform cohorts of its size train.
    folder: The folder of the clients' states.
    rounds: The number of rounds.
    batch_size: The number of examples per batch; None for the config's.
  """
  config = config_checks.read(config)
  task = experiment_lib.create_task(config)
  process = building.build_method(config, task).process
  result = simulation.run_training(
    process,
    train_data=task.train,
    participation=simulation.uniform_participation(
      task.train.client_ids, cohort_size=config.cohort_size, seed=0
    ),
    batch_spec=datasets.BatchSpec(
      batch_size=batch_size or config.batch_size, epochs=config.local_epochs
    ),
    seed=0,
    rounds=rounds,
    client_states=simulation.ClientStateStore(f'{folder}/states'),
  )
  return task, process, result.state


# Of all tests of the process: what is traced once serves the next file, too. A
# method's graphs take about 10 MB, and contracts build hundreds of methods.
_built = cachetools.LRUCache(100)
_contexts = {}


def make_client_states_config(*, rounds, evaluate_every):
  """Returns a config of FedRep, whose clients have states, on few digits.

  Args:
    rounds: Their number.
    evaluate_every: Rounds from one evaluation to the next.
  """
  config = srpfl_digits.get_config('fed_rep')
  config.task.update(num_clients=8, num_held_out=4, hidden_units=(8,))
  config.update(
    rounds=rounds,
    cohort_size=4,
    local_epochs=2,
    checkpoint_every=2,
    evaluate_every=evaluate_every,
  )
  config.evaluation.personalization_epochs = 1
  return config.to_dict()


def _once(function, make_key):
  """Returns the function, which is called once for arguments of one key."""

  @functools.wraps(function)
  def call(*args, **kwargs):
    key = (function.__qualname__, make_key(*args, **kwargs))
    if key not in _built:
      # With the arguments: the id of one that is gone may return.
      _built[key] = function(*args, **kwargs), args
    return _built[key][0]

  return call


def _key_of_task(config, *, data_dir=None):
  return json.dumps([config.task, config.seed, data_dir])


def _key_of_method(config, task, *, start_weights=None):
  blocks = config.declared
  loop = building.FIELDS_OF_THE_LOOP | {b.name for b in blocks if b.in_loop}
  if 'privacy' in config.blocks:
    loop = frozenset()  # The noise may be seeded by the whole config.
  for block in blocks:
    # None is for starts, which are in the key.
    loop -= block.built_from(config) or frozenset()
  fields = {k: v for k, v in config.values.items() if k not in loop}
  return (
    json.dumps(fields, sort_keys=True),
    id(task),
    start_weights
    and tuple(np.asarray(w).tobytes() for w in start_weights.trainable),
  )


def _key_of_model(*args, **kwargs):
  options = sorted((name, repr(value)) for name, value in kwargs.items())
  return *map(id, args), *options


def _set_context_once(set_context):
  """Returns the function, which installs what it has made again."""

  @functools.wraps(set_context)
  def call(name=contexts.DEFAULT_CONTEXT_NAME, **options):
    stack = tff.framework.get_context_stack()
    key = (set_context.__qualname__, name, repr(options))
    if key in _contexts:
      stack.set_default_context(_contexts[key])
    else:
      set_context(name, **options)
      _contexts[key] = stack.current

  return call


@contextlib.contextmanager
def built_once() -> Iterator[None]:
  """Lets runs of one config share what is built, and so traced."""
  with contextlib.ExitStack() as stack:
    stack.enter_context(
      mock.patch.object(
        contexts,
        'set_default_context',
        # A context knows what it has compiled.
        _set_context_once(contexts.set_default_context),
      )
    )
    for module, name, make_key in (
      (experiment_lib, 'create_task', _key_of_task),
      (building, 'build_method', _key_of_method),
      (simulation, 'measure_wire_bytes', id),
      (evaluation, 'SharedComputations', _key_of_model),
    ):
      once = _once(getattr(module, name), make_key)
      stack.enter_context(mock.patch.object(module, name, once))
    yield


class TestCase(temporary_folders.TestCase):
  """Runs that share what is built; each test has a new `workdir`."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enterClassContext(built_once())

  def setUp(self):
    super().setUp()
    self.workdir = self.folder / 'w'


class TaskTestCase(parameterized.TestCase):
  """Tests with the `task` of the configs and the `ids` of training clients."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.task = experiment_lib.create_task(read_config())
    cls.ids = cls.task.train.client_ids

  def create_participation(self, config):
    """Returns the participation of nested mappings."""
    return config_checks.read(config).create_cohorts(self.task).participation

  def create_wall_clock(self, config):
    """Returns the clock of nested mappings; None without speeds."""
    return participation.create_wall_clock(
      config_checks.read(config), self.task, self.create_participation(config)
    )


def train(config, workdir, *, data_dir=None, **options):
  """Trains nested mappings, without a bar or plots; returns the summary."""
  contexts.set_default_context()
  task = experiment_lib.create_task(
    config_checks.read(config), data_dir=data_dir
  )
  return train_task(config, task, workdir, data_dir=data_dir, **options)


def train_task(
  config,
  task,
  workdir,
  *,
  starts=None,
  build=experiment_lib.build_experiment_of,
  **options,
):
  """Trains as `train` does, on an existing task."""
  return training_run.train_task(
    config_checks.read(config),
    task,
    training_run.RunOptions(workdir=workdir, progress_bar=False, **options),
    starts=starts,
    plots=False,
    build=build,
  )


class _Stop(BaseException):
  """Stands for a kill: nothing of the run runs after it."""


def train_with_a_stop(config, *, workdir, after):
  """Trains a run that dies after a round, then again; returns its summary."""
  report = simulation.ProgressReporter.observe

  def die(reporter, round_number, row):
    report(reporter, round_number, row)
    if round_number == after:
      raise _Stop()

  with (
    mock.patch.object(simulation.ProgressReporter, 'observe', die),
    contextlib.suppress(_Stop),
  ):
    train(config, workdir)
    raise AssertionError(f'There is no round {after}.')
  return train(config, workdir)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The contract of declared fields: each changes something, or is refused."""

import collections
from collections.abc import Iterator
from collections.abc import Mapping
import functools
import itertools
import json
import re
from typing import Any
import weakref

from fedfish_tff import errors
from fedfish_tff import fields as fields_lib
from fedfish_tff import parameters
from fedfish_tff import simulation
from launch import json_config
from launch.methods import building
from launch.methods import config as config_lib
from launch.methods import config_checks
from launch.methods import config_fields
from launch.methods import participation
from launch.methods import privacy
from launch.methods import registry
from launch.runs import experiment as experiment_lib
from tests.launch import small_configs

from absl.testing import parameterized
from google.protobuf import message as protobuf_message
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

pytestmark = pytest.mark.thorough

# Participation is tried by policy; nothing is built without weights to start or
# statistics of batches, or from what only evaluations measure.
_BLOCKS = {
  name: block
  for name, block in registry.own_blocks().items()
  if name
  not in ('batch_normalization', 'evaluation', 'participation', 'warm_start')
}
# Texts that name something of the task's model, and what is not enough else.
_VALUES = {
  'threshold': 16,
  'max_staleness': 0,
  'mode': 'min',
  'targets': 'hidden',
  'trained': 'hidden',
  'local_layers': 'hidden',
  'global_layers': 'hidden',
  'metric': 'eval/global/loss',
}
# One function reads these with the server's optimizer, for all methods.
_READ_FOR_ALL = (
  'server_beta_1',
  'server_beta_2',
  'server_epsilon',
  'server_momentum',
)
_KEEPS = 'fed_avg,exchange=partial,unsent=client_keeps'
_ROUNDS = 12
_NUMBERS = (0.25, 0.75, 2.0, 1, 2, 3, 16, 0)


def _config(variant: str, **changes: Any) -> dict[str, Any]:
  config = small_configs.make_config(variant)
  policy = participation.POLICIES[config['participation']['name']]
  if not policy.visits_once:
    config['rounds'] = _ROUNDS
    # Enough for Krum, and all where FLANP's stages end by accuracy.
    config['cohort_size'] = 8 if 'flanp' in variant else 6
  if 'privacy' in config:
    # Little enough for adaptive clipping of so few.
    config['privacy']['noise_multiplier'] = 0.5
  if 'adapters' in config:
    config['adapters'] |= {'targets': 'output', 'trained': ''}
  return small_configs.with_fields(config, changes)


def _other_value(name: str, field: fields_lib.Field, own_value: Any) -> Any:
  """Returns a value that a field may have, but for its own."""
  if name in _VALUES:
    return _VALUES[name]
  candidates = [True, False, *_NUMBERS, _NUMBERS[:2]]
  try:
    field.check('', object())
  except errors.InputError as error:
    choices = re.search(r'must be one of (.*), got ', str(error))
    candidates += choices.group(1).split(', ') if choices else []
  for value in candidates:
    try:
      field.check('', value)
    except errors.InputError:
      continue
    if value != own_value:
      return value
  # Of the name of adapters, of which there is one kind.
  assert name == 'name'
  return None


def _settings(
  variant: str, place: str, some: Mapping[str, fields_lib.Field]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
  """Yields for each field of a block what to set it in, and what to set."""
  own_values = json_config.flatten(_config(variant))
  for name, field in some.items():
    own_value = own_values.get(f'{place}.{name}', field.default)
    other_value = _other_value(name, field, own_value)
    if other_value is not None:
      yield (
        {
          f'{place}.{other}': next(iter(values))
          for other, values in field.goes_with.items()
          if own_values[f'{place}.{other}'] not in values
        },
        {f'{place}.{name}': other_value},
      )


def _messages(message: Any) -> Iterator[Any]:
  """Yields a protocol buffer's messages, those that are packed in it too."""
  yield message
  for field, value in message.ListFields():
    if field.type == field.TYPE_MESSAGE:
      single = isinstance(value, protobuf_message.Message)
      for inner in [value] if single else value:
        if not isinstance(inner, (int, str)):
          yield from _messages(inner)


def _describe(computation: tff.Computation) -> collections.Counter:
  """Returns what a computation does, without the names in it."""
  found = collections.Counter()
  for message in _messages(tff.framework.serialize_computation(computation)):
    if message.DESCRIPTOR.name in ('Intrinsic', 'Literal'):
      found[str(message)] += 1
    if message.DESCRIPTOR.name != 'TensorFlow':
      continue
    graph = tf.compat.v1.GraphDef()
    message.graph_def.Unpack(graph)
    for node in itertools.chain(
      graph.node, *(f.node_def for f in graph.library.function)
    ):
      attributes = [
        f'{name}={value}'
        for name, value in sorted(node.attr.items())
        # Functions have other names each time.
        if value.WhichOneof('value') != 'func'
        and name not in ('_gradient_op_type', 'container', 'shared_name')
        and not any(f.name for f in value.list.func)
      ]
      found[f'{node.op} {" ".join(attributes)}'] += 1
  return found


class _Effects:
  """All that a config leads to, each part made when it is compared."""

  # By process and by the name of a computation.
  _described = weakref.WeakKeyDictionary()

  def __init__(self, config: config_lib.Config) -> None:
    task = experiment_lib.create_task(config)
    self._experiment = experiment_lib.build_experiment_of(config, task)
    self.built = self._experiment.built

  def differs(self, other: '_Effects') -> bool:
    """Returns whether anything differs, the cheap parts first."""
    return any(
      part(self) != part(other)
      for part in (
        _Effects._around_the_process,
        lambda effects: effects._describe('next'),
        lambda effects: list(map(effects._describe, effects._names())),
        _Effects._schedules,
        _Effects._train,
      )
    )

  def _around_the_process(self) -> Any:
    experiment = self._experiment
    participation_ = experiment.participation
    # Without training, nothing is chosen of them.
    of = getattr(participation_, 'candidates', participation_)
    cohorts = {r: of(r) for r in self._rounds()}
    stopping = experiment.build_stopping([])
    path = experiment.built.solve_path
    clock = participation.create_wall_clock(
      experiment.config, experiment.task, participation_
    )
    return dict(
      cohorts=cohorts,
      criteria=self._criteria(),
      clock=clock and [clock(r, c) for r, c in cohorts.items()],
      epsilon='privacy' in experiment.config.blocks
      and privacy.create_epsilon(experiment.config, experiment.task)(2),
      stopping=stopping and vars(stopping),
      best=experiment.config.restores_best,
      path=path and experiment.config.algorithm.regularization_path,
    )

  def _criteria(self) -> list[float]:
    if not self._experiment.cohorts.accuracy_stages:
      return []  # Hooks need the bytes of a round, which take long to count.
    return [
      vars(vars(hook)['_criterion_fn'])['_constant']
      for hook in self._experiment.build_hooks()
      if isinstance(hook, simulation.Criterion)
    ]

  def _rounds(self) -> range:
    # Without rows of training, accuracy has not decided on later cohorts.
    last = 1 if self._experiment.cohorts.accuracy_stages else None
    return range(1, (last or self._experiment.config.rounds) + 1)

  def _names(self) -> list[str]:
    process = self._experiment.process
    _ = process.local_training  # Built at its first use.
    values = vars(process).items()
    return [name for name, v in values if isinstance(v, tff.Computation)]

  def _describe(self, name: str) -> Any:
    process = self._experiment.process
    if name not in self._names():
      return None
    described = self._described.setdefault(process, {})
    if name not in described:
      described[name] = _describe(getattr(process, name))
    return described[name]

  def _schedules(self) -> Any:
    """Returns factors of rates that a computation has."""
    names = ' '.join(map(str, map(self._describe, self._names())))
    hooks = self._experiment.build_hooks()
    return [
      {
        name: value
        for name, value in experiment_lib.round_parameters(hooks, r).items()
        if name in names
      }
      for r in self._rounds()
    ]

  def _train(self) -> list[bytes] | None:
    """Returns what is not all in computations, and so is tried."""
    process = self._experiment.process
    if isinstance(process.next, tff.Computation):
      return None
    cohort = [
      tf.data.Dataset.from_tensor_slices(client.examples).batch(8)
      for client in self._experiment.load_cohort(1)[:2]
    ]
    state = process.initialize()
    states = [process.initialize_client(state)] * len(cohort)
    for _ in range(2):
      state, states, _ = process.next(state, states, cohort)
    return [
      np.asarray(w).tobytes()
      for w in process.get_model_weights(state).trainable
    ]


# One is compared with several; each keeps its graphs.
@functools.lru_cache(maxsize=8)
def _effects_of(text: str) -> _Effects | None:
  try:
    return _Effects(config_checks.read(json.loads(text)))
  except errors.InputError:
    return None


def _effects(config: Mapping[str, Any]) -> _Effects | None:
  """Returns what a config leads to; None if it is refused."""
  return _effects_of(json.dumps(config, sort_keys=True))


class ContractTest(small_configs.TestCase):
  def _assert_changes(self, variant, before, changes):
    """A change is refused, or what a run does is another."""
    first = _effects(_config(variant, **before))
    second = _effects(_config(variant, **(before | changes)))
    with self.subTest(f'{variant} {before} {changes}'):
      self.assertIsNotNone(first)
      if second is not None:
        self.assertTrue(first.differs(second))

  def test_finds_nothing_where_nothing_changes(self):
    config = config_checks.read(_config('fed_avg,client_schedule=cosine'))
    task = experiment_lib.create_task(config)
    # Built anew each time.
    build = building.build_method.__wrapped__
    first, second = (build(config, task).process for _ in range(2))
    self.assertNotEmpty(_describe(first.next))
    self.assertEqual(_describe(first.next), _describe(second.next))

  @parameterized.parameters(*registry.own_methods())
  def test_fields_of_methods(self, name):
    method = registry.own_methods()[name]
    some = {
      field: f
      for field, f in method.fields.items()
      if name == 'fed_avg' or field not in _READ_FOR_ALL
    }
    for before, changes in _settings(name, 'algorithm', some):
      self._assert_changes(name, before, changes)
    built = _effects(_config(name)).built
    weights = built.process.get_model_weights.type_signature.result
    self.assertLen(weights.trainable, len(built.model.initial_weights[0]))
    if method.chooses_fine_tuning_rate:
      self.assertIn(
        config_fields.CLIENT_RATE,
        parameters.names_in(built.process.local_training),
      )
    # Methods read themselves what these change. Others change what is made for
    # all methods; aggregation_test and schedules_test try rules of the server
    # and rates with each.
    block = 'exchange' if 'exchange' in method.supports else 'adapters'
    self._assert_blocks_change(name, [block])

  @parameterized.parameters(*_BLOCKS)
  def test_fields_of_blocks(self, axis):
    block = _BLOCKS[axis]
    preset = 'ft_lp' if axis == 'fine_tuning' else next(iter(block.presets))
    variant = f'fed_avg,{axis}={preset}'
    some = {name: f for name, f in block.fields.items() if name != 'start'}
    for before, changes in _settings(variant, axis, some):
      self._assert_changes(variant, before, changes)
    self._assert_blocks_change('fed_avg', [axis])

  @parameterized.parameters(*participation.POLICIES.items())
  def test_fields_of_participation(self, name, policy):
    method = 'fed_buff' if policy.is_asynchronous else 'fed_avg'
    variant = f'{method},participation={name}'
    for before, changes in _settings(variant, 'participation', policy.fields):
      self._assert_changes(variant, before, changes)

  def test_a_block_of_what_clients_keep(self):
    self._assert_blocks_change(_KEEPS, ['adapters'])

  @parameterized.parameters(
    *registry.own_methods(),
    _KEEPS,
    *(
      f'fed_avg,{axis}={preset}'
      for axis in _BLOCKS
      for preset in _BLOCKS[axis].presets
    ),
  )
  @pytest.mark.slow
  def test_all_blocks(self, variant):
    self._assert_blocks_change(variant, _BLOCKS)

  def _assert_blocks_change(self, variant, axes):
    for axis in axes:
      preset = 'ft_lp'
      if axis != 'fine_tuning':
        preset = next(iter(_BLOCKS[axis].presets))
      if f',{axis}=' in variant:
        continue
      try:
        config = _config(f'{variant},{axis}={preset}')
      except errors.InputError:
        continue
      found = _effects(config)
      del config[axis]
      with self.subTest(axis):
        self.assertTrue(found is None or found.differs(_effects(config)))

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Declarations of blocks that a config may have beside its method.

A module of this package declares one as BLOCK, or several as BLOCKS, and is
found without being registered. A block's name is also an axis of variants:
--config=FILE:METHOD,NAME=PRESET. The axis of another package's block is
package.module:BLOCK, which the field `declaration` of the block in configs
keeps. This is plain Python; only `build` imports TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import operator
import typing
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff import fields as fields_lib
from fedfish_tff import simulation
from launch.methods import building
from launch.methods import config as config_lib
from launch.methods import config_fields
from launch.methods import method as method_lib

if typing.TYPE_CHECKING:
  from fedfish_tff import evaluation
  from tasks.task import Task


def of_own_fields(config: config_lib.Config) -> frozenset[str]:
  """Returns no fields, as `Block.built_from` of builds by its fields alone."""
  del config
  return frozenset()


def refuse_sized(method: method_lib.Method) -> str:
  """Returns the reason, as `Block.refuse`, of blocks that change one model."""
  return 'it trains whole networks, of several widths' if method.sized else ''


BuildFn = Callable[[building.Ingredients, Any], Any]
# From a config, its task, a model and weights to another model and its weights.
MergeFn = Callable[[config_lib.Config, 'Task', Any, Any], tuple[Any, Any]]


class Experiment(typing.Protocol):
  """A built run, as blocks see it; `launch.runs.experiment` has all of it.

  Attributes:
    config: The config of the run.
    task: The task, as the blocks have changed it.
    built: The model and its process.
    evaluations: The computations of the evaluations.
    judged_column: The column of metrics.csv that judges the run.
    first_round: The last round of the run's start; 0 without a start.
    cohorts: The clients of each round.
  """

  config: config_lib.Config
  task: Task
  built: building.BuiltMethod
  evaluations: evaluation.SharedComputations
  judged_column: str
  first_round: int
  cohorts: config_lib.Cohorts

  def build_barrier(self) -> evaluation.CohortBarrier | None:
    """Builds the barrier, if the config has one."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
  """A run that has ended.

  Attributes:
    experiment: The experiment that was run.
    result: The result of the last round.
    model: The result of the round of the run's model, such as the best one.
    stopping: The hook of `Block.restores_best` after all rows; None without.
  """

  experiment: Experiment
  result: simulation.TrainingResult
  model: simulation.TrainingResult
  stopping: simulation.EarlyStopping | None = None


class Rule(NamedTuple):
  """A restriction that a block puts on a field elsewhere in the config.

  A variant with the block gives the field the first of the values.

  Attributes:
    field: The dotted name of a field, or of a block that must be absent. A
      config without it keeps the rule.
    values: The values that the field may have; empty for a block.
    reason: A clause for the error, such as 'which ...', after the block that
      must be absent, or after '<field> is <value>, but <block>, '.
    when: The values of the block's own fields, by dotted name, for which the
      rule holds.
  """

  field: str
  values: Sequence[Any]
  reason: str
  when: Mapping[str, Container[Any]] = {}

  def holds(self, own: config_fields.Values) -> bool:
    """Returns whether the rule applies to the values of the block."""
    return all(
      operator.attrgetter(name)(own) in values
      for name, values in self.when.items()
    )

  def cause(self, block: str, own: config_fields.Values) -> str:
    """Returns a clause on why the rule applies to a block, with its reason."""
    if not self.when:
      return f'the config has a block {block}, {self.reason}'
    name = next(iter(self.when))
    value = operator.attrgetter(name)(own)
    return f'{block}.{name} is {value!r}, {self.reason}'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Choice:
  """A value of a field that decides on the block's other fields.

  Attributes:
    help: A phrase for --methods.
    fields: The fields that a block with this value has beside the deciding one.
  """

  help: str
  fields: Mapping[str, fields_lib.Field]

  @property
  def absent(self) -> Mapping[str, Any]:
    """The values of the fields that a config may leave out."""
    return {}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Block:
  """A block, as configs, runs and tables know it.

  Attributes:
    name: The name in configs and of the axis.
    help: A phrase or two for --methods.
    fields: The fields by name. With `choices`, those of all choices, such as the
      deciding one, and those that several have.
    chosen_by: The name of the field that decides on the others, by `choices`.
    choices: The choices by the value of `chosen_by`; empty for a block that
      always has `fields`.
    inner: The blocks within the block, which all choices have, by field. Their
      names begin with that of the block.
    presets: The values of the axis, each with the fields that it sets; empty
      for a block without an axis.
    in_all_configs: Whether every config has the block. It then takes its place
      in a variant after the other blocks, whose rules may change it, and its
      `deviations` come before theirs.
    axes: A function that returns further axes, each in the form of `presets`.
    supports: The name in `method.SUPPORTS` that a method with the block needs;
      '' for any method.
    refuse: A function from a method that supports this to the reason why it
      still cannot have the block; '' if it can.
    only: For a field, another name in `method.SUPPORTS`, and the values that
      remain for methods that do not support it.
    goes_with: The rules for other fields and blocks.
    sets: The values that a variant with the block gives fields elsewhere, in
      the form of rules, which a config may break.
    check: A function that raises InputError for a config with inconsistent
      values in the block, where `goes_with` cannot express it.
    check_task: A function that raises InputError for a config that does not
      suit its task, before anything is built.
    choose: A function from a config and its task to the cohorts of its rounds,
      which one block of each config has; None for the others.
    needed_clients: A function from a config to the least number of clients in a
      round for the block to do what it says. A participation whose rounds never
      have so many is refused.
    label: A function from a config and its method's name, in tables and
      figures, to the name of the method with the block.
    deviations: A function from a config to further words of the method's label,
      by field, which follow the name after commas.
    diverges_by: The block's own fields whose large values can make a run
      diverge.
    in_loop: Whether the block only concerns the loop of rounds: no process is
      built from it.
    keeps_models: A function from the block's own fields to whether clients end
      up with models of their own, as with `Method.keeps_models`.
    measures_payload: Whether clients send fewer bytes than those of all weights,
      which the process then counts.
    length_field: A function from a config to the dotted name of a field by
      which rounds depend on the number of all rounds; '' without one.
    built_from: A function from a config to the fields outside of the block that
      its builds depend on, beside `building.parameter_values`. Runs of a sweep
      that differ only in other fields share what is built; by default, None, no
      two runs with the block do. A block with `in_loop` need not say it.
    build: For a part of a run, one of `building.PARTS`, a function from
      ingredients and the part to its replacement.
    after: The names of the blocks whose changes of the same part, and of the
      label, come before those of this block.
    start: A function from a config to the origin of the weights that its run
      begins with, which `build` then has as `start_weights`; None for initial
      weights.
    merge: A function from a config, its task, the trained model and its weights
      to an equivalent model without the block, and its weights.
    fingerprint: A function from a config to the fingerprints, by name, of files
      that the block reads; a run is refused in a workdir with others.
    hooks: A function from an experiment to new hooks of the training loop.
    restores_best: For a block with one hook, `simulation.EarlyStopping`, a
      function from a config to whether the run's model is that of the hook's
      best round; None for other blocks.
    summary: A function from a run that has ended to entries of summary.json.
    tell: A function from a config and the content of summary.json to words that
      follow the label in the run's last line.
  """

  name: str
  help: str
  fields: Mapping[str, fields_lib.Field]
  chosen_by: str = 'name'
  choices: Mapping[str, Choice] = dataclasses.field(default_factory=dict)
  inner: Mapping[str, Block] = dataclasses.field(default_factory=dict)
  presets: Mapping[str, Mapping[str, Any]] = dataclasses.field(
    default_factory=dict
  )
  in_all_configs: bool = False
  axes: Callable[[], Mapping[str, Mapping[str, Mapping[str, Any]]]] = dict
  supports: str = ''
  refuse: Callable[[method_lib.Method], str] = lambda method: ''
  only: Mapping[str, tuple[str, Sequence[Any]]] = dataclasses.field(
    default_factory=dict
  )
  goes_with: Sequence[Rule] = ()
  sets: Sequence[Rule] = ()
  check: Callable[[config_lib.Config], None] = lambda config: None
  check_task: Callable[[config_lib.Config, Task], None] = lambda config, task: (
    None
  )
  choose: Callable[[config_lib.Config, Task], config_lib.Cohorts] | None = None
  needed_clients: Callable[[config_lib.Config], int] = lambda config: 0
  label: Callable[[config_lib.Config, str], str] = lambda config, name: name
  deviations: Callable[[config_lib.Config], Mapping[str, str]] = lambda of: {}
  diverges_by: Sequence[str] = ()
  in_loop: bool = False
  keeps_models: Callable[[config_fields.Values], bool] = lambda own: False
  measures_payload: bool = False
  length_field: Callable[[config_lib.Config], str] = lambda config: ''
  built_from: Callable[[config_lib.Config], frozenset[str] | None] = (
    lambda config: None
  )
  build: Mapping[str, BuildFn] = dataclasses.field(default_factory=dict)
  after: Sequence[str] = ()
  start: Callable[[config_lib.Config], config_lib.Origin | None] = (
    lambda config: None
  )
  merge: MergeFn = lambda config, task, model, weights: (model, weights)
  fingerprint: Callable[[config_lib.Config], Mapping[str, str]] = lambda of: {}
  hooks: Callable[[Experiment], Sequence[simulation.Hook]] = lambda of: ()
  restores_best: Callable[[config_lib.Config], bool] | None = None
  summary: Callable[[Outcome], Mapping[str, Any]] = lambda outcome: {}
  tell: Callable[[config_lib.Config, Mapping[str, Any]], str] = (
    lambda config, summary: ''
  )

  def __post_init__(self) -> None:
    for part in self.build:
      if part not in building.PARTS:
        raise ValueError(
          f'Block {self.name} must build parts of a run, which are '
          f'{", ".join(building.PARTS)}, got {part!r}.'
        )

  def defaults(self, preset: str = '', **others: str) -> dict[str, Any]:
    """Returns the block of a config.

    Args:
      preset: The name of a preset; '' for none, where the block of one with
        choices only says which is made.
      **others: The values of further axes.
    """
    if self.choices and not preset:
      return {self.chosen_by: self.fields[self.chosen_by].default}
    chosen = dict(self.presets[preset]) if preset else {}
    for axis, value in others.items():
      chosen |= self.axes()[axis][value]
    return fields_lib.defaults(self._fields_of(chosen)) | chosen

  def read(self, values: Mapping[str, Any]) -> config_fields.Values:
    """Returns the checked fields of the block of a config."""
    known, owner, absent = self._fields_of(values), '', {}
    if self.choices:
      owner = values[self.chosen_by]
      absent = self.choices[owner].absent
    # A field that is left out is checked as its default.
    found = {name: known[name].default for name in absent} | dict(values)
    fields_lib.check_block(f'{self.name}.', found, known, owner=owner)
    return config_fields.Values.of({**absent, **values})

  def _fields_of(
    self, values: Mapping[str, Any]
  ) -> Mapping[str, fields_lib.Field]:
    """Returns the fields of a block with some values, which make a choice."""
    if not self.choices:
      return self.fields
    deciding, chosen = self.fields[self.chosen_by], values.get(self.chosen_by)
    deciding.check(f'{self.name}.{self.chosen_by}', chosen)
    of_some = {n for choice in self.choices.values() for n in choice.fields}
    return {
      **{n: f for n, f in self.fields.items() if n not in of_some},
      **self.choices[chosen].fields,
      **{name: block._as_field() for name, block in self.inner.items()},
    }

  def _as_field(self) -> fields_lib.Field:
    """Returns the block as a field of the block that it is in."""

    def check(name: str, value: Any) -> None:
      fields_lib.block(name, value)
      self.read(value)

    default = self.defaults(next(iter(self.presets)))
    return fields_lib.Field(default, check, self.help)

  def all_axes(self) -> dict[str, Mapping[str, Mapping[str, Any]]]:
    """Returns the axes of variants by name, the block's own first."""
    own = {self.name: self.presets} if self.presets else {}
    return {**own, **self.axes()}

  def describe(self) -> list[str]:
    """Returns lines that describe the axes and the fields."""
    inner = {
      f'{within}.{name}': field
      for within, block in self.inner.items()
      for name, field in block.fields.items()
      if name != block.chosen_by
    }
    return [
      *(
        f'  --config=FILE:NAME,{axis}={{{",".join(presets)}}}'
        for axis, presets in self.all_axes().items()
      ),
      *fields_lib.describe({**self._shared_fields(), **inner}),
      *self._describe_choices(),
      *(
        line
        for within, block in self.inner.items()
        for line in block._describe_choices(f'{within}=')
      ),
    ]

  def _shared_fields(self) -> dict[str, fields_lib.Field]:
    """Returns the fields of several choices; their help names these."""
    found = {}
    for name, field in self.fields.items():
      having = [
        n for n, choice in self.choices.items() if name in choice.fields
      ]
      lacking = [n for n in self.choices if n not in having]
      if having and lacking:
        whose = f'Only of {", ".join(having)}.'
        if len(lacking) < len(having):
          whose = f'Not of {", ".join(lacking)}.'
        field = field._replace(help=f'{field.help} {whose}')
      found[name] = field
    return found

  def _describe_choices(self, prefix: str = '') -> list[str]:
    """Returns lines that describe the choices and the fields of one only."""
    lines = []
    for name, choice in self.choices.items():
      own = {n: f for n, f in choice.fields.items() if n not in self.fields}
      lines.append(f'  {prefix}{name}: {choice.help}')
      lines += [f'  {line}' for line in fields_lib.describe(own)]
    return lines

  def check_rules(
    self, config: config_lib.Config, flat: Mapping[str, Any]
  ) -> None:
    """Checks the rules of the block for a config that has it.

    Args:
      config: The config with the block.
      flat: The values of all fields by dotted name.
    """
    own = config.blocks[self.name]
    for rule in self.goes_with:
      found = flat.get(rule.field)
      is_there = rule.field in flat or rule.field in config.blocks
      if not is_there or found in rule.values or not rule.holds(own):
        continue
      if not rule.values and not rule.when:
        raise errors.InputError(
          f'The config must have a block {rule.field}, {rule.reason}, or a '
          f'block {self.name}, got both.'
        )
      must = f'The config must have no block {rule.field}'
      if rule.values:
        values = ' or '.join(map(repr, rule.values))
        must = f'{rule.field} must be {values}, got {found!r}'
      raise errors.InputError(f'{must}: {rule.cause(self.name, own)}.')
    self.check(config)

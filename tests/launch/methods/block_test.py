# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The contract of all declared methods and blocks, before anything is built."""

import copy
import itertools
import re

from fedfish_tff import errors
from launch import json_config
from launch.methods import block as block_lib
from launch.methods import config_checks
from launch.methods import config_fields
from launch.methods import registry
from tests.launch import small_configs

from absl.testing import parameterized

_BLOCKS = registry.own_blocks()
_METHODS = registry.own_methods()
# What averaged statistics of batches would escape.
_CHANGING_WHAT_IS_SENT = {'aggregation', 'compression', 'exchange', 'privacy'}
# Values that are not for all, by field.
_OTHER_VALUES = {
  'algorithm.client_weighting': 'num_examples',
  'algorithm.diagnostics': True,
  'algorithm.server_optimizer': 'adam',
  'batch_normalization.statistics': 'kept',
  'evaluation.barrier': True,
  'evaluation.judged_by': 'fine_tuned',
  'evaluation.personalization_epochs': 3,
  'exchange.unsent': 'client_keeps',
  'fine_tuning.start.name': 'fed3r',
  'local_epochs': 2,
  'participation.dropout': 0.5,
  # Closed forms lack it; test_rules takes another block.
  'participation.name': 'uniform',
  'participation.over_selection': 0.5,
  'server_learning_rate': 0.5,
}


def _config(variant):
  """Returns a config of a cohort that is large enough for every rule."""
  config = small_configs.make_config(variant)
  if config['participation']['name'] != 'visit_once':
    config.update(cohort_size=8, rounds=12)
  if 'early_stopping' in config:
    config['evaluation']['personalization_epochs'] = 1
  return config


def _variant(method, *names):
  """Returns a method with the first preset of blocks that have any."""
  presets = {name: next(iter(_BLOCKS[name].presets), '') for name in names}
  return ','.join([method, *(f'{n}={p}' for n, p in presets.items() if p)])


def _defaults(name):
  """Returns the block of its first preset."""
  return _BLOCKS[name].defaults(next(iter(_BLOCKS[name].presets), ''))


class BlockTest(parameterized.TestCase):
  def _assert_refused(self, config, message):
    with self.assertRaises(errors.InputError) as raised:
      config_checks.read(config)
    self.assertRegex(str(raised.exception), message)
    self.assertNotIn('\n', str(raised.exception))

  @parameterized.parameters(*_METHODS)
  def test_fields_of_methods(self, name):
    """Each has a usable default and help, is needed, and refuses nonsense."""
    original = _config(name)
    for field, declared in _METHODS[name].fields.items():
      declared.check(field, declared.default)
      self.assertRegex(declared.help, r'^[^\n]{10,}\.$', field)
      config = copy.deepcopy(original)
      config['algorithm'][field] = object()
      self._assert_refused(
        config, rf'^algorithm\.{field} must be .*, got <object'
      )
      del config['algorithm'][field]
      self._assert_refused(config, f'no field algorithm.{field}')
    for block, values in (
      ('algorithm', {'unknown': 1}),
      ('evaluation', {'a': 1}),
    ):
      self._assert_refused(
        {**original, block: {**original[block], **values}},
        rf'field {block}\.{next(iter(values))} does not exist',
      )
    self._assert_refused(
      {**original, 'momentum': 0.5}, f'field momentum does not exist for {name}'
    )

  @parameterized.parameters(*_METHODS)
  def test_values_that_a_method_has_to_support(self, name):
    method = _METHODS[name]
    for field, (support, _) in registry.only_values(method).items():
      variant = name
      if field == 'exchange.unsent':
        if 'exchange' not in method.supports:
          continue
        variant = f'{name},exchange=partial'
      elif field == 'batch_normalization.statistics':
        if method.sized or 'learning_rates' not in method.supports:
          continue
        variant = f'{name},batch_normalization=averaged'
      config = _config(variant)
      config = small_configs.with_fields(config, {field: _OTHER_VALUES[field]})
      reason = re.escape(method.why_not(support))
      self._assert_refused(
        config, rf'^{field} must be .* for {name}, got .*: {reason}\.'
      )

  @parameterized.parameters(*_BLOCKS)
  def test_fields_of_blocks(self, name):
    """As those of methods, and refused where they would change nothing."""
    block = _BLOCKS[name]
    self.assertRegex(block.help, r'^[^\n]{10,}[^.]$')
    original = _config(_variant('fed_avg', name))
    for field in original[name]:
      config = copy.deepcopy(original)
      config[name][field] = object()
      self._assert_refused(config, rf'^{name}\.{field} must be .*, got <object')
      del config[name][field]
      # Clients that are all alike need no options.
      if name != 'participation':
        self._assert_refused(config, f'no field {name}.{field}')
      declared = block.fields.get(field)
      if declared is None:
        continue
      self.assertRegex(declared.help, r'^[^\n]{10,}\.$', field)
      for other, values in declared.goes_with.items():
        config = copy.deepcopy(original)
        others = [p.get(other) for p in block.presets.values()]
        unused = next(
          (o for o in others if o is not None and o not in values), None
        )
        if unused is not None:
          config[name] |= {other: unused, field: 2}
          self._assert_refused(config, rf'^{name}\.{field} must be .*, got 2')
    self._assert_refused(
      {**original, name: {**original[name], 'unknown': 1}},
      rf'field {name}\.unknown does not exist',
    )
    self._assert_refused(
      {**original, name: 1}, f'^{name} must be a block of .*, got 1'
    )

  @parameterized.product(name=tuple(_METHODS), block=tuple(_BLOCKS))
  def test_every_method_has_it_or_says_why_not(self, name, block):
    method, declared = _METHODS[name], _BLOCKS[block]
    reason = declared.refuse(method)
    if declared.supports and declared.supports not in method.supports:
      reason = method.why_not(declared.supports)
    for preset in declared.presets:
      config = _config(f'{name},{block}={preset}')
      if reason:
        self._assert_refused(
          config,
          f'field {block} does not exist for {name}: {re.escape(reason)}',
        )
        continue
      try:
        config_checks.read(config)
      except errors.InputError as error:
        # Presets alone are refused by what they say of others, not by chance.
        self.assertRegex(
          str(error), rf' for {name}, |strategy ft_feat|path of a CSV'
        )

  @parameterized.parameters(
    *(
      (name, number)
      for name, block in _BLOCKS.items()
      for number in range(len(block.goes_with))
    )
  )
  def test_rules(self, name, number):
    block = _BLOCKS[name]
    rule = block.goes_with[number]
    method = 'fed_fish' if rule.field == 'algorithm.diagnostics' else 'fed_avg'
    config = _config(_variant(method, name))
    for field, values in rule.when.items():
      config[name][field] = values[0]
    other = rule.field.partition('.')[0]
    if other == 'fine_tuning':
      config[other] = _BLOCKS[other].defaults('ft_lp', start='fed3r')
    elif other == 'participation':
      config[other] = _BLOCKS[other].defaults('uniform')
    elif other in _BLOCKS:
      config[other] = _defaults(other)
    for owner in {name, other} & set(_BLOCKS):
      own = config_fields.Values.of(config.get(owner, {}))
      for kept in _BLOCKS[owner].goes_with:
        if kept.values and kept.holds(own):
          if kept.field in json_config.flatten(config):
            config = small_configs.with_fields(
              config, {kept.field: kept.values[0]}
            )
    if rule.field == 'participation.name':
      # Other fields come with another name.
      config[other] = _BLOCKS[other].defaults('fastest')
    elif rule.values:
      value = _OTHER_VALUES[rule.field]
      config = small_configs.with_fields(config, {rule.field: value})
    self._assert_refused(config, re.escape(rule.reason))

  def test_pairs_of_blocks_are_read_or_refused_in_one_line(self):
    for one, other in itertools.combinations(_BLOCKS, 2):
      variant = _variant('fed_avg', one, other)
      refused_by = [
        rule
        for name, rules in (
          (one, _BLOCKS[one].goes_with),
          (other, _BLOCKS[other].goes_with),
        )
        for rule in rules
        if not rule.values and rule.field in (one, other)
        if rule.holds(config_fields.Values.of(_defaults(name)))
      ]
      with self.subTest(variant):
        if refused_by:
          self._assert_refused(_config(variant), 'The config must ')
        elif 'batch_normalization' in (one, other) and (
          {one, other} & _CHANGING_WHAT_IS_SENT
        ):
          self._assert_refused(_config(variant), 'batch_normalization.statis')
        else:
          config_checks.read(_config(variant))

  def test_a_part_that_no_run_has(self):
    with self.assertRaisesRegex(
      ValueError, "^Block other must build parts .* aggregator, .*, got 'sum'"
    ):
      block_lib.Block(
        name='other', help='', fields={}, build={'sum': lambda *of: of}
      )

  def test_pairs_that_change_one_part_say_which_comes_first(self):
    def before(name):
      return {b for a in _BLOCKS[name].after for b in (a, *before(a))}

    names = list(_BLOCKS)
    for one, other in itertools.combinations(names, 2):
      if _BLOCKS[one].build.keys() & _BLOCKS[other].build.keys():
        excluded = any(
          not rule.values and not rule.when and rule.field in (one, other)
          for rule in (*_BLOCKS[one].goes_with, *_BLOCKS[other].goes_with)
        )
        self.assertTrue(excluded or one in before(other), (one, other))

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The contract of configs: each says how to run it, and reads, and plans."""

import importlib
import pkgutil
from unittest import mock

from fedfish_tff import errors
from launch import configs
from launch.configs import base
from launch.methods import config_checks
from launch.methods import registry
from launch.sweeps import plan as plan_lib

from absl.testing import parameterized

_MODULES = {
  module.name: importlib.import_module(f'{configs.__name__}.{module.name}')
  for module in pkgutil.iter_modules(configs.__path__)
}
_CONFIGS = {n: m for n, m in _MODULES.items() if hasattr(m, 'get_config')}
_SWEEPS = {
  name: module.sweep.names()
  for name, module in _CONFIGS.items()
  if hasattr(module, 'sweep')
}


# Methods that a task's settings exclude, with the field that says so.
_REFUSED = {
  ('ag_news', 'fed_nova'): 'client_optimizer',
  **{
    ('linear_representation', name): 'evaluation.personalization_epochs'
    for name in ('fed3r', 'fed3r_rf', 'fed_ncm')
  },
  # FedRep's head and body take an epoch each.
  **{
    (name, 'fed_rep'): 'local_epochs'
    for name in ('ag_news', 'arrays', 'c4', 'fed3r_generated', 'fedfish_images')
    + ('keyboard', 'stackoverflow')
  },
}


class ConfigsTest(parameterized.TestCase):
  @parameterized.parameters(*_CONFIGS)
  def test_every_method_and_value_of_an_axis_can_be_read(self, name):
    get_config = _CONFIGS[name].get_config
    with mock.patch.object(
      base, 'create_config', autospec=True, side_effect=base.create_config
    ) as create:
      method = get_config().algorithm.name
    axes = create.call_args.kwargs.get('axes') or {}
    variants = [
      *registry.variants(),
      *(f'{method},{axis}={value}' for axis in axes for value in axes[axis]),
    ]
    for variant in variants:
      config = get_config(variant).to_dict()
      if field := _REFUSED.get((name, variant)):
        with self.assertRaisesRegex(errors.InputError, f'{field} must be'):
          config_checks.read(config)
      else:
        config_checks.read(config)

  @parameterized.parameters(*_CONFIGS)
  def test_says_how_to_run_it(self, name):
    self.assertRegex(
      _CONFIGS[name].__doc__,
      f'python -m launch.(train|sweep) --config=launch/configs/{name}.py[^\n]* '
      r'\\\n    --(workdir|sweep_dir)=',
    )

  @parameterized.parameters(
    *((name, sweep) for name, of in _SWEEPS.items() for sweep in of)
  )
  def test_every_sweep_is_of_different_runs(self, name, sweep):
    module = _CONFIGS[name]
    runs = module.sweep(sweep)
    planned = plan_lib.plan_runs(f'{name}:{sweep}', module.get_config, runs)
    self.assertLen({run.name for run in planned}, len(runs))
    self.assertLen({repr(run.config.values) for run in planned}, len(runs))

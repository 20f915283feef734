# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Random values in the fields of ready configs: they work, or one says why."""

import contextlib

from fedfish_tff import errors
from launch import json_config
from launch.configs import digits
from launch.configs import fed3r_digits
from launch.configs import fed3r_generated
from launch.configs import linear_representation
from launch.configs import srpfl_digits
from launch.configs import toy_regression
from launch.methods import config_checks
from launch.runs import experiment as experiment_lib
from launch.runs import training_run
from tests.launch import small_configs

from absl.testing import absltest
import hypothesis
from hypothesis import strategies as st
import pytest

pytestmark = pytest.mark.thorough

_CONFIGS = [
  *(
    digits.get_config(variant)
    for variant in (
      'fed_fish',
      'fed_fish,participation=flanp,speeds=classes',
      'fed_avg,privacy=adaptive',
      'fed_avg,aggregation=clipped,compression=quantized',
      'fed_avg,aggregation=multi_krum',
      'fed_avg,exchange=partial,unsent=client_keeps',
      'fed_avg,participation=uniform,speeds=dynamic',
      'fed_prox',
      'hf_maml',
      'fed_ma',
    )
  ),
  fed3r_digits.get_config('fed3r_rf'),
  fed3r_digits.get_config('fed_avg,fine_tuning=ft_lp,start=fed3r'),
  fed3r_generated.get_config('fed_ncm'),
  linear_representation.get_config(),
  srpfl_digits.get_config('fed_rep,participation=srpfl'),
  toy_regression.get_config(),
]
_FIELDS = [
  (number, name)
  for number, config in enumerate(_CONFIGS)
  for name in json_config.flatten(config.to_dict())
]
# Sizes between small and impossible ones only take their time.
_NUMBERS = (
  st.integers(-2, 20)
  | st.sampled_from([2**31, 2**64, 10**20, -(10**20), 10**400])
  | st.floats()
)
_VALUES = st.one_of(
  _NUMBERS,
  st.none(),
  st.booleans(),
  st.text(max_size=4),
  st.dictionaries(st.text(max_size=2), _NUMBERS, max_size=1),
  st.lists(_NUMBERS | st.just(10**9), max_size=3).map(tuple),
)


def _check(number, name, value):
  """Does what a run does before it builds; returns what it would build of."""
  config = small_configs.with_fields(_CONFIGS[number].to_dict(), {name: value})
  task = experiment_lib.create_task(config_checks.read(config))
  training_run.check_task(config_checks.read(config), task)
  task.train.load_client(task.train.client_ids[0])
  return config, task


class RandomConfigsTest(absltest.TestCase):
  @hypothesis.settings(max_examples=300, derandomize=True)
  @hypothesis.given(st.sampled_from(_FIELDS), _VALUES)
  def test_checks(self, field, value):
    with contextlib.suppress(errors.InputError):
      _, task = _check(*field, value)
      task.create_model()

  @hypothesis.settings(max_examples=10, derandomize=True)
  @hypothesis.given(
    st.sampled_from([f for f in _FIELDS if not f[1].startswith('task.')]),
    _NUMBERS,
  )
  def test_building(self, field, value):
    with contextlib.suppress(errors.InputError):
      config, task = _check(*field, value)
      if 'fine_tuning' not in config:
        built = experiment_lib.build_experiment_of(
          config_checks.read(config), task
        )
        built.initial_state()
        built.participation(1)

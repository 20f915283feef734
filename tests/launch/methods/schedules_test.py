# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Schedules against Keras' own, and methods against those with another rate."""

import dataclasses
import itertools
import pathlib

from fedfish_tff import errors
from fedfish_tff import parameters
from fedfish_tff import simulation
from launch.methods import building
from launch.methods import config_checks
from launch.methods import config_fields
from launch.methods import optimizers
from launch.methods import registry
from launch.methods import schedules
from launch.runs import experiment as experiment_lib
from tests.launch import small_configs

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_SCHEDULED = [
  name
  for name, method in registry.own_methods().items()
  # Others train tasks of their own.
  if method.scheduled_rates and not method.sized
]
_ROUNDS = st.shared(st.integers(2, 60), key='rounds')


class FactorTest(absltest.TestCase):
  @hypothesis.given(
    rounds=_ROUNDS,
    warmup=_ROUNDS.flatmap(lambda rounds: st.integers(0, rounds - 1)),
    final=st.floats(0.0, 1.0, width=32),
    step_rounds=st.integers(1, 20),
    step_factor=st.floats(0.125, 1.0, width=32),
  )
  @hypothesis.settings(deadline=None)
  def test_is_that_of_keras(
    self, rounds, warmup, final, step_rounds, step_factor
  ):
    kinds = tf.keras.optimizers.schedules
    references = {
      'constant': lambda unused_step: 1.0,
      'cosine': kinds.CosineDecay(1.0, rounds - warmup, alpha=final),
      'step': kinds.ExponentialDecay(
        1.0, step_rounds, step_factor, staircase=True
      ),
    }
    for name, reference in references.items():
      own = config_fields.Values(
        name=name,
        warmup_rounds=warmup,
        final_factor=final,
        step_rounds=step_rounds,
        step_factor=step_factor,
      )
      found = [
        schedules.factor(own, r, rounds=rounds) for r in range(1, rounds + 1)
      ]
      np.testing.assert_allclose(
        found[:warmup], np.linspace(0, 1, warmup + 2)[1:-1]
      )
      for step, factor in enumerate(found[warmup:]):
        self.assertAlmostEqual(factor, float(reference(step)), places=5)


class CheckTest(parameterized.TestCase):
  @parameterized.parameters(
    ('fed_avg,client_schedule=cosine', {'warmup_rounds': 2}, 'fewer than 2'),
    ('fed_avg,client_schedule=step', {}, 'by 1 in each of 2 rounds'),
    (
      'fed_avg,client_schedule=warmup',
      {'warmup_rounds': 0},
      'block client_schedule.*learning rate.*by 1 in each',
    ),
    ('fed_avg,client_schedule=cosine', {'final_factor': 1.0}, 'by 1 in each'),
    (
      'fed_avg,client_schedule=step',
      {'final_factor': 0.5},
      'final_factor .*step.*0.5',
    ),
  )
  def test_fields(self, variant, changes, message):
    with self.assertRaisesRegex(errors.InputError, message):
      small_configs.read_config(
        variant, **{f'client_schedule.{k}': v for k, v in changes.items()}
      )

  @parameterized.parameters('cosine', 'step', 'warmup')
  def test_a_field_tells_if_more_rounds_change_earlier_ones(self, preset):
    factors = []
    for rounds in (12, 24):
      config = small_configs.read_config(
        f'fed_avg,server_schedule={preset}', rounds=rounds
      )
      factors.append(
        [
          schedules.factor(
            config.blocks['server_schedule'], r, rounds=config.rounds
          )
          for r in range(1, 13)
        ]
      )
    field = config.length_field
    self.assertEqual(factors[0] == factors[1], not field)
    self.assertIn(field, ('', 'server_schedule.name'))


class ScheduledMethodTest(small_configs.TestCase):
  def _build(self, config):
    config = config_checks.read(config)
    task = experiment_lib.create_task(config)
    return experiment_lib.build_experiment_of(config, task)

  def _train(self, experiment, **replaced):
    """Returns the weights after a round."""
    process = experiment.process
    folder = self.create_tempdir().full_path
    with parameters.replaced(replaced):
      result = simulation.run_round(
        process,
        experiment.initial_state(),
        experiment.load_cohort(1),
        1,
        experiment.open_client_states(f'{folder}/states'),
        kept_rounds=(),
      )
    return process.get_model_weights(result.state).trainable

  @parameterized.parameters(
    # Each optimizer is some method's, at clients and at the server.
    *zip(_SCHEDULED, itertools.cycle(optimizers.OPTIMIZERS))
  )
  @pytest.mark.thorough
  def test_any_method(self, name, optimizer):
    """One built for a run and scheduled is as one built for the other rates.

    The other run has all else that may share what is built, too.
    """
    config = small_configs.make_config(name)
    if 'server_optimizer' in config['algorithm']:
      config['algorithm']['server_optimizer'] = optimizer
    # FedNova takes SGD only.
    if 'client_optimizer' in config['algorithm'] and name != 'fed_nova':
      config['algorithm']['client_optimizer'] = optimizer
    rates = registry.own_methods()[name].scheduled_rates
    factors = dict(zip(rates, (0.25, 0.5), strict=False))
    step = {
      **schedules.BLOCKS['client_learning_rate'].defaults('step'),
      'step_rounds': 1,
    }
    names = {rate: schedules.BLOCKS[rate].name for rate in rates}
    other = small_configs.vary(config)
    expected = self._build(
      {**other, **{r: f * other[r] for r, f in factors.items()}}
    )
    scheduled = dataclasses.replace(
      self._build({**config, **dict.fromkeys(names.values(), step)}),
      config=expected.config,
      task=expected.task,
      initial_weights=tff.learning.models.ModelWeights(
        *expected.model.initial_weights
      ),
    )
    values = building.parameter_values(config_checks.read(other)) | {
      f'{names[r]}_factor': f for r, f in factors.items()
    }
    found = self._train(scheduled, **values)
    for one, tensor in zip(found, self._train(expected), strict=True):
      np.testing.assert_allclose(one, tensor, rtol=1e-5, atol=1e-7)
    # Each rate counts.
    for rate in rates:
      without = self._train(
        scheduled, **values | {f'{names[rate]}_factor': 1.0}
      )
      self.assertFalse(
        all(np.allclose(a, b) for a, b in zip(found, without, strict=True))
      )

  def test_a_run(self):
    """Columns tell factors; where they are next to 0 nothing is learnt."""
    config = small_configs.make_config(
      'fed_avg,client_schedule=step,server_schedule=cosine',
      **{
        'rounds': 4,
        'evaluate_every': 1,
        'client_schedule.step_rounds': 2,
        'client_schedule.step_factor': 1e-30,
        'server_schedule.warmup_rounds': 1,
      },
    )
    folder = pathlib.Path(self.create_tempdir().full_path, 'w')
    small_configs.train(config, folder)
    _, *rows = simulation.read_rows(folder / 'metrics.csv')
    np.testing.assert_allclose(
      [row['schedule/client_schedule_factor'] for row in rows],
      [1.0, 1.0, 1e-30, 1e-30],
    )
    np.testing.assert_allclose(
      [row['schedule/server_schedule_factor'] for row in rows],
      [0.5, 1.0, 0.75, 0.25],
    )
    losses = [row['eval/global/loss'] for row in rows]
    self.assertLen(set(losses[:2]), 2)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The contract of combinations: each learns what it says, or is refused.

FedAvg is tried with every participation, and one method of each kind with those
that see more of it than the cohort's size; at night every method with all, and
with every rule of aggregation.
"""

from collections.abc import Sequence
import itertools

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import evaluation
from fedfish_tff import simulation
from launch.methods import aggregation
from launch.methods import config_checks
from launch.methods import participation
from launch.methods import registry
from launch.runs import experiment as experiment_lib
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np
import pytest

_KEEPS = 'fed_avg,exchange=partial,unsent=client_keeps'
_VARIANTS = (*registry.own_methods(), _KEEPS)
# Plain sums, answers that come late, closed forms, states of clients, layers and
# models of their own, and clients that learn to learn.
_KINDS = (
  'fed_fish',
  'fed_async',
  'fed3r',
  'scaffold',
  'fed_per',
  'ditto',
  'hf_maml',
)
# The policies, and what changes of their fields; FLANP by accuracy is another.
_POLICIES = (
  *((name, {}) for name in participation.POLICIES),
  ('flanp', {'rounds_per_stage': 0}),
  ('srpfl', {'n0': 2, 'rounds_per_stage': 99}),
  ('deadline', {'deadline': 0.1}),
)
# Those that choose by the model, ask clients once, or have them answer late.
_SEEING_THE_METHOD = (
  ('visit_once', {}),
  ('asynchronous', {}),
  ('power_of_choice', {}),
  ('flanp', {'rounds_per_stage': 0}),
)


def _read(variant: str, policy: str, changes: dict, rule: str):
  """Returns a checked config of the combination."""
  once = participation.POLICIES[policy].visits_once
  found = small_configs.make_config(
    f'{variant},aggregation={rule}' if rule else variant,
    rounds=2 if once else 12,
    cohort_size=small_configs.NUM_TRAINING_CLIENTS // (2 if once else 1),
  )
  found['participation'] = participation.BLOCK.defaults(policy) | changes
  return config_checks.read(found)


class LearningContractTest(small_configs.TestCase):
  def _check(
    self, variant: str, rule: str, policies: Sequence = _POLICIES
  ) -> int:
    """Tries a method and rule with policies; returns how many are not refused."""
    learned = 0
    for number, (policy, changes) in enumerate(policies):
      with self.subTest(f'{variant} {rule} {policy} {changes}'):
        try:
          config = _read(variant, policy, changes, rule)
          task = experiment_lib.create_task(config)
          experiment = experiment_lib.build_experiment_of(config, task)
        except errors.InputError:
          continue
        self._check_learns(experiment, f'{number}')
        learned += 1
    return learned

  def _check_learns(self, experiment, name):
    """Checks two rounds, those of the largest cohort."""
    config, process = experiment.config, experiment.process
    last = 1 if experiment.cohorts.accuracy_stages else config.rounds - 1
    is_late = isinstance(experiment.participation, simulation.Asynchronous)
    first = max(
      range(1, 2 if is_late else last + 1),
      key=lambda number: len(experiment.cohorts.planned(number)),
    )
    store = experiment.open_client_states(self.folder / f'{name}.states')
    state = experiment.initial_state()
    before = process.get_model_weights(state)
    for number in (first, first + 1):
      weights = process.get_model_weights(state)
      client_ids = experiment.cohorts.planned(number if is_late else first)
      result = simulation.run_round(
        process,
        state,
        [self._plan(experiment, c, number) for c in client_ids],
        number,
        store,
        kept_rounds=(),
      )
      state = result.state
    after = process.get_model_weights(state)
    self.assertTrue(
      any(
        np.any(one != other)
        for one, other in zip(before.trainable, after.trainable)
      )
    )
    if (
      config.participation.name == 'power_of_choice'
      or experiment.cohorts.accuracy_stages
    ):
      # What chooses is the model that clients begin with.
      self.assertAlmostEqual(
        result.row['train/loss'],
        self._loss(experiment, weights, client_ids),
        places=4,
      )

  def _plan(self, experiment, client_id, number):
    """Returns a client's batches, of all its examples."""
    return datasets.plan_batches(
      experiment.task.train.load_client(client_id),
      datasets.BatchSpec(batch_size=9999, epochs=experiment.batch_spec.epochs),
      client_id=client_id,
      seed=0,
      round_number=number,
    )

  def _loss(self, experiment, weights, client_ids):
    """Returns the model's mean loss over the clients' examples."""
    scores = experiment.evaluations.global_model(
      weights,
      evaluation.load_chunks(
        experiment.task.train, client_ids, eval_batch_size=999
      ),
    ).per_client
    return np.average(
      [score['loss'] for score in scores],
      weights=[score['num_examples'] for score in scores],
    )

  def test_means_and_krum(self):
    self.assertGreater(self._check('fed_avg', ''), 9)
    # Its rounds of two clients, and those with too few answers, are refused.
    self.assertBetween(self._check('fed_avg', 'krum'), 5, 9)
    self._check(_KEEPS, '', _SEEING_THE_METHOD[2:])

  @parameterized.parameters(*_KINDS)
  @pytest.mark.thorough
  def test_participations_that_see_the_method(self, variant):
    self.assertGreater(self._check(variant, '', _SEEING_THE_METHOD), 0)

  @parameterized.parameters(*_VARIANTS)
  @pytest.mark.slow
  def test_every_participation(self, variant):
    self.assertGreater(self._check(variant, ''), 0)

  @parameterized.parameters(
    *itertools.product(
      (
        variant
        for variant in _VARIANTS
        if 'model_aggregator'
        in registry.find_method(variant.partition(',')[0]).supports
      ),
      aggregation.BLOCK.presets,
    )
  )
  @pytest.mark.slow
  def test_every_rule(self, variant, rule):
    self._check(variant, rule)

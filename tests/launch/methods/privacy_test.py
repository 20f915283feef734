# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the block `privacy`: its checks, and what methods make of it."""

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff import simulation
from launch.methods import building
from launch.methods import privacy
from launch.runs import experiment
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff

_NUM_CLIENTS = small_configs.NUM_TRAINING_CLIENTS


def _aggregator(config):
  return building.prepare(
    config, experiment.create_task(config)
  ).model_aggregator


class BuildTest(parameterized.TestCase):
  def _train(self, variant, **changes):
    """The weights after two rounds."""
    config = small_configs.make_config(
      variant, **{'algorithm.client_weighting': 'uniform', **changes}
    )
    _, process, state = small_configs.run_rounds(
      config, self.create_tempdir().full_path, rounds=2
    )
    return process.get_model_weights(state).trainable

  def test_without_noise_and_clipping_it_is_the_method(self):
    plain = self._train('fed_avg')
    private = self._train(
      'fed_avg,privacy=gaussian',
      **{'privacy.noise_multiplier': 0.0, 'privacy.clip_norm': 2.0**40},
    )
    for expected, found in zip(plain, private, strict=True):
      np.testing.assert_array_equal(found, expected)

  def test_no_two_configs_have_the_noise_of_one_tree(self):
    """Their models' difference would have none."""
    zeros = tff.to_type(tff.TensorType(np.float32, [3]))
    noise = []
    for rate in (0.1, 0.2, 0.1):
      config = small_configs.read_config(
        'fed_avg,privacy=tree', client_learning_rate=rate
      )
      process = _aggregator(config).create(zeros, tff.TensorType(np.float32))
      output = process.next(
        process.initialize(), [np.zeros(3, np.float32)], [np.float32(1)]
      )
      noise.append(np.asarray(output.result).tolist())
    self.assertNotEqual(noise[0], noise[1])
    self.assertEqual(noise[0], noise[2])

  def test_too_much_noise_for_an_adapting_bound(self):
    config = small_configs.read_config('fed_avg,privacy=adaptive')
    with self.assertRaisesRegex(errors.InputError, '3 clients .*1.0'):
      _aggregator(config)


class EpsilonTest(parameterized.TestCase):
  @parameterized.parameters(
    (
      {},
      simulation.fixed_size_epsilon,
      {'cohort_size': 3, 'num_clients': _NUM_CLIENTS},
      'a client is replaced',
    ),
    (
      {'participation.name': 'poisson', 'privacy.accountant': 'pld'},
      simulation.poisson_epsilon,
      {
        'sampling_probability': 3 / _NUM_CLIENTS,
        'accountant': choices.Accountant.PLD,
      },
      'a client is added or removed',
    ),
    (
      {'privacy.mechanism': 'tree', 'participation.name': 'epochs'},
      simulation.tree_epsilon,
      {'rounds_per_tree': small_configs.VISITING_ROUNDS},
      "a client's contributions are zero",
    ),
  )
  def test_is_that_of_who_takes_part(self, changes, expected, arguments, whom):
    config = small_configs.read_config(
      'fed_avg,privacy=gaussian',
      **{'privacy.noise_multiplier': 2.0, 'privacy.delta': 1e-3, **changes},
    )
    epsilon = privacy.create_epsilon(config, experiment.create_task(config))
    reference = expected(2.0, delta=1e-3, **arguments)
    for rounds in (0, 1, 5):
      self.assertEqual(epsilon(rounds), reference(rounds))
    self.assertEqual(epsilon.accountant, reference.accountant)
    self.assertEqual(privacy.neighbours(config), whom)

  def test_a_delta_that_reveals_a_client(self):
    for delta, is_refused in ((0.12, False), (1 / 8, True), (0.5, True)):
      config = small_configs.read_config(
        'fed_avg,privacy=gaussian', **{'privacy.delta': delta}
      )
      task = experiment.create_task(config)
      if not is_refused:
        privacy.create_epsilon(config, task)
        continue
      with self.assertRaisesRegex(
        errors.InputError, f'privacy.delta must be below 1 / 8, .* got {delta}'
      ):
        privacy.create_epsilon(config, task)

  def test_tight_accounting_of_fixed_cohorts(self):
    with self.assertRaisesRegex(
      errors.InputError,
      "participation.name must be 'poisson', got 'uniform': "
      "privacy.accountant is 'pld'",
    ):
      small_configs.read_config(
        'fed_avg,privacy=gaussian', **{'privacy.accountant': 'pld'}
      )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedFish against NumPy, its exact limits and its handling of bad clients."""

import functools
import itertools

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import models
from tests import numpy_reference as ref
from tests import rounds
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_RATE = 0.3
_EPOCHS = 2
_OTHER_CHOICES = dict(
  server_rate=0.7,
  fisher_estimator=client_work.FisherEstimator.PER_EXAMPLE,
  fisher_normalization=client_work.FisherNormalization.MEAN,
  client_weighting=tff.learning.ClientWeighting.UNIFORM,
  damping=0.01,
)


@functools.cache
def _build(kind='functional', *, server_rate=None, **kwargs):
  """Tracing takes most of the time here, so equal processes are shared."""
  return algorithms.build_fed_fish(
    rounds.MODELS[kind],
    rounds.sgd(_RATE),
    # By default the server takes the mean as it is.
    *([] if server_rate is None else [rounds.sgd(server_rate)]),
    **{'local_epochs': _EPOCHS, **kwargs},
  )


def _rounds(*args, **kwargs):
  return rounds.Rounds(_build(*args, **kwargs), epochs=_EPOCHS)


def _one_round(start, data=rounds.DATA, method=rounds.fed_fish, **kwargs):
  """Returns the weights after a round of all clients, by NumPy."""
  ((weights, _),) = rounds.reference(
    start,
    **method(rate=_RATE, epochs=_EPOCHS, **kwargs),
    cohorts=[list(data)],
    data=data,
  )
  return weights


class NumpyRecomputationTest(rounds.TestCase):
  @parameterized.named_parameters(
    ('as_published', {}, {}),
    (
      'with_the_other_choices',
      _OTHER_CHOICES,
      dict(
        server_rate=0.7, per_example=True, mean=True, damping=0.01, uniform=True
      ),
    ),
    (
      'by_tensor_and_with_relative_damping',
      dict(
        fisher_granularity=client_work.FisherGranularity.TENSOR,
        relative_damping=0.3,
      ),
      dict(by_tensor=True, relative_damping=0.3),
    ),
  )
  def test_follows_algorithms_1_and_2(self, choices, ref_choices):
    run = _rounds(**choices)
    method = rounds.fed_fish(rate=_RATE, epochs=_EPOCHS, **ref_choices)
    self.check_follows(run, rounds.reference(run.server(), **method))

  @pytest.mark.thorough
  def test_adam_at_clients_equals_delta_of_the_trained_weights(self):
    # With one client FedFish moves to that client's own weights, so its result
    # is Adam's on that client, which TensorFlow's Keras computes independently.
    run = rounds.Rounds(
      algorithms.build_fed_fish(
        rounds.MODELS['functional'],
        tff.learning.optimizers.build_adam(0.05),
        rounds.sgd(1.0),
        local_epochs=_EPOCHS,
      ),
      epochs=_EPOCHS,
    )
    variables = [tf.Variable(w) for w in run.server()]
    run.run('b')
    optimizer = tf.keras.optimizers.legacy.Adam(0.05)
    for x, y in rounds.DATA['b'] * _EPOCHS:
      gradients = ref.gradients([v.numpy() for v in variables], x, y)
      optimizer.apply_gradients(
        [(tf.cast(g, tf.float32), v) for g, v in zip(gradients, variables)]
      )
    self.assert_close(run.server(), [v.numpy() for v in variables])

  @pytest.mark.thorough
  def test_variable_model_and_its_diagnostics_equal_numpy(self):
    run = _rounds('variable', diagnostics=True)
    for _ in range(2):
      start = run.server()
      expected = _one_round(start)
      average = _one_round(start, method=rounds.fed_avg)
      metrics = run.run(list(rounds.DATA))
      self.assert_close(run.server(), expected)
      a = np.concatenate([(s - f).ravel() for s, f in zip(start, expected)])
      b = np.concatenate([(s - f).ravel() for s, f in zip(start, average)])
      self.assertAlmostEqual(
        metrics['aggregator']['cosine_to_mean'],
        a @ b / np.linalg.norm(a) / np.linalg.norm(b),
        places=5,
      )


class ExactLimitsTest(rounds.TestCase):
  def test_equal_clients_are_fed_avg(self):
    run = _rounds()
    twins = {c: rounds.DATA['a'] for c in 'ab'}
    expected = _one_round(run.server(), twins, rounds.fed_avg)
    run.run('ab', twins)
    self.assert_close(run.server(), expected)

  def test_one_client_moves_by_its_own_delta(self):
    run = _rounds()
    expected = ref.train(
      run.server(), rounds.DATA['a'], rate=_RATE, epochs=_EPOCHS
    )
    metrics = run.run('a')
    self.assertEqual(metrics['aggregator']['zero_denominator_share'], 0)
    self.assert_close(run.server(), expected)

  @pytest.mark.thorough
  def test_zero_fisher_changes_nothing_and_is_measured(self):
    run = rounds.Rounds(
      algorithms.build_fed_fish(
        ref.create_functional_model(loss_scale=0.0),
        rounds.sgd(_RATE),
        rounds.sgd(1.0),
      )
    )
    before = run.server()
    metrics = run.run('ab')
    self.assertEqual(metrics['aggregator']['zero_denominator_share'], 1)
    self.assert_same(run.server(), before)

  def test_zero_fisher_with_damping_is_fed_avg(self):
    # Features that are zero have no gradient: those rows have zero Fisher and
    # zero delta, all others must follow the damped formula.
    clients = {
      c: [(x * np.float32([1, 1, 0, 0]), y) for x, y in batches]
      for c, batches in rounds.DATA.items()
    }
    run, undamped = _rounds(damping=0.5), _rounds()
    expected = _one_round(run.server(), clients, damping=0.5)
    metrics = run.run(list(clients), clients)
    self.assertEqual(metrics['aggregator']['zero_denominator_share'], 0)
    self.assert_close(run.server(), expected)
    metrics = undamped.run(list(clients), clients)
    dead = 2 * ref.NUM_HIDDEN  # Two features times the hidden units.
    total = sum(w.size for w in ref.initial_weights())
    self.assertAlmostEqual(
      metrics['aggregator']['zero_denominator_share'], dead / total, places=6
    )

  def test_client_without_examples_changes_nothing(self):
    # With damping, or a client without Fisher had no weight anyway.
    for choices in (dict(damping=0.5), _OTHER_CHOICES):
      run, without = _rounds(**choices), _rounds(**choices)
      run.run('abc', {'c': []})
      without.run('ab')
      self.assert_same(run.server(), without.server())


class ExcludedClientsTest(rounds.TestCase):
  @pytest.mark.thorough
  def test_diverged_classifier_that_samples_labels_is_left_out(self):
    process = algorithms.build_fed_fish(
      models.create_mlp_classifier(
        num_features=2,
        num_classes=3,
        hidden_units=[4],
        seed=0,
        activation='tanh',
      ),
      rounds.sgd(0.1),
      rounds.sgd(1.0),
      fisher_estimator=client_work.FisherEstimator.SAMPLED_LABEL,
      label_sampler=models.categorical_label_sampler(),
    )
    x, y = np.ones([4, 2], np.float32), np.array([0, 1, 2, 1], np.int32)
    data = [
      tf.data.Dataset.from_tensor_slices((part, y)).batch(4)
      for part in (x, x * np.float32(np.nan))
    ]
    output = process.next(process.initialize(), data)
    alone = process.next(process.initialize(), data[:1])
    self.assertEqual(output.metrics['client_work']['excluded_clients'], 1)
    tolerance.assert_same(
      process.get_model_weights(output.state).trainable,
      process.get_model_weights(alone.state).trainable,
    )

  @pytest.mark.thorough
  def test_client_with_overflowing_fisher_is_left_out_and_counted(self):
    # Features of 1e20 saturate tanh, but keep enough of its slope at zero
    # weights for gradients whose squares overflow float32; deltas do not.
    run = rounds.Rounds(
      algorithms.build_fed_fish(
        rounds.MODELS['functional'], rounds.sgd(0.0), rounds.sgd(1.0)
      )
    )
    flat = [np.zeros_like(w) for w in ref.initial_weights()]
    flat[2] = ref.initial_weights()[2]
    broken = [(x * np.float32(1e22), y) for x, y in rounds.DATA['b']]
    run.state = run.process.set_model_weights(
      run.state, tff.learning.models.ModelWeights(flat, ())
    )
    weights = run.process.get_model_weights(run.state)
    data = ref.to_dataset(broken)
    for w in run.process.local_training(weights, data).trainable:
      self.assertTrue(np.all(np.isfinite(w)))
    metrics = run.run('ab', {'b': broken})
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)
    self.assertFalse(run.process.update_is_finite(weights, data))


class InterfaceTest(rounds.TestCase):
  def test_data_that_is_not_whole_epochs_is_refused(self):
    with self.assertRaisesRegex(Exception, 'local_epochs=2'):
      rounds.Rounds(_build(), epochs=1).run('abc')

  @pytest.mark.thorough
  def test_sampled_labels_repeat_by_seed_and_change_by_round(self):
    def fisher_of_rounds(seed):
      run = _rounds(
        fisher_estimator=client_work.FisherEstimator.SAMPLED_LABEL,
        label_sampler=models.categorical_label_sampler(),
        server_rate=1e-30,  # The weights stay, so only the draws differ.
        seed=seed,
      )
      for _ in range(2):
        metrics = run.run('abc')
        yield metrics['aggregator']['fisher_sum']['3_3']['p50']

    first, again, other = (list(fisher_of_rounds(s)) for s in (1, 1, 2))
    self.assertEqual(first, again)
    values = first + other
    for a, b in itertools.combinations(values, 2):
      self.assertNotEqual(a, b)


@pytest.mark.thorough
class CompositionTest(parameterized.TestCase):
  """The error of the ratio under sums that are not exact."""

  def _one_round(self, sum_factory, **kwargs):
    run = _rounds(
      sum_factory=sum_factory,
      fisher_estimator=client_work.FisherEstimator.PER_EXAMPLE,
      damping=0.1,
      **kwargs,
    )
    exact = _one_round(run.server(), per_example=True, damping=0.1)
    run.run(list(rounds.DATA))
    return max(np.abs(a - e).max() for a, e in zip(run.server(), exact))

  def test_differential_privacy_noise_stays_bounded_by_the_floor(self):
    dp = tff.aggregators.DifferentiallyPrivateFactory.gaussian_fixed(
      noise_multiplier=1e-3, clients_per_round=1.0, clip=10.0
    )
    error = self._one_round(dp, minimum_denominator=1e-3)
    self.assertTrue(np.isfinite(error))
    self.assertGreater(error, 1e-6)
    self.assertLess(error, 5.0)

  def test_quantised_sums_keep_the_ratio_within_their_step(self):
    encoded = tff.aggregators.EncodedSumFactory.quantize_above_threshold(
      quantization_bits=16, threshold=1
    )
    self.assertLess(self._one_round(encoded, minimum_denominator=1e-3), 2e-2)

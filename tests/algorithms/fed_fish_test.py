# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedFish against NumPy, its exact limits and its handling of bad clients."""

import functools
import itertools

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff.execution import contexts
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_RATE = 0.3
_EPOCHS = 2
_CLIENTS = [ref.make_batches(n, seed) for seed, n in enumerate((10, 7, 3))]

_OTHER_CHOICES = dict(
  server_rate=0.7,
  fisher_estimator=client_work.FisherEstimator.PER_EXAMPLE,
  fisher_normalization=client_work.FisherNormalization.MEAN,
  client_weighting=tff.learning.ClientWeighting.UNIFORM,
  damping=0.01,
)


def _sgd(rate=_RATE):
  return tff.learning.optimizers.build_sgdm(rate)


@functools.cache
def _build_default_model(server_rate, **kwargs):
  """Tracing takes most of the time here, so equal processes are shared."""
  kwargs.setdefault('local_epochs', _EPOCHS)
  return algorithms.build_fed_fish(
    ref.create_functional_model(), _sgd(), _sgd(server_rate), **kwargs
  )


def _build(model=None, *, server_rate=1.0, **kwargs):
  if model is None:
    return _build_default_model(server_rate, **kwargs)
  kwargs.setdefault('local_epochs', _EPOCHS)
  return algorithms.build_fed_fish(model, _sgd(), _sgd(server_rate), **kwargs)


def _datasets(clients=None, epochs=_EPOCHS):
  clients = _CLIENTS if clients is None else clients
  return [ref.to_dataset(c, epochs=epochs) for c in clients]


def _run(process, clients=None, *, rounds=1, start=None, epochs=_EPOCHS):
  """Returns (trainable weights, metrics of the last round)."""
  state = process.initialize()
  if start is not None:
    state = process.set_model_weights(
      state, tff.learning.models.ModelWeights(start, ())
    )
  metrics = None
  for _ in range(rounds):
    state, metrics = process.next(state, _datasets(clients, epochs))
  return list(process.get_model_weights(state).trainable), metrics


def setUpModule():
  contexts.set_default_context()


class NumpyRecomputationTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('as_published', {}, dict(server_rate=1.0)),
    (
      'with_the_other_choices',
      _OTHER_CHOICES,
      dict(
        server_rate=0.7, per_example=True, mean=True, damping=0.01, uniform=True
      ),
    ),
  )
  def test_three_rounds_equal_algorithms_1_and_2(self, choices, ref_choices):
    process = _build(**choices)
    expected = ref.initial_weights()
    for _ in range(3):
      expected = ref.fed_fish_round(
        expected, _CLIENTS, rate=_RATE, epochs=_EPOCHS, **ref_choices
      )
    actual, _ = _run(process, rounds=3)
    for a, e in zip(actual, expected):
      np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-5)

  @pytest.mark.thorough
  def test_adam_at_clients_equals_delta_of_the_trained_weights(self):
    # With one client FedFish moves to that client's own weights, so its result
    # is Adam's on that client, which TensorFlow's Keras computes independently.
    process = algorithms.build_fed_fish(
      ref.create_functional_model(),
      tff.learning.optimizers.build_adam(0.05),
      _sgd(1.0),
      local_epochs=_EPOCHS,
    )
    actual, _ = _run(process, _CLIENTS[:1])
    variables = [tf.Variable(w) for w in ref.initial_weights()]
    optimizer = tf.keras.optimizers.legacy.Adam(0.05)
    for x, y in _CLIENTS[0] * _EPOCHS:
      gradients = ref.gradients([v.numpy() for v in variables], x, y)
      optimizer.apply_gradients(
        [(tf.cast(g, tf.float32), v) for g, v in zip(gradients, variables)]
      )
    for a, v in zip(actual, variables):
      np.testing.assert_allclose(a, v.numpy(), rtol=1e-4, atol=1e-5)

  @pytest.mark.thorough
  def test_variable_model_and_its_diagnostics_equal_numpy(self):
    process = _build(ref.create_variable_model, diagnostics=True)
    start = ref.initial_weights(3)
    state = process.set_model_weights(
      process.initialize(), tff.learning.models.ModelWeights(list(start), [])
    )
    options = dict(rate=_RATE, server_rate=1.0, epochs=_EPOCHS)
    for _ in range(2):
      state, metrics = process.next(state, _datasets())
      expected = ref.fed_fish_round(start, _CLIENTS, **options)
      weights = process.get_model_weights(state).trainable
      for a, e in zip(weights, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-5)
      average = ref.fed_avg_round(start, _CLIENTS, **options)
      a = np.concatenate([(s - f).ravel() for s, f in zip(start, expected)])
      b = np.concatenate([(s - f).ravel() for s, f in zip(start, average)])
      self.assertAlmostEqual(
        metrics['aggregator']['cosine_to_mean'],
        a @ b / np.linalg.norm(a) / np.linalg.norm(b),
        places=5,
      )
      start = expected


class ExactLimitsTest(parameterized.TestCase):
  def test_equal_clients_are_fed_avg(self):
    twins = [_CLIENTS[0], _CLIENTS[0]]
    actual, _ = _run(_build(), twins)
    expected = ref.fed_avg_round(
      ref.initial_weights(),
      twins,
      rate=_RATE,
      server_rate=1.0,
      epochs=_EPOCHS,
    )
    for a, e in zip(actual, expected):
      tolerance.assert_close(a, e, relative=tolerance.FLOAT32_SUMS)

  def test_one_client_moves_by_its_own_delta(self):
    actual, metrics = _run(_build(), _CLIENTS[:1])
    expected = ref.train(
      ref.initial_weights(), _CLIENTS[0], rate=_RATE, epochs=_EPOCHS
    )
    self.assertEqual(metrics['aggregator']['zero_denominator_share'], 0)
    for a, e in zip(actual, expected):
      tolerance.assert_close(a, e, relative=tolerance.FLOAT32_SUMS)

  @pytest.mark.thorough
  def test_zero_fisher_changes_nothing_and_is_measured(self):
    process = _build(ref.create_functional_model(loss_scale=0.0))
    actual, metrics = _run(process)
    self.assertEqual(metrics['aggregator']['zero_denominator_share'], 1)
    for a, e in zip(actual, ref.initial_weights()):
      np.testing.assert_array_equal(a, e)

  def test_zero_fisher_with_damping_is_fed_avg(self):
    # Features that are zero have no gradient: those rows have zero Fisher and
    # zero delta, all others must follow the damped formula.
    clients = [
      [(x * np.float32([1, 1, 0, 0]), y) for x, y in c] for c in _CLIENTS
    ]
    actual, metrics = _run(_build(damping=0.5), clients)
    expected = ref.fed_fish_round(
      ref.initial_weights(),
      clients,
      rate=_RATE,
      server_rate=1.0,
      epochs=_EPOCHS,
      damping=0.5,
    )
    self.assertEqual(metrics['aggregator']['zero_denominator_share'], 0)
    for a, e in zip(actual, expected):
      tolerance.assert_close(a, e, relative=tolerance.FLOAT32_SUMS)
    _, undamped = _run(_build(), clients)
    dead = 2 * ref.NUM_HIDDEN  # Two features times the hidden units.
    total = sum(w.size for w in ref.initial_weights())
    self.assertAlmostEqual(
      undamped['aggregator']['zero_denominator_share'], dead / total, places=6
    )

  def test_client_without_examples_changes_nothing(self):
    # With damping, or a client without Fisher had no weight anyway.
    for choices in (dict(damping=0.5), _OTHER_CHOICES):
      process = _build(**choices)
      without, _ = _run(process)
      with_empty, metrics = _run(process, _CLIENTS + [[]])
      self.assertEqual(metrics['client_work']['excluded_clients'], 0)
      for a, e in zip(with_empty, without):
        np.testing.assert_array_equal(a, e)

  def test_cohort_without_any_example_keeps_the_weights(self):
    actual, _ = _run(_build(), [[], []])
    for a, e in zip(actual, ref.initial_weights()):
      np.testing.assert_array_equal(a, e)


class ExcludedClientsTest(parameterized.TestCase):
  def _assert_left_out(self, process, broken):
    with_broken, metrics = _run(process, [_CLIENTS[0], broken, _CLIENTS[2]])
    without, expected_metrics = _run(process, [_CLIENTS[0], _CLIENTS[2]])
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)
    self.assertEqual(
      metrics['client_work']['train'], expected_metrics['client_work']['train']
    )
    for a, e in zip(with_broken, without):
      np.testing.assert_array_equal(a, e)

  @parameterized.parameters(np.nan, np.inf)
  def test_client_with_non_finite_delta_is_left_out_and_counted(self, value):
    x, y = _CLIENTS[1][0]
    self._assert_left_out(
      _build(), [(np.full_like(x, value), y)] + _CLIENTS[1][1:]
    )

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
      _sgd(0.1),
      _sgd(1.0),
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
    for a, e in zip(
      process.get_model_weights(output.state).trainable,
      process.get_model_weights(alone.state).trainable,
    ):
      np.testing.assert_array_equal(a, e)

  @pytest.mark.thorough
  def test_client_with_overflowing_fisher_is_left_out_and_counted(self):
    # Features of 1e20 saturate tanh, but keep enough of its slope at zero
    # weights for gradients whose squares overflow float32; deltas do not.
    process = algorithms.build_fed_fish(
      ref.create_functional_model(loss_scale=1.0),
      _sgd(0.0),
      _sgd(1.0),
      local_epochs=_EPOCHS,
    )
    flat = [np.zeros_like(w) for w in ref.initial_weights()]
    flat[2] = ref.initial_weights()[2]
    broken = [(x * np.float32(1e22), y) for x, y in _CLIENTS[1]]
    state = process.set_model_weights(
      process.initialize(), tff.learning.models.ModelWeights(flat, ())
    )
    weights = process.get_model_weights(state)
    data = _datasets([_CLIENTS[0], broken])
    trained = process.local_training(weights, data[1])
    for w in trained.trainable:
      self.assertTrue(np.all(np.isfinite(w)))
    _, metrics = process.next(state, data)
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)
    self.assertFalse(process.update_is_finite(weights, data[1]))

  def test_update_is_finite_tells_who(self):
    process = _build()
    weights = process.get_model_weights(process.initialize())
    x, y = _CLIENTS[1][0]
    broken = [(np.full_like(x, np.nan), y)]
    told = [
      bool(process.update_is_finite(weights, d))
      for d in _datasets([_CLIENTS[0], broken, []])
    ]
    self.assertEqual(told, [True, False, True])


class InterfaceTest(parameterized.TestCase):
  def test_local_training_is_the_clients_part(self):
    process = _build()
    weights = process.get_model_weights(process.initialize())
    trained = process.local_training(weights, _datasets()[0])
    expected = ref.train(
      ref.initial_weights(), _CLIENTS[0], rate=_RATE, epochs=_EPOCHS
    )
    for a, e in zip(trained.trainable, expected):
      tolerance.assert_close(a, e, relative=tolerance.FLOAT32_SUMS)
    self.assertEqual(process.extra_passes, 1)

  @pytest.mark.thorough
  def test_default_server_optimizer_is_adam(self):
    process = algorithms.build_fed_fish(
      ref.create_functional_model(), _sgd(), local_epochs=_EPOCHS
    )
    actual, _ = _run(process)
    for a, start in zip(actual, ref.initial_weights()):
      # Adam's first step has the size of its rate wherever there is a gradient.
      np.testing.assert_allclose(np.abs(a - start), 1e-3, rtol=1e-2)

  def test_data_that_is_not_whole_epochs_is_refused(self):
    with self.assertRaisesRegex(Exception, 'local_epochs=2'):
      _run(_build(), _CLIENTS, epochs=1)

  @parameterized.parameters(
    dict(local_epochs=0),
    dict(damping=-1.0),
    dict(damping=float('nan')),
    dict(minimum_denominator=-1e-9),
    dict(fisher_estimator='per_example'),
    dict(fisher_normalization='mean'),
  )
  def test_bad_arguments_are_named(self, **kwargs):
    with self.assertRaisesRegex(errors.InputError, list(kwargs)[0]):
      _build(**kwargs)

  def test_sampled_labels_need_a_sampler(self):
    with self.assertRaisesRegex(errors.InputError, 'label_sampler'):
      _build(fisher_estimator=client_work.FisherEstimator.SAMPLED_LABEL)

  @pytest.mark.thorough
  def test_sampled_labels_repeat_by_seed_and_change_by_round(self):
    def fisher_of_rounds(seed):
      process = _build(
        fisher_estimator=client_work.FisherEstimator.SAMPLED_LABEL,
        label_sampler=models.categorical_label_sampler(),
        server_rate=1e-30,  # The weights stay, so only the draws differ.
        seed=seed,
      )
      state = process.initialize()
      for _ in range(2):
        state, metrics = process.next(state, _datasets())
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
    process = _build(
      sum_factory=sum_factory,
      fisher_estimator=client_work.FisherEstimator.PER_EXAMPLE,
      damping=0.1,
      **kwargs,
    )
    actual, _ = _run(process)
    exact = ref.fed_fish_round(
      ref.initial_weights(),
      _CLIENTS,
      rate=_RATE,
      server_rate=1.0,
      epochs=_EPOCHS,
      per_example=True,
      damping=0.1,
    )
    return max(np.abs(a - e).max() for a, e in zip(actual, exact))

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

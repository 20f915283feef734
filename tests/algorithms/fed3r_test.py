# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fed3R against scikit-learn on all the examples in one place."""

import collections
import functools
import pathlib

from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import evaluation
from fedfish_tff import models
from fedfish_tff import simulation
from tests import ridge_reference as ref
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import pytest
from sklearn import datasets as sklearn_datasets
from sklearn import linear_model
import tensorflow as tf
import tensorflow_federated as tff

_FEATURES, _CLASSES = 5, 3
_IDENTITY = models.create_identity_features(_FEATURES)
_LAMBDA = 0.1


@functools.cache
def _build():
  """Tracing takes most of the time here, so one process serves many tests."""
  return algorithms.build_fed3r(_IDENTITY, num_classes=_CLASSES)


def _dataset(x, y, batch_size=8):
  return tf.data.Dataset.from_tensor_slices(
    (np.asarray(x, np.float32), np.asarray(y, np.int32))
  ).batch(batch_size)


def _examples(number=40, seed=0):
  x, y = ref.examples(number, _FEATURES, _CLASSES, seed)
  return x.astype(np.float32), y


def _run(process, clients, participation, rounds):
  """Runs rounds over {id: (x, y)}."""
  state = process.initialize()
  for round_number in range(1, rounds + 1):
    cohort = participation(round_number)
    state, metrics = process.next(
      state, [_dataset(*clients[client_id]) for client_id in cohort]
    )
  return state, metrics


def _solve(process, clients, cohort_size=3, seed=0):
  """Returns the weights after one visit to each client."""
  state, _ = _run(
    process,
    clients,
    simulation.visit_once_participation(
      clients, cohort_size=cohort_size, seed=seed
    ),
    simulation.count_visiting_rounds(len(clients), cohort_size=cohort_size),
  )
  return process.get_model_weights(state).trainable


def _partition(x, y, num_clients, seed):
  """Returns {id: (x, y)} of a random partition; some may be empty."""
  owners = np.random.default_rng(seed).integers(0, num_clients, len(x))
  return {
    f'client {i}': (x[owners == i], y[owners == i]) for i in range(num_clients)
  }


def _assert_close(actual, expected, x, regularization=_LAMBDA):
  """Asserts weights that are off by rounding: as float32, and in solving."""
  scale = max(np.abs(e).max() for e in expected)
  for a, e in zip(actual, expected, strict=True):
    np.testing.assert_allclose(
      a, e, rtol=2.0**-24, atol=ref.rounding_bound(x, regularization) * scale
    )


class ExactnessTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.processes = {
      bias: algorithms.build_fed3r(
        _IDENTITY,
        num_classes=_CLASSES,
        regularization=_LAMBDA,
        bias=bias,
        normalize_classes=False,
        accumulator_dtype=tf.float64,
      )
      for bias in models.RidgeBias
    }

  @hypothesis.settings(max_examples=15)
  @hypothesis.given(
    number=st.integers(2, 50),
    num_clients=st.integers(1, 7),
    cohort_size=st.integers(1, 7),
    bias=st.sampled_from(list(models.RidgeBias)),
    seed=st.integers(0, 2**30),
  )
  def test_equals_scikit_learn_however_examples_are_distributed(
    self, number, num_clients, cohort_size, bias, seed
  ):
    x, y = _examples(number, seed)
    actual = _solve(
      self.processes[bias],
      _partition(x, y, num_clients, seed),
      cohort_size,
      seed,
    )
    expected = ref.scikit_learn(
      x.astype(np.float64), y, _CLASSES, _LAMBDA, bias
    )
    _assert_close(actual, expected, x)

  @hypothesis.settings(max_examples=10)
  @hypothesis.given(
    num_clients=st.integers(1, 5),
    cohort_size=st.integers(1, 5),
    rounds=st.integers(1, 8),
    seed=st.integers(0, 2**30),
  )
  def test_counts_the_clients_of_cohorts_of_any_size(
    self, num_clients, cohort_size, rounds, seed
  ):
    clients = _partition(*_examples(30, seed), num_clients, seed)
    sample = simulation.uniform_participation(
      clients, cohort_size=min(cohort_size, num_clients), seed=seed
    )

    def first_visits(round_number):
      before = {c for r in range(1, round_number) for c in sample(r)}
      return tuple(c for c in sample(round_number) if c not in before)

    bias = models.RidgeBias.REGULARIZED
    state, _ = _run(self.processes[bias], clients, first_visits, rounds)
    came = sorted({c for r in range(1, rounds + 1) for c in sample(r)})
    x, y = (np.concatenate(a) for a in zip(*(clients[c] for c in came)))
    if not len(x):
      expected = np.zeros([_FEATURES, _CLASSES]), np.zeros(_CLASSES)
    else:
      expected = ref.scikit_learn(
        x.astype(np.float64), y, _CLASSES, _LAMBDA, bias
      )
    if np.abs(expected[0]).max():
      _assert_close(
        self.processes[bias].get_model_weights(state).trainable, expected, x
      )

  def test_a_run_visits_all_resumes_and_ends_with_the_classifier(self):
    process = self.processes[models.RidgeBias.CENTERED]
    x, y = _examples(90)
    # By label: most clients hold one class.
    parts = np.array_split(np.argsort(y, kind='stable'), 7)
    clients = datasets.InMemoryClientData(
      {f'client {i}': (x[p], np.int32(y[p])) for i, p in enumerate(parts)}
    )
    folder = pathlib.Path(self.create_tempdir().full_path)

    def run(name, rounds, cohort_size):
      return simulation.run_training(
        process,
        train_data=clients,
        participation=simulation.visit_once_participation(
          clients.client_ids, cohort_size=cohort_size, seed=1
        ),
        batch_spec=datasets.BatchSpec(batch_size=16),
        seed=1,
        rounds=rounds,
        program_state_manager=simulation.CheckpointManager(folder / name),
      ).state

    self.assertEqual(simulation.count_visiting_rounds(7, cohort_size=2), 4)
    run('a', 2, 2)
    resumed = run('a', 4, 2)
    # Two more rounds than there are clients for, in other cohorts.
    longer = run('b', 5, 3)
    expected = ref.scikit_learn(
      x.astype(np.float64), y, _CLASSES, _LAMBDA, models.RidgeBias.CENTERED
    )
    for state in (resumed, longer):
      _assert_close(process.get_model_weights(state).trainable, expected, x)

  def test_seen_twice_it_would_count_twice(self):
    process = self.processes[models.RidgeBias.REGULARIZED]
    x, y = _examples()
    state = process.initialize()
    for _ in range(2):
      state, metrics = process.next(state, [_dataset(x, y)])
    self.assertEqual(metrics['finalizer']['total_examples'], 80)
    _assert_close(
      process.get_model_weights(state).trainable,
      ref.scikit_learn(
        np.concatenate([x, x]).astype(np.float64),
        np.concatenate([y, y]),
        _CLASSES,
        _LAMBDA,
        models.RidgeBias.REGULARIZED,
      ),
      np.concatenate([x, x]),
    )


class RealDataTest(absltest.TestCase):
  @pytest.mark.thorough
  def test_digits_are_as_accurate_to_the_last_digit_for_every_partition(self):
    x, y = sklearn_datasets.load_digits(return_X_y=True)
    # Sums of whole numbers would be exact in any order.
    x = (x / 16 * np.pi).astype(np.float32)
    train, test = slice(0, 1200), slice(1200, None)
    process = algorithms.build_fed3r(
      models.create_identity_features(64),
      num_classes=10,
      regularization=1.0,
      bias=models.RidgeBias.CENTERED,
      normalize_classes=False,
      accumulator_dtype=tf.float64,
    )
    order = np.argsort(y[train], kind='stable')
    partitions = [
      {'all': (x[train], y[train])},
      _partition(x[train], y[train], 30, 0),
      # Clients of one class each.
      {
        str(i): (x[train][part], y[train][part])
        for i, part in enumerate(np.array_split(order, 10))
      },
    ]
    solutions = [
      _solve(process, clients, cohort_size, seed)
      for clients, cohort_size, seed in zip(partitions, (1, 7, 10), (0, 1, 2))
    ]
    # The sums of 1,200 products too are rounded, by 1200 * 2^-53 of the trace at
    # most, which weights pass on as `ref.rounding_bound` says of solving.
    trace = np.sum(np.square(x[train], dtype=np.float64)) + 1200
    off_sums = 2 * 1200 * 2.0**-53 * trace
    off_solving = ref.rounding_bound(x[train], 1.0)
    self.assertLess(off_sums, 1e-6)
    for solution in solutions[1:]:
      for a, e in zip(solution, solutions[0], strict=True):
        np.testing.assert_allclose(
          a,
          e,
          # Weights of float32.
          rtol=2.0**-23,
          atol=(off_sums + off_solving) * np.abs(solutions[0][0]).max(),
        )
    exact = x.astype(np.float64)
    classifier = linear_model.RidgeClassifier(alpha=1.0).fit(
      exact[train], y[train]
    )
    # Its targets are -1 and 1.
    _assert_close(
      solutions[0],
      (classifier.coef_.T / 2, (classifier.intercept_ + 1) / 2),
      x[train],
      1.0,
    )
    model = models.create_feature_classifier(
      models.create_identity_features(64), num_classes=10, temperature=0.1
    )
    evaluate = evaluation.ClientScorer(model)
    held_out = [[{'test': _dataset(x[test], y[test], 100)}]]
    accuracies = [
      evaluate(
        tff.learning.models.ModelWeights(tuple(solution), ()), held_out
      ).total['accuracy']
      for solution in solutions
    ]
    self.assertLen(set(accuracies), 1)
    self.assertAlmostEqual(
      accuracies[0], classifier.score(exact[test], y[test]), places=6
    )

  @pytest.mark.thorough
  def test_float32_sums_are_close(self):
    x, y = _examples(200)
    regularization = 0.01
    process = algorithms.build_fed3r(
      _IDENTITY,
      num_classes=_CLASSES,
      regularization=regularization,
      normalize_classes=False,
    )
    actual = np.vstack(_solve(process, _partition(x, y, 9, 0)))
    expected = np.vstack(
      ref.scikit_learn(
        x.astype(np.float64),
        y,
        _CLASSES,
        regularization,
        models.RidgeBias.REGULARIZED,
      )
    )
    # Sums of 200 products are each off by 200 roundings at most, which the
    # inverse passes on: W + dW = (A + dA + lambda I)^-1 (b + db).
    gram, moments = ref.sums(x.astype(np.float64), y, _CLASSES)
    sizes = ref.sums(np.abs(x).astype(np.float64), y, _CLASSES)
    off_gram, off_moments = (len(x) * 2.0**-24 * size for size in sizes)
    inverse = np.linalg.inv(gram + regularization * np.eye(len(gram)))
    np.testing.assert_allclose(inverse @ moments, expected, rtol=1e-9)
    bound = np.abs(inverse) @ (off_moments + off_gram @ np.abs(expected))
    np.testing.assert_array_less(np.abs(actual - expected), bound)
    # Else the bound would say nothing.
    self.assertLess(bound.max(), 1e-2 * np.abs(expected).max())


class ProcessTest(parameterized.TestCase):
  def test_labels_outside_of_the_classes_are_told(self):
    process = _build()
    x, y = _examples(20)
    with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
      process.next(
        process.initialize(), [_dataset(x, y), _dataset(x, y + 1, 20)]
      )
    self.assertEqual(
      errors.describe_failed_check(caught.exception, ['a', 'b']),
      'Client b: The labels of a batch must be from 0 to 2, got labels from 1 to '
      '3 with 3 classes.',
    )

  def test_a_singular_matrix_with_lambda_zero_is_told(self):
    process = algorithms.build_fed3r(
      _IDENTITY, num_classes=_CLASSES, regularization=0.0
    )
    x, y = _examples(40)
    state, _ = process.next(process.initialize(), [_dataset(x[:4], y[:4])])
    with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
      process.get_model_weights(state)
    self.assertEqual(
      errors.describe_failed_check(caught.exception),
      'With lambda = 0 the sums of the features have no ridge solution: A + lambda '
      'I is singular or not positive definite in working precision; take a larger '
      'lambda, or more examples, or accumulator_dtype=tf.float64 (in a config: '
      'algorithm.accumulator=float64).',
    )
    with self.subTest('and solved as soon as there are examples enough'):
      state, _ = process.next(state, [_dataset(x[4:], y[4:])])
      self.assertTrue(np.any(process.get_model_weights(state).trainable[0]))

  def test_lambda_is_chosen_afterwards(self):
    process = algorithms.build_fed3r(
      _IDENTITY,
      num_classes=_CLASSES,
      normalize_classes=False,
      accumulator_dtype=tf.float64,
    )
    x, y = _examples()
    state, _ = process.next(process.initialize(), [_dataset(x, y)])
    self.assertEqual(process.get_hparams(state)['regularization'], 0.01)
    changed = process.set_hparams(
      state, collections.OrderedDict(regularization=5.0)
    )
    expected = ref.scikit_learn(
      x.astype(np.float64), y, _CLASSES, 5.0, models.RidgeBias.REGULARIZED
    )
    _assert_close(
      process.get_model_weights(changed).trainable, expected, x, 5.0
    )
    path = models.solve_ridge_path(
      _IDENTITY, state['statistics'], [1.0, 5.0], normalize_classes=False
    )
    _assert_close(path[5.0].trainable, expected, x, 5.0)

  @pytest.mark.thorough
  def test_defaults_of_process_path_and_solution_agree(self):
    process = algorithms.build_fed3r(
      _IDENTITY, num_classes=_CLASSES, accumulator_dtype=tf.float64
    )
    x, y = _examples()
    state, _ = process.next(process.initialize(), [_dataset(x, y)])
    expected = process.get_model_weights(state).trainable
    path = models.solve_ridge_path(_IDENTITY, state['statistics'], [0.01])
    _assert_close(path[0.01].trainable, expected, x, 0.01)
    solution = models.solve_ridge(
      *map(tf.constant, state['statistics'].values()), 0.01
    )
    _assert_close([t.numpy() for t in solution], expected, x, 0.01)

  def test_weights_can_be_set_and_sums_are_forgotten(self):
    features = models.create_dense_features(
      num_inputs=_FEATURES, hidden_units=[6], seed=1
    )
    process = algorithms.build_fed3r(features, num_classes=_CLASSES)
    x, y = _examples()
    once, _ = process.next(process.initialize(), [_dataset(x, y)])
    weights = process.get_model_weights(once)
    *extractor, kernel, bias = weights.trainable
    tolerance.assert_same(extractor, features.initial_weights)
    given = tff.learning.models.ModelWeights(
      (*extractor, kernel + 1, bias - 1), ()
    )
    state = process.set_model_weights(once, given)
    tolerance.assert_same(
      process.get_model_weights(state).trainable, given.trainable
    )
    again, _ = process.next(state, [_dataset(x, y)])
    tolerance.assert_same(
      process.get_model_weights(again).trainable, weights.trainable
    )
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError, 'must have the feature extractor'
    ):
      process.set_model_weights(
        once,
        tff.learning.models.ModelWeights(
          (extractor[0] + 1, extractor[1], kernel, bias), ()
        ),
      )

  def test_local_training_is_one_client_s_solution(self):
    process = _build()
    x, y = _examples()
    state, _ = process.next(process.initialize(), [_dataset(x[:20], y[:20])])
    own = process.get_model_weights(state)
    start = process.get_model_weights(process.initialize())
    for data, expected in (
      (_dataset(x[:20], y[:20]), own),
      (_dataset(x[:0], y[:0]), start),
      (_dataset(np.full_like(x, np.nan), y), start),
    ):
      trained = process.local_training(start, data)
      tolerance.assert_same(trained.trainable, expected.trainable)

  @parameterized.named_parameters(
    ('secure', tff.aggregators.SecureSumFactory(1e3, -1e3)),
    (
      'noiseless_privacy',
      tff.aggregators.DifferentiallyPrivateFactory.gaussian_fixed(
        noise_multiplier=0.0, clients_per_round=1.0, clip=1e6
      ),
    ),
  )
  @pytest.mark.thorough
  def test_inner_factories_compose(self, sum_factory):
    x, y = _examples()
    clients = _partition(x, y, 4, 0)
    actual, expected = (
      _solve(
        algorithms.build_fed3r(
          _IDENTITY,
          num_classes=_CLASSES,
          regularization=1.0,
          normalize_classes=False,
          sum_factory=factory,
        ),
        clients,
      )
      for factory in (sum_factory, None)
    )
    # Of either sum: an integer below 2^32 for a number from -1,000 to 1,000 at
    # each client, and float32 additions. With lambda = 1 an inverse of norm 1 at
    # most passes them on: |dW| <= |db| + |dA| |W|.
    size = max(np.abs(s).max() for s in ref.sums(x, y, _CLASSES))
    off = 4 * 2000 / 2**32 + 2 * 4 * 2.0**-24 * size
    norm = np.linalg.norm(np.vstack(expected))
    features = _FEATURES + 1
    bound = off * (np.sqrt(features * _CLASSES) + features * norm)
    self.assertLess(bound, 5e-3)
    for a, e in zip(actual, expected):
      np.testing.assert_allclose(a, e, rtol=0, atol=bound)

  @pytest.mark.thorough
  def test_private_sums_are_sums(self):
    noise, clip = 0.5, 200.0
    x, y = _examples()
    clients = [_dataset(x[i::4], y[i::4]) for i in range(4)]
    sums = {}
    for clients_per_round in (1.0, 4.0):
      process = algorithms.build_fed3r(
        _IDENTITY,
        num_classes=_CLASSES,
        sum_factory=tff.aggregators.DifferentiallyPrivateFactory.gaussian_fixed(
          noise_multiplier=0.0, clients_per_round=clients_per_round, clip=1e6
        ),
      )
      state, _ = process.next(process.initialize(), clients)
      sums[clients_per_round] = state['statistics']
    for name, exact in zip(('gram', 'moments'), ref.sums(x, y, _CLASSES)):
      # Float32 sums of 40 products.
      atol = 40 * 2.0**-24 * np.abs(exact).max()
      np.testing.assert_allclose(sums[1.0][name], exact, rtol=0, atol=atol)
      # What the documentation warns of.
      np.testing.assert_allclose(sums[4.0][name], exact / 4, rtol=0, atol=atol)
    with self.subTest('with the noise that is documented, of nobody too'):
      process = algorithms.build_fed3r(
        models.create_identity_features(60),
        num_classes=10,
        sum_factory=tff.aggregators.DifferentiallyPrivateFactory.gaussian_fixed(
          noise_multiplier=noise, clients_per_round=1.0, clip=clip
        ),
      )
      state, _ = process.next(process.initialize(), [])
      drawn = state['statistics']['gram'][np.triu_indices(61)]
      # 1,891 numbers: their deviation spreads by 1 / sqrt(2 * 1891) of itself.
      self.assertAlmostEqual(
        np.std(drawn) / (noise * clip), 1, delta=5 / np.sqrt(2 * len(drawn))
      )

  def test_bad_arguments(self):
    for arguments, message in (
      (dict(num_classes=1), 'num_classes must be .* least 2, got 1'),
      (dict(num_classes=2, regularization=-1.0), 'lambda .*-1.0'),
      (dict(num_classes=2, bias='centered'), "RidgeBias, got 'centered'"),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        algorithms.build_fed3r(_IDENTITY, **arguments)

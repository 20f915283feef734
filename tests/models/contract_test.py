# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The contract of functional models: one test runs all of them."""

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import models
from tasks import networks
from tests import named_tensors
from tests import tolerance
from tests.models import graph_rounds

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow_federated as tff

_IMAGES = dict(input_shape=(16, 16, 1), num_classes=3)
_TOKENS = dict(vocabulary_size=12)
_LSTM = dict(**_TOKENS, embedding_size=6, lstm_size=5)
_TEXTS = dict(**_TOKENS, class_names=('one', 'two', 'three'), embedding_size=5)


def _create_feature_classifier(seed, num_classes=3):
  features = models.create_dense_features(
    num_inputs=4, hidden_units=[5], seed=seed
  )
  return models.create_feature_classifier(features, num_classes=num_classes)


# The function, options and the names of tensors. A new model is entered here.
_MODELS = {
  'compact_cnn': (
    networks.create_compact_cnn,
    _IMAGES,
    networks.COMPACT_CNN_TENSORS,
  ),
  'fed_avg_cnn': (
    networks.create_fed_avg_cnn,
    _IMAGES,
    networks.FED_AVG_CNN_TENSORS,
  ),
  'dropout_cnn': (
    networks.create_dropout_cnn,
    _IMAGES,
    networks.DROPOUT_CNN_TENSORS,
  ),
  'lenet5': (networks.create_lenet5, _IMAGES, networks.LENET5_TENSORS),
  'vgg9': (
    networks.create_vgg9,
    dict(**_IMAGES, filters=6 * (2,), hidden_units=(4, 4)),
    networks.VGG9_TENSORS,
  ),
  'resnet18': (networks.create_resnet18, _IMAGES, networks.RESNET18_TENSORS),
  'mlp_classifier': (
    models.create_mlp_classifier,
    dict(num_features=4, num_classes=3, hidden_units=(5, 4)),
    models.mlp_tensor_names(2),
  ),
  'mlp_classifier_without_hidden_units': (
    models.create_mlp_classifier,
    dict(num_features=4, num_classes=3, hidden_units=()),
    models.mlp_tensor_names(0),
  ),
  'mlp_regressor': (
    models.create_mlp_regressor,
    dict(num_features=4, hidden_units=(5,)),
    models.mlp_tensor_names(1),
  ),
  'linear_representation': (
    models.create_linear_representation,
    dict(num_features=5, num_components=2),
    models.LINEAR_REPRESENTATION_TENSORS,
  ),
  'feature_classifier': (
    _create_feature_classifier,
    {},
    models.feature_classifier_tensor_names(
      models.create_dense_features(num_inputs=4, hidden_units=[5], seed=0)
    ),
  ),
  'stackoverflow_rnn': (
    networks.create_stackoverflow_rnn,
    _LSTM,
    networks.STACKOVERFLOW_RNN_TENSORS,
  ),
  'character_lstm': (
    networks.create_character_lstm,
    _LSTM,
    networks.CHARACTER_LSTM_TENSORS,
  ),
  'cifg_lstm': (networks.create_cifg_lstm, _LSTM, networks.CIFG_LSTM_TENSORS),
  'transformer': (
    networks.create_transformer,
    dict(**_TOKENS, num_layers=2, num_heads=2, hidden_size=8),
    networks.transformer_tensor_names(2),
  ),
  'bag_of_tokens_classifier': (
    networks.create_bag_of_tokens_classifier,
    _TEXTS,
    networks.BAG_OF_TOKENS_TENSORS,
  ),
  'text_cnn': (networks.create_text_cnn, _TEXTS, networks.TEXT_CNN_TENSORS),
}
# The samplers of labels, each with a model of such labels.
_SAMPLERS = {
  'mlp_regressor': models.gaussian_label_sampler,
  'compact_cnn': models.categorical_label_sampler,
  'character_lstm': models.token_label_sampler,
}
# Sizes that must be positive integers, of any of the models.
_SIZES = (
  *('num_features', 'num_classes', 'hidden_units', 'num_components'),
  *('vocabulary_size', 'embedding_size', 'lstm_size', 'num_layers'),
)


def _create(name, *, seed=0, **changes):
  create, options, _ = _MODELS[name]
  return create(**{**options, **changes}, seed=seed)


def _draw_client(model, num_examples):
  """Draws examples as the model takes them; sequences have 6 tokens."""
  rng = np.random.default_rng(num_examples)
  arrays = []
  for spec, limit in zip(model.input_spec, (12, 3)):
    shape = [num_examples, *(n or 6 for n in spec.shape[1:])]
    if spec.dtype.is_floating:
      array = rng.standard_normal(shape)
    else:
      # Labels of sequences are tokens.
      array = rng.integers(1, 12 if len(shape) > 1 else limit, shape)
    arrays.append(array.astype(spec.dtype.as_numpy_dtype))
  return tuple(arrays)


class ContractTest(parameterized.TestCase):
  @parameterized.parameters(*_MODELS)
  def test_tensors_have_names_and_are_a_function_of_the_seed(self, name):
    first, again, other = (
      _create(name, seed=seed).initial_weights for seed in (0, 0, 1)
    )
    _, _, names = _MODELS[name]
    named_tensors.assert_named(names, first[0])
    self.assertEqual({w.dtype.name for w in first[0]}, {'float32'})
    self.assertEmpty(first[1])
    tolerance.assert_same(first, again)
    for a, b in zip(first[0], other[0], strict=True):
      if a.ndim > 1 and np.ptp(a):  # Drawn, not constant.
        self.assertFalse(np.array_equal(a, b))

  @parameterized.parameters(*_MODELS)
  def test_sizes_must_be_positive(self, name):
    _, options, _ = _MODELS[name]
    for size in set(_SIZES) & set(options):
      value = (8, 0) if size == 'hidden_units' else 0
      with self.assertRaisesRegex(errors.InputError, f'{size} .*got 0'):
        _create(name, **{size: value})
    if 'num_classes' in options:
      with self.assertRaisesRegex(errors.InputError, 'least 2, got 1'):
        _create(name, num_classes=1)
    if 'input_shape' in options:
      for shape, message in (
        ((28, 28, 0), 'positive.*0'),
        ((28, 28), r'got 2 size\(s\)'),
      ):
        with self.assertRaisesRegex(errors.InputError, message):
          _create(name, input_shape=shape)

  @parameterized.parameters(
    # Tracing all of the residual network takes long; resnet_test has a part.
    *(name for name in _MODELS if name != 'resnet18')
  )
  @pytest.mark.thorough
  def test_rounds_run_as_graphs_and_repeat(self, name):
    """FedAvg's, and FedFish's with each sampler of labels."""
    model = _create(name)
    optimizers = map(tff.learning.optimizers.build_sgdm, (0.1, 1.0))
    if name in _SAMPLERS:
      process = algorithms.build_fed_fish(
        model,
        *optimizers,
        local_epochs=2,
        fisher_estimator=client_work.FisherEstimator.SAMPLED_LABEL,
        label_sampler=_SAMPLERS[name](),
      )
    else:
      process = algorithms.build_fed_avg(model, *optimizers)
    cohort = [
      datasets.plan_batches(
        _draw_client(model, n),
        datasets.BatchSpec(batch_size=2, epochs=2),
        client_id=str(n),
        seed=0,
        round_number=0,
      )
      for n in (3, 4)
    ]
    weights, _ = graph_rounds.check(process, cohort)
    self.assertFalse(
      np.array_equal(weights.trainable[-1], model.initial_weights[0][-1])
    )

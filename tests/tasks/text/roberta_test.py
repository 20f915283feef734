# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of RoBERTa as a model; see those of its tokens and checkpoints."""

import random
from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff import models
from tasks.text import roberta
from tasks.text import roberta_checkpoint
from tests import roberta_files
from tests import temporary_folders
from tests import tolerance
from tests.models import graph_rounds

from absl.testing import parameterized
import numpy as np
import pytest
from scipy import stats
import tensorflow as tf
import tensorflow_federated as tff
import transformers

_TEXTS = roberta_files.TEXTS
_LENGTH = roberta_files.LENGTH
# Of the head: what begins at random where a checkpoint has no classifier.
_HEAD = 'classifier/'


def _create(texts=_TEXTS, **kwargs):
  sizes = {'tiny': roberta_files.SIZE}
  with mock.patch.dict(roberta.ROBERTA_SIZES, sizes):
    return roberta.create_roberta(
      texts,
      **{
        **dict(
          class_names=roberta_files.CLASS_NAMES,
          seed=0,
          sequence_length=_LENGTH,
          vocabulary_size=roberta_files.VOCABULARY_SIZE,
        ),
        **kwargs,
      },
    )


def _initial_weights(parts):
  return dict(
    zip(
      parts.tensor_names,
      parts.create_model().initial_weights[0],
      strict=True,
    )
  )


class RobertaTest(temporary_folders.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # Dropout is of training alone.
    cls._parts, cls._other = (
      _create(dropout=0.1, seed=seed) for seed in (0, 1)
    )
    cls._tokens = cls._parts.tokenize(_TEXTS)

  def test_tensors(self):
    weights = _initial_weights(self._parts)
    # 16 of the layer, 5 of embeddings and 4 of the head.
    self.assertLen(weights, 16 + 5 + 4)
    self.assertLen(self._parts.tensor_names, len(weights))
    size = self._parts.tokens.size
    for name, shape in {
      'roberta/encoder/layer_0/attention/self/query/kernel': (8, 8),
      'roberta/encoder/layer_0/intermediate/dense/bias': (32,),
      'roberta/embeddings/word_embeddings/weight': (size, 8),
      'roberta/embeddings/position_embeddings/embeddings': (_LENGTH + 2, 8),
      'classifier/out_proj/kernel': (8, 3),
    }.items():
      self.assertEqual(weights[name].shape, shape)
    self.assertEqual(self._parts.create_model().initial_weights[1], ())

  def test_weights_are_of_the_seed_alone(self):
    tf.random.set_seed(3)
    expected = tf.random.uniform([2]).numpy(), tf.random.uniform([2]).numpy()
    tf.random.set_seed(3)
    first = tf.random.uniform([2]).numpy()
    random_state, numpy_state = random.getstate(), np.random.get_state()
    again = _initial_weights(_create())
    self.assertEqual(random.getstate(), random_state)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_state[1])
    np.testing.assert_array_equal(
      [first, tf.random.uniform([2]).numpy()], expected
    )
    same, other = map(_initial_weights, (self._parts, self._other))
    self.assertEqual(same.keys(), again.keys())
    for name, one in same.items():
      np.testing.assert_array_equal(one, again[name])
      kind = name.rpartition('/')[-1]
      if kind in ('bias', 'beta', 'gamma'):
        np.testing.assert_array_equal(one, np.full_like(one, kind == 'gamma'))
      else:
        self.assertGreater(np.abs(one - other[name]).max(), 0, name)
    embeddings = same['roberta/embeddings/word_embeddings/weight']
    self.assertGreater(
      stats.kstest(
        embeddings.ravel(), stats.truncnorm(-2, 2, scale=0.02).cdf
      ).pvalue,
      1e-3,
    )

  def test_weights_are_of_the_size_of_the_library(self):
    with roberta_checkpoint.quiet_transformers():
      model = transformers.TFRobertaForSequenceClassification(
        roberta_files.create_keras_model(
          vocabulary_size=self._parts.tokens.size
        ).config
      )
      model.build_in_name_scope()
    for name, variable, weight in zip(
      self._parts.tensor_names,
      model.trainable_variables,
      self._parts.create_model().initial_weights[0],
      strict=True,
    ):
      self.assertEqual(weight.shape, variable.shape, name)
      deviation = variable.numpy().std()
      # Six times by how much two draws of so many differ; the library's have no
      # seed.
      tolerance = 6 / variable.shape.num_elements() ** 0.5
      self.assertAlmostEqual(
        weight.std(), deviation, delta=tolerance * deviation, msg=name
      )

  def test_checkpoint(self):
    keras_model = roberta_files.create_keras_model()
    keras_model.save_pretrained(self.folder, safe_serialization=True)
    roberta_files.save_tokens(self.folder, self._parts.tokens)
    parts = _create([], checkpoint=str(self.folder))
    np.testing.assert_array_equal(parts.tokenize(_TEXTS), self._tokens)
    model = parts.create_model()
    np.testing.assert_allclose(
      model.predict_on_batch(
        model.initial_weights, self._tokens, training=False
      ),
      roberta_files.compute_logits(keras_model, self._tokens),
      rtol=1e-4,
      atol=1e-5,
    )

  @pytest.mark.slow
  def test_dropout(self):
    keras_model = roberta_files.create_keras_model()
    # Not all as the library has it by default.
    keras_model.config.attention_probs_dropout_prob = 0.2
    self.assertEqual(keras_model.config.hidden_dropout_prob, 0.1)
    keras_model.save_pretrained(self.folder, safe_serialization=True)
    roberta_files.save_tokens(self.folder, self._parts.tokens)
    for options, hidden, attention in (
      ({'checkpoint': self.folder}, 0.1, 0.2),
      ({'checkpoint': self.folder, 'dropout': 0.3}, 0.3, 0.3),
      ({}, 0, 0),
    ):
      with mock.patch.object(
        roberta.models,
        'create_keras_classifier',
        autospec=True,
        side_effect=models.create_keras_classifier,
      ) as create:
        model = _create(**options).create_model()
      config = create.call_args.args[0].config
      self.assertEqual(
        (config.hidden_dropout_prob, config.attention_probs_dropout_prob),
        (hidden, attention),
      )
      trained, evaluated = (
        model.predict_on_batch(
          model.initial_weights, self._tokens, training=training
        )
        for training in (True, False)
      )
      off = np.abs(trained - evaluated).max() / np.abs(evaluated).max()
      self.assertEqual(off < tolerance.FLOAT32_STEPS, not hidden)

  def test_checkpoint_of_a_language_model_gets_a_head(self):
    keras_model = roberta_files.create_keras_model()
    roberta_files.save_language_model(self.folder, keras_model)
    roberta_files.save_tokens(self.folder, self._parts.tokens)
    found = _initial_weights(_create([], checkpoint=self.folder, seed=1))
    # That of the seed, as without a checkpoint.
    same_head = _initial_weights(self._other)
    other_head = _initial_weights(self._parts)
    for (name, weight), variable in zip(
      found.items(), keras_model.trainable_variables, strict=True
    ):
      if name.startswith(_HEAD):
        np.testing.assert_array_equal(weight, same_head[name])
        # The other seed's biases are zero, too.
        if name.endswith('kernel'):
          self.assertGreater(np.abs(weight - other_head[name]).max(), 0)
          self.assertLess(np.abs(weight).max(), 0.05)
        else:
          np.testing.assert_array_equal(weight, 0 * weight)
      else:
        np.testing.assert_array_equal(weight, variable.numpy())

  def test_checkpoint_with_more_tokens_than_embeddings(self):
    size = self._parts.tokens.size
    roberta_files.create_keras_model(vocabulary_size=size - 1).save_pretrained(
      self.folder, safe_serialization=True
    )
    roberta_files.save_tokens(self.folder, self._parts.tokens)
    with self.assertRaisesRegex(
      errors.InputError, f'its {size} tokens, got {size - 1}'
    ):
      _create([], checkpoint=self.folder)

  @pytest.mark.thorough
  def test_trains_on_the_fast_path(self):
    model = self._parts.create_model()
    labels = np.arange(len(_TEXTS), dtype=np.int32) % 3
    data = [
      tf.data.Dataset.from_tensor_slices(
        (self._tokens[part], labels[part])
      ).batch(4)
      for part in (slice(9), slice(9, 15))
    ]
    process = algorithms.build_fed_avg(
      model, tff.learning.optimizers.build_sgdm(0.1)
    )
    _, metrics = graph_rounds.check(process, data, num_rounds=2)
    self.assertTrue(np.isfinite(metrics['loss']))
    self.assertIn('f1_two', metrics)

  @parameterized.parameters(
    ({'sequence_length': 2}, 'sequence_length must be .*got 2'),
    ({'vocabulary_size': 0}, 'vocabulary_size must be .*got 0'),
    ({'size': 'huge'}, "size must be .*got 'huge'"),
    ({'dropout': 1.0}, 'dropout must be .*got 1.0'),
    ({'texts': []}, 'There .*text'),
    ({'class_names': ('one',)}, 'at least two'),
  )
  def test_faulty_options(self, options, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      _create(**options)

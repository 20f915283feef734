# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the task ag_news; those of RoBERTa itself are in roberta_test."""

from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import errors
from tasks.text import ag_news
from tasks.text import roberta
from tests import local_data
from tests import tolerance
from tests import usable_tasks

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow_federated as tff

_SMALL = dict(num_generated=400, sequence_length=24, vocabulary_size=600)


def _create(**options):
  return ag_news.create_task(**{'seed': 0, **_SMALL, **options})


def _splits(task):
  return task.train, task.validation, task.test


def _count_texts(task):
  """Returns how often each row of tokens is in the training clients."""
  rows, _ = usable_tasks.pool(task.train)
  return np.unique(rows, axis=0, return_counts=True)


class AgNewsTest(parameterized.TestCase):
  def test_clients(self):
    task = _create(beta=0.5)
    self.assertEqual(
      task.train.client_ids, tuple(f'client_{n}' for n in range(5))
    )
    self.assertEqual(task.validation.client_ids, ('validation',))
    self.assertEqual(task.test.client_ids, ('test',))
    sizes = {'validation': 30, 'test': 100}
    for client_id, (x, y) in usable_tasks.load_clients(*_splits(task)).items():
      # Three quarters of what validation leaves of 300.
      self.assertEqual(x.shape, (sizes.get(client_id, 202), 24))
      self.assertEqual((x.dtype, y.dtype), (np.int32, np.int32))
      self.assertBetween(y.min(), 0, 3)
    _, counts = _count_texts(task)
    self.assertGreater(counts.max(), 5)
    for client_id, count in (('validation', 30), ('test', 100)):
      data = task.validation if count == 30 else task.test
      labels = np.bincount(data.load_client(client_id)[1], minlength=4)
      np.testing.assert_allclose(labels, count / 4, atol=1)

  def test_clients_of_a_divided_pool_without_replacement(self):
    task = _create(pool='divided', with_replacement=False, beta=0.25)
    self.assertLen(task.validation.client_ids, 5)
    _, counts = _count_texts(task)
    self.assertEqual(counts.max(), 1)

  @parameterized.parameters(
    ('linear', 'embedding/table'),
    ('cnn', 'convolution_4/bias'),
    ('roberta', 'classifier/out_proj/bias'),
  )
  def test_model(self, name, tensor_name):
    size = dict(num_layers=1, num_heads=1, hidden_size=8)
    with mock.patch.dict(roberta.ROBERTA_SIZES, {'tiny': size}):
      task = _create(model=name)
    model = usable_tasks.check(task)
    self.assertIn(tensor_name, task.tensor_names)
    metrics = model.finalize_metrics(model.initialize_metrics_state())
    self.assertContainsSubset(
      ['accuracy', 'macro_f1', 'f1_sci_tech', 'confusion_world_as_business'],
      metrics,
    )

  @pytest.mark.thorough
  def test_two_rounds_of_fed_avg_learn(self):
    task = _create(num_generated=1200)
    model = task.create_model()
    process = algorithms.build_fed_avg(
      model, tff.learning.optimizers.build_adam(0.02)
    )
    state = process.initialize()
    for round_number in (1, 2):
      cohort = [
        datasets.plan_batches(
          task.train.load_client(client_id),
          datasets.BatchSpec(batch_size=8),
          client_id=client_id,
          seed=0,
          round_number=round_number,
        ).to_dataset()
        for client_id in task.train.client_ids
      ]
      state = process.next(state, cohort).state
    weights = process.get_model_weights(state)
    x, y = task.test.load_client('test')
    logits = model.predict_on_batch(
      (weights.trainable, weights.non_trainable), x, training=False
    )
    # Chance is 0.25.
    self.assertGreater(np.mean(np.argmax(logits, axis=1) == y), 0.6)

  def test_is_a_function_of_the_seed(self):
    first, again, other = (_create(seed=seed) for seed in (0, 0, 1))

    def arrays(task):
      x, y = task.train.load_client('client_3')
      return x, y, task.create_model().initial_weights[0][1]

    for a, b, c in zip(*map(arrays, (first, again, other))):
      np.testing.assert_array_equal(a, b)
      self.assertFalse(np.array_equal(a, c))

  def test_data_is_the_same_for_both_models_and_any_beta_s_test(self):
    linear, cnn = _create(model='linear'), _create(model='cnn', beta=1.0)
    for one, other in zip(_splits(linear), _splits(cnn)):
      for client_id in one.client_ids:
        tolerance.assert_same(
          one.load_client(client_id), other.load_client(client_id)
        )
    labels = [
      _create(beta=beta).test.load_client('test')[1] for beta in (0.1, 9.0)
    ]
    np.testing.assert_array_equal(*labels)

  def test_caps(self):
    task = _create(max_examples=101, max_test_examples=42)
    self.assertLen(task.test.load_client('test')[1], 42)
    self.assertLen(task.validation.load_client('validation')[1], 10)
    self.assertLen(task.train.load_client('client_0')[1], round(0.75 * 91))
    more = _create(max_examples=10**9)
    self.assertLen(more.train.load_client('client_0')[1], 202)

  def test_the_vocabulary_is_of_training_texts_alone(self):
    folder = self.create_tempdir()
    rows = [f'"{n % 4 + 1}","news {n}","alpha beta"\n' for n in range(40)]
    folder.create_file('train.csv', ''.join(rows))
    folder.create_file('test.csv', '"1","zzzz zzzz","zzzz"\n' * 9)
    task = _create(
      data_dir=folder.full_path,
      vocabulary_size=200,
      # Of no use where there are files.
      num_generated=400,
    )
    x, y = task.test.load_client('test')
    self.assertLen(y, 9)
    # One id for what is not in the vocabulary.
    self.assertEqual(np.unique(x).tolist(), [0, 3])

  def test_the_published_news(self):
    folder = local_data.find_sample('ag_news')
    task = ag_news.create_task(
      seed=0,
      data_dir=str(folder),
      max_examples=600,
      max_test_examples=200,
      vocabulary_size=1500,
      sequence_length=64,
    )
    x, y = task.test.load_client('test')
    np.testing.assert_array_equal(np.bincount(y), [50] * 4)
    self.assertEqual(task.create_model().initial_weights[0][0].shape[0], 1500)
    # A headline and a sentence or two.
    self.assertBetween(np.median((x > 0).sum(axis=1)), 30, 64)

  @parameterized.parameters(
    (dict(num_generated=3), 'num_generated must be 0, or 16 or more, got 3'),
    (
      dict(num_generated=0),
      'data_dir.*test.csv.*num_generated',
    ),
    (dict(dropout=0.1), "dropout .*with task.model 'linear', got 0.1"),
    (
      dict(checkpoint='/roberta', model='cnn'),
      "with task.model 'cnn', got '/roberta'",
    ),
    (dict(size='base'), "size .*with task.model 'linear', got 'base'"),
    (dict(data_dir='/absent', num_generated=0), 'no test.csv in /absent'),
    (
      dict(model='roberta', checkpoint='/absent'),
      'There .*folder /absent',
    ),
    (dict(data_dir=5), 'data_dir .*5'),
  )
  def test_bad_options(self, options, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      _create(**options)

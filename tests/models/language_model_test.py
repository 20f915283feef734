# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the loss and the metrics per token, against NumPy."""

import collections

from fedfish_tff import evaluation
from fedfish_tff.datasets import vocabulary
from fedfish_tff.execution import contexts
from fedfish_tff.models import language_model
from tests import tolerance
from tests.models import model_checks

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_SPECIAL = vocabulary.SpecialTokens(pad=0, bos=5, eos=2, oov=4)
_SIZE = 6
_NAMES = [
  'loss',
  'accuracy',
  'accuracy_without_oov_and_eos',
  'perplexity',
  'num_tokens',
  'num_examples',
]


def _model(**kwargs):
  """Returns a model of bigrams: a table of logits."""
  table = np.random.default_rng(3).normal(size=[_SIZE, _SIZE])
  return language_model.create_language_model(
    lambda weights, x, training: tf.gather(weights[0], x),
    [3 * table.astype(np.float32)],
    special_tokens=_SPECIAL,
    **kwargs,
  )


def _batches(*, lengths=(4, 4), rows=(3, 2)):
  rng = np.random.default_rng(1)
  return [
    (
      rng.integers(0, _SIZE, [n, t]).astype(np.int32),
      rng.integers(0, _SIZE, [n, t]).astype(np.int32),
    )
    for n, t in zip(rows, lengths)
  ]


def _expected(model, batches):
  """Computes all metrics, a token at a time."""
  table = model.initial_weights[0][0].astype(np.float64)
  losses, hits, word_hits = [], [], []
  for x, y in batches:
    for token, label in zip(x.ravel(), y.ravel()):
      if label == _SPECIAL.pad:
        continue
      logits = table[token]
      losses.append(np.log(np.exp(logits).sum()) - logits[label])
      hits.append(logits.argmax() == label)
      if label not in (_SPECIAL.eos, _SPECIAL.oov):
        word_hits.append(hits[-1])
  return collections.OrderedDict(
    loss=np.mean(losses),
    accuracy=np.mean(hits),
    accuracy_without_oov_and_eos=np.mean(word_hits),
    perplexity=np.exp(np.mean(losses)),
    num_tokens=len(losses),
    num_examples=sum(len(x) for x, _ in batches),
  )


def _expected_recall(special, logits, labels, k):
  """Computes recall, a token at a time."""
  hits = []
  for row, label in zip(logits, labels, strict=True):
    if label in (special.pad, special.bos, special.eos):
      continue
    ids = sorted(range(len(row)), key=lambda token: (-row[token], token))
    suggested = [token for token in ids if token not in special][:k]
    hits.append(label in suggested)
  return np.mean(hits) if hits else 0


def _metrics_of_logits(model, pairs):
  return model_checks.measure(model, pairs, predict=lambda logits: logits)


def _loss(model, x, y, sample_weight=None):
  logits = model.predict_on_batch(model.initial_weights, x, training=True)
  return model.loss(logits, y, sample_weight).numpy()


class LanguageModelTest(parameterized.TestCase):
  def test_metrics(self):
    model = _model()
    batches = _batches(lengths=(4, 7))
    found = model_checks.measure(model, batches)
    self.assertEqual(list(found), _NAMES)
    for name, value in _expected(model, batches).items():
      np.testing.assert_allclose(found[name], value, rtol=1e-5, err_msg=name)
    self.assertEqual(found['num_tokens'].dtype, np.int64)

  def test_loss_is_the_mean_over_tokens(self):
    model = _model()
    (batch,) = _batches(rows=(5,), lengths=(6,))
    tolerance.assert_close(
      _loss(model, *batch), _expected(model, [batch])['loss']
    )

  def test_padding_changes_nothing(self):
    model = _model()
    ((x, y),) = _batches(rows=(3,), lengths=(4,))
    padded = [np.pad(array, [(0, 2), (0, 3)]) for array in (x, y)]
    # Whatever comes in.
    padded[0][3:] = 4
    tolerance.assert_close(_loss(model, x, y), _loss(model, *padded))
    found, expected = (
      model_checks.measure(model, [b]) for b in (padded, (x, y))
    )
    self.assertEqual(found.pop('num_examples'), 5)
    self.assertEqual(expected.pop('num_examples'), 3)
    for name, value in expected.items():
      tolerance.assert_close(found[name], value, err_msg=name)

  def test_padding_alone_is_zero(self):
    model = _model()
    x, y = np.ones([2, 3], np.int32), np.zeros([2, 3], np.int32)
    weights = [tf.constant(model.initial_weights[0][0])]
    with tf.GradientTape() as tape:
      tape.watch(weights)
      loss = model.loss(model.predict_on_batch((weights, ()), x), y)
    self.assertEqual(loss.numpy(), 0)
    (gradient,) = tape.gradient(loss, weights)
    np.testing.assert_array_equal(tf.convert_to_tensor(gradient), 0)
    for batches, rows in (([(x, y)], 2), ([], 0)):
      found = model_checks.measure(model, batches)
      self.assertEqual(found.pop('num_examples'), rows)
      self.assertEqual(set(found.values()), {0})

  def test_padded_rows_that_are_not_finite_count_nowhere(self):
    model = _model()
    logits = np.full([1, 2, _SIZE], np.nan, np.float32)
    logits[:, 0] = np.arange(_SIZE)
    y = np.array([[3, 0]], np.int32)
    self.assertTrue(np.isfinite(model.loss(logits, y)))
    self.assertTrue(np.isnan(model.loss(logits, y[:, ::-1])))

  def test_sample_weights(self):
    model = _model()
    ((x, y),) = _batches(rows=(3,), lengths=(4,))
    tokens = (y != 0).sum(axis=1)
    each = [_loss(model, x[i : i + 1], y[i : i + 1]) for i in range(3)]
    of_rows = np.array([0, 2, 1])
    expected = np.sum(of_rows * each * tokens) / tokens.sum()
    of_tokens = np.repeat(of_rows[:, np.newaxis], 4, axis=1)
    for weights in (of_rows, of_tokens, of_tokens.astype(np.float32)):
      tolerance.assert_close(_loss(model, x, y, weights), expected)

  def test_metrics_over_clients_are_those_over_all_tokens(self):
    model = _model(recall_at=(1, 3))
    table = model.initial_weights[0][0]
    clients = [[batch] for batch in _batches(lengths=(2, 9, 4), rows=(1, 5, 2))]
    clients[1] += _batches(lengths=(9,), rows=(3,))
    # A client with padding alone, and one without examples.
    padding = np.zeros([2, 3], np.int32)
    clients += [[(padding + 1, padding)], []]
    signature = model.input_spec
    cohort = [
      tf.data.Dataset.from_generator(
        lambda client=client: iter(client), output_signature=signature
      )
      for client in clients
    ]
    context = contexts.create_context()
    weights = tff.learning.models.ModelWeights(model.initial_weights[0], ())
    with tff.framework.get_context_stack().install(context):
      clients_data = [{'test': client} for client in cohort]
      # In groups, from whose values no mean gives the perplexity.
      total, each = evaluation.ClientScorer(model)(
        weights, [clients_data[:2], clients_data[2:]]
      )
    everything = [batch for client in clients for batch in client]
    for name, value in _expected(model, everything).items():
      np.testing.assert_allclose(total[name], value, rtol=1e-5, err_msg=name)
    for k in (1, 3):
      for found, batches in zip(
        [total, *each[:4]], [everything, *clients[:4]], strict=True
      ):
        x, y = (
          np.concatenate([[], *(b[i].ravel() for b in batches)]).astype(int)
          for i in range(2)
        )
        expected = _expected_recall(_SPECIAL, table[x], y, k)
        self.assertAlmostEqual(found[f'top_{k}_recall'], expected, places=6)
    self.assertEqual([c['num_examples'] for c in each], [1, 8, 2, 2, 0])
    for client, batches in zip(each[:3], clients):
      expected = _expected(model, batches)
      tolerance.assert_close(client['loss'], expected['loss'])
      self.assertEqual(client['num_tokens'], expected['num_tokens'])
    self.assertEqual((each[3]['loss'], each[3]['perplexity']), (0, 0))


class RecallTest(absltest.TestCase):
  @hypothesis.settings(max_examples=20)
  @hypothesis.given(
    data=st.data(),
    size=st.sampled_from([5, 7, 24, 64, 90]),
    recall_at=st.sampled_from([(1,), (3,), (1, 3), (2, 9)]),
  )
  def test_equals_numpy(self, data, size, recall_at):
    """Many logits are equal, and special tokens may be anywhere."""
    special = vocabulary.SpecialTokens(
      *data.draw(
        st.lists(st.integers(0, size - 1), min_size=4, max_size=4, unique=True)
      )
    )
    model = language_model.create_language_model(
      lambda weights, x, training: tf.gather(weights[0], x),
      [np.zeros([size, size], np.float32)],
      special_tokens=special,
      recall_at=recall_at,
    )
    logits = data.draw(
      hnp.arrays(np.float32, (2, 4, size), elements=st.sampled_from([0, 1, 2]))
    )
    labels = data.draw(
      hnp.arrays(np.int32, (2, 4), elements=st.integers(0, size - 1))
    )
    found = _metrics_of_logits(model, [(logits, labels)])
    for k in recall_at:
      expected = _expected_recall(
        special, logits.reshape([8, size]), labels.ravel(), k
      )
      self.assertAlmostEqual(found[f'top_{k}_recall'], expected, places=6)
    likeliest = logits.argmax(axis=2)
    is_token = labels != special.pad
    hits = (likeliest == labels)[is_token]
    self.assertAlmostEqual(
      found['accuracy'], hits.mean() if hits.size else 0, places=6
    )

  def test_a_diverged_model_suggests_nothing(self):
    model = _model(recall_at=(1, 3))
    logits = np.full([1, 2, _SIZE], np.nan, np.float32)
    found = _metrics_of_logits(model, [(logits, np.array([[1, 3]], np.int32))])
    self.assertEqual((found['top_1_recall'], found['top_3_recall']), (0, 0))

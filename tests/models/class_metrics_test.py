# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the metrics class by class, against scikit-learn."""

import collections

from fedfish_tff import errors
from fedfish_tff import evaluation
from fedfish_tff.models import class_metrics
from tasks import networks

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np
from scipy import special
from sklearn import metrics as sklearn_metrics
import tensorflow as tf
import tensorflow_federated as tff

_CLASSES = ('world', 'sports', 'sci_tech')


def _update(fns, state, logits, labels):
  _, update, _ = fns
  return update(
    state,
    labels=labels,
    batch_output=tff.learning.models.BatchOutput(
      loss=0.0, predictions=logits, num_examples=len(labels)
    ),
  )


def _measure(batches, class_names=_CLASSES):
  fns = class_metrics.create_class_metric_fns(class_names)
  state = fns[0]()
  for logits, labels in batches:
    state = _update(fns, state, logits, labels)
  return {name: value.numpy() for name, value in fns[2](state).items()}


def _draw(seed, sizes, num_classes=3, labels_from=None):
  """Returns batches; with few logits there are ties and classes that miss."""
  rng = np.random.default_rng(seed)
  return [
    (
      rng.integers(0, 3, [n, num_classes]).astype(np.float32),
      rng.integers(0, labels_from or num_classes, n).astype(np.int32),
    )
    for n in sizes
  ]


class ClassMetricsTest(parameterized.TestCase):
  @hypothesis.settings(max_examples=25)
  @hypothesis.given(
    seed=strategies.integers(0, 2**31),
    sizes=strategies.lists(strategies.integers(1, 9), min_size=1, max_size=4),
    labels_from=strategies.integers(1, 3),
  )
  def test_is_scikit_learns(self, seed, sizes, labels_from):
    batches = _draw(seed, sizes, labels_from=labels_from)
    found = _measure(batches)
    logits = np.concatenate([logits for logits, _ in batches])
    true = np.concatenate([labels for _, labels in batches])
    predicted = logits.argmax(axis=1)
    classes = list(range(len(_CLASSES)))
    f1 = sklearn_metrics.f1_score(
      true, predicted, labels=classes, average=None, zero_division=0
    )
    confusion = sklearn_metrics.confusion_matrix(
      true, predicted, labels=classes
    )
    expected = collections.OrderedDict(
      loss=sklearn_metrics.log_loss(
        true, special.softmax(logits.astype(float), axis=1), labels=classes
      ),
      accuracy=sklearn_metrics.accuracy_score(true, predicted),
      macro_f1=f1.mean(),
    )
    expected.update((f'f1_{name}', f1[c]) for c, name in enumerate(_CLASSES))
    expected.update(
      (f'confusion_{name}_as_{other}', confusion[t, p])
      for t, name in enumerate(_CLASSES)
      for p, other in enumerate(_CLASSES)
    )
    expected['num_examples'] = len(true)
    self.assertEqual(list(found), list(expected))
    for name, value in expected.items():
      np.testing.assert_allclose(found[name], value, rtol=1e-5, err_msg=name)
    for name in ('num_examples', 'confusion_world_as_sports'):
      self.assertEqual(found[name].dtype, np.int64)

  def test_without_examples_all_are_zero(self):
    found = _measure([])
    self.assertLen(found, 3 + 3 + 9 + 1)
    self.assertEqual(set(map(float, found.values())), {0.0})

  def test_a_model_has_them_and_is_evaluated_with_them(self):
    model = networks.create_bag_of_tokens_classifier(
      vocabulary_size=7, class_names=_CLASSES, seed=0, sequence_length=4
    )
    rng = np.random.default_rng(0)
    batches = [
      (
        rng.integers(0, 7, [n, 4]).astype(np.int32),
        rng.integers(0, 3, n).astype(np.int32),
      )
      for n in (5, 3)
    ]
    weights = tff.learning.models.ModelWeights(*model.initial_weights)
    datasets = [tf.data.Dataset.from_tensors(batch) for batch in batches]
    expected = _measure(
      [
        (model.predict_on_batch(model.initial_weights, x, training=False), y)
        for x, y in batches
      ]
    )
    total = evaluation.ClientScorer(model)(
      weights, [[{'test': client} for client in datasets]]
    ).total
    self.assertCountEqual(total, expected)
    for name, value in expected.items():
      np.testing.assert_allclose(total[name], value, rtol=1e-5, err_msg=name)

  @parameterized.parameters(
    ((), 'classes .*none'),
    (('a',), 'classes .*got a'),
    (('a', 'b', 'a'), 'at least two'),
    (('a', 'a_as_a'), 'at least two with different names'),
    (('a', 'sci/tech'), "class .*'sci/tech'"),
    (('a', 1), 'class .*1'),
    (('a', ''), "class .*''"),
  )
  def test_bad_names(self, class_names, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      class_metrics.create_class_metric_fns(class_names)

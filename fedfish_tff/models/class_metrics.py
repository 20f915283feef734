# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Metrics of classifiers class by class, from one confusion matrix.

The matrix is a sum over examples, so all metrics computed from it, F1 scores
included, are exact over batches and clients of any size.
"""

import collections
from collections.abc import Callable
from collections.abc import Sequence
import re
from typing import Any

from fedfish_tff import errors

import tensorflow as tf
import tensorflow_federated as tff

_MetricsState = collections.OrderedDict[str, tf.Tensor]
# (initialize, update, finalize), as `tff.learning.models.FunctionalModel` takes
# its metrics.
MetricFns = tuple[
  Callable[[], _MetricsState],
  Callable[..., _MetricsState],
  Callable[[_MetricsState], collections.OrderedDict[str, tf.Tensor]],
]


def create_class_metric_fns(class_names: Sequence[str]) -> MetricFns:
  """Creates the metrics of a model that outputs logits.

  A class's F1 is 2 TP / (2 TP + FP + FN). It is 0 if no example is of the class
  or predicted as it, as in scikit-learn's f1_score with zero_division=0. Macro
  F1 is the mean over all classes, whether they occur or not.

  Args:
    class_names: The names of the classes 0, 1, ..., at least two, of letters,
      digits and underscores. No two metrics may get the same name.

  Returns:
    The functions that begin, update and finalise the metrics loss (mean
    cross-entropy), accuracy, macro_f1, f1_<class>,
    confusion_<true>_as_<predicted> (numbers of examples, int64) and
    num_examples (int64). They are 0 without examples. The predicted class is
    the first of those with the largest logit.
  """
  class_names = tuple(class_names)
  check_class_names(class_names)
  num_classes = len(class_names)

  def initialize() -> _MetricsState:
    return collections.OrderedDict(
      loss=tf.constant(0.0),
      confusion=tf.zeros([num_classes, num_classes], tf.int64),
      num_examples=tf.constant(0, tf.int64),
    )

  def update(
    state: _MetricsState,
    labels: tf.Tensor,
    batch_output: tff.learning.models.BatchOutput,
    sample_weight: Any = None,
  ) -> _MetricsState:
    del sample_weight  # Every example counts once.
    logits = batch_output.predictions
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
      labels=labels, logits=logits
    )
    # A product of two small matrices; its counts are exact in float32.
    confusion = tf.matmul(
      tf.one_hot(labels, num_classes),
      tf.one_hot(tf.argmax(logits, axis=-1), num_classes),
      transpose_a=True,
    )
    return collections.OrderedDict(
      loss=state['loss'] + tf.reduce_sum(losses),
      confusion=state['confusion'] + tf.cast(confusion, tf.int64),
      num_examples=state['num_examples']
      + tf.shape(logits, out_type=tf.int64)[0],
    )

  def finalize(
    state: _MetricsState,
  ) -> collections.OrderedDict[str, tf.Tensor]:
    confusion = tf.cast(state['confusion'], tf.float32)
    num_examples = tf.cast(state['num_examples'], tf.float32)
    correct = tf.linalg.diag_part(confusion)
    f1 = tf.math.divide_no_nan(
      2 * correct,
      tf.reduce_sum(confusion, axis=0) + tf.reduce_sum(confusion, axis=1),
    )
    return collections.OrderedDict(
      loss=tf.math.divide_no_nan(state['loss'], num_examples),
      accuracy=tf.math.divide_no_nan(tf.reduce_sum(correct), num_examples),
      macro_f1=tf.reduce_mean(f1),
      **{f'f1_{name}': f1[c] for c, name in enumerate(class_names)},
      **{
        name: state['confusion'][true, predicted]
        for name, true, predicted in _confusion_names(class_names)
      },
      num_examples=state['num_examples'],
    )

  return initialize, update, finalize


def check_class_names(class_names: Sequence[str]) -> None:
  """Raises an InputError for names that `create_class_metric_fns` refuses."""
  for name in class_names:
    if not isinstance(name, str) or not re.fullmatch(r'\w+', name, re.ASCII):
      raise errors.InputError(
        'The name of a class must be of letters, digits and underscores, got '
        f'{name!r}.'
      )
  names = [name for name, _, _ in _confusion_names(class_names)]
  if len(class_names) < 2 or len(set(names)) < len(names):
    raise errors.InputError(
      'The classes must be at least two with different names, got '
      f'{", ".join(class_names) or "none"}.'
    )


def _confusion_names(
  class_names: Sequence[str],
) -> list[tuple[str, int, int]]:
  """Returns (metric, true class, predicted class) of each pair of classes."""
  return [
    (f'confusion_{true}_as_{predicted}', t, p)
    for t, true in enumerate(class_names)
    for p, predicted in enumerate(class_names)
  ]

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of one client's input to the evaluations."""

from fedfish_tff import datasets
from fedfish_tff.evaluation import inputs

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff


def _examples(start, stop):
  """Examples that tell which they are."""
  x = np.arange(start, stop, dtype=np.float32)[:, np.newaxis]
  return x, 10 * x


def _batches(client_input):
  return [
    (np.asarray(x)[:, 0].tolist(), np.asarray(y)[:, 0].tolist())
    for x, y in client_input
  ]


class _TakingContext(tff.framework.SyncContext):
  takes_client_batches = True

  def invoke(self, comp, arg):
    raise AssertionError('Nothing is computed here.')


class EvaluationInputsTest(absltest.TestCase):
  def test_arrays_are_not_copied_where_the_context_takes_them(self):
    client = datasets.plan_batches(
      _examples(0, 6),
      datasets.BatchSpec(batch_size=2, max_examples=4),
      client_id='c',
      seed=1,
      round_number=1,
    )
    with tff.framework.get_context_stack().install(_TakingContext()):
      built = inputs.build_barrier_input(client, eval_batch_size=3)
    self.assertIs(built['train'], client)
    self.assertIs(built['test'].examples, client.examples)
    self.assertEqual([len(x) for x, _ in built['test']], [3, 1])

  def test_the_barrier_is_scored_on_what_the_round_trained_on(self):
    client = datasets.ClientBatches(
      client_id='c',
      examples=_examples(0, 6),
      indices=np.array([4, 0, 3, 3, 4, 0]),  # Two epochs of three examples.
      epochs=2,
      batch_size=2,
    )
    built = inputs.build_barrier_input(client, eval_batch_size=2)
    self.assertEqual(list(built), ['train', 'test'])
    train = _batches(built['train'])
    self.assertEqual([x for x, _ in train], [[4, 0], [3], [3, 4], [0]])
    self.assertEqual(
      _batches(built['test']),
      [([0, 3], [0, 30]), ([4], [40])],
    )

  def test_a_share_and_the_unseen_half(self):
    client = datasets.sequential_batches(
      _examples(0, 8), client_id='c', batch_size=3
    )
    unseen = None
    for fraction, size in ((0.25, 2), (0.5, 4)):
      built = inputs.split_client(
        client,
        fraction=fraction,
        fine_tune_spec=datasets.BatchSpec(batch_size=2, epochs=2),
        seed=1,
      )
      train = [x for batch, _ in _batches(built['train']) for x in batch]
      self.assertEqual(sorted(train[:size]), sorted(train[size:]))
      test = _batches(built['test'])
      self.assertEqual([len(x) for x, _ in test], [3, 1])
      scored = [x for batch, _ in test for x in batch]
      self.assertEmpty(set(train) & set(scored))
      self.assertEqual(unseen or scored, scored)
      unseen = scored

  def test_nothing_to_fine_tune_on(self):
    client = datasets.sequential_batches(
      _examples(0, 3), client_id='c', batch_size=3
    )
    built = inputs.split_client(client, fraction=0, fine_tune_spec=None, seed=1)
    ((x, _),) = _batches(built.pop('test'))
    self.assertLen(x, 2)
    self.assertEmpty(built)

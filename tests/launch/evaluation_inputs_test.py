# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of one client's input to the evaluations."""

from fedfish_tff import datasets
from launch import evaluation_inputs

from absl.testing import absltest
import numpy as np


def _examples(start, stop):
  """Examples that tell which they are."""
  x = np.arange(start, stop, dtype=np.float32)[:, np.newaxis]
  return x, 10 * x


def _batches(dataset):
  return [(x[:, 0].tolist(), y[:, 0].tolist()) for x, y in dataset]


class EvaluationInputsTest(absltest.TestCase):
  def test_the_barrier_is_scored_on_what_the_round_trained_on(self):
    client = datasets.ClientBatches(
      client_id='c',
      examples=_examples(0, 6),
      indices=np.array([4, 0, 3, 3, 4, 0]),  # Two epochs of three examples.
      epochs=2,
      batch_size=2,
    )
    built = evaluation_inputs.build_barrier_input(client, eval_batch_size=2)
    self.assertEqual(list(built), ['train', 'eval'])
    train = _batches(built['train'].as_numpy_iterator())
    self.assertEqual([x for x, _ in train], [[4, 0], [3], [3, 4], [0]])
    self.assertEqual(
      _batches(built['eval'].as_numpy_iterator()),
      [([0, 3], [0, 30]), ([4], [40])],
    )

  def test_personalization_trains_and_scores_apart(self):
    built = evaluation_inputs.build_personalization_input(
      _examples(0, 3),
      _examples(3, 6),
      client_id='c',
      batch_spec=datasets.BatchSpec(batch_size=2, epochs=2),
      eval_batch_size=2,
      seed=1,
    )
    self.assertEqual(list(built), ['train', 'test'])
    train = [x for x, _ in _batches(built['train'].as_numpy_iterator())]
    self.assertEqual([len(x) for x in train], [2, 1, 2, 1])
    for epoch in (train[:2], train[2:]):
      self.assertCountEqual(sum(epoch, []), [0, 1, 2])
    self.assertEqual(
      _batches(built['test'].as_numpy_iterator()),
      [([3, 4], [30, 40]), ([5], [50])],
    )


if __name__ == '__main__':
  absltest.main()

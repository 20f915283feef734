# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The task c4 is the web-text task under its name."""

from tasks.text import c4

from absl.testing import absltest


class TaskTest(absltest.TestCase):
  def test_synthetic_pages_under_its_name(self):
    task = c4.create_task(
      seed=3,
      size='tiny',
      sequence_length=16,
      eval_sequence_length=8,
      num_generated_domains=10,
    )
    self.assertEqual(task.name, 'c4')
    x, y = task.train.load_client(task.train.client_ids[0])
    self.assertEqual(x.shape, y.shape)
    self.assertEqual(x.shape[1], 16)

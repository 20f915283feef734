# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the progress of workers."""

import io
import pathlib
import sys
import threading
from unittest import mock

from fedfish_tff.datasets.grouping import work_progress

from absl.testing import absltest


class _Terminal(io.StringIO):
  def isatty(self):
    return True


class WorkProgressTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path) / 'progress'

  def test_a_bar_on_a_terminal(self):
    with mock.patch.object(sys, 'stderr', _Terminal()) as stream:
      with work_progress.watched(
        self.folder, total=10_000, description='read', unit='B'
      ):
        for name in ('one', 'other'):
          progress = work_progress.WorkProgress(self.folder, name, total=10_000)
          for _ in range(50):
            progress(99)
    sizes = {path.name: path.stat().st_size for path in self.folder.iterdir()}
    self.assertEqual(sizes, {'one': 495, 'other': 495})
    self.assertIn('read: 100%', stream.getvalue())
    self.assertIn('10.0k/10.0k', stream.getvalue())
    self.assertFalse(
      [t for t in threading.enumerate() if 'watch' in str(t.name)]
    )

  def test_nothing_elsewhere(self):
    with mock.patch.object(sys, 'stderr', io.StringIO()) as stream:
      with work_progress.watched(
        self.folder, total=3, description='write', unit=' shards'
      ):
        work_progress.WorkProgress(self.folder, 'one', total=3)(1)
    self.assertEqual(stream.getvalue(), '')

  def test_errors_of_the_work_are_raised(self):
    with mock.patch.object(sys, 'stderr', _Terminal()):
      with self.assertRaises(KeyboardInterrupt):
        with work_progress.watched(
          self.folder, total=0, description='read', unit='B'
        ):
          raise KeyboardInterrupt

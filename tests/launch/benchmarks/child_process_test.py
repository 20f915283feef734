# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions answer from processes of their own."""

import importlib
import os
import pathlib
import sys
from unittest import mock

from launch.benchmarks import child_process

from absl.testing import absltest

_MODULE = """
import os, sys, time

def answer(seconds):
  time.sleep(seconds)
  if seconds == 0:
    sys.exit('the reason')
  print('noise')
  return os.getpid(), os.environ.get('EXTRA')
"""


class ChildProcessTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    folder = self.create_tempdir().full_path
    pathlib.Path(folder, 'answering.py').write_text(_MODULE)
    self.enter_context(mock.patch.object(sys, 'path', [*sys.path, folder]))
    self.enter_context(mock.patch.dict(sys.modules))
    self._answer = importlib.import_module('answering').answer

  def test_answer(self):
    process, extra = child_process.call(
      self._answer, {'seconds': 0.01}, environment={'EXTRA': 'more'}
    )
    self.assertNotEqual(process, os.getpid())
    self.assertEqual(extra, 'more')

  def test_is_watched(self):
    seen = []
    process, extra = child_process.call(
      self._answer, {'seconds': 0.3}, while_running=seen.append
    )
    self.assertEqual(set(seen), {process})
    self.assertIsNone(extra)

  def test_failure(self):
    with self.assertRaisesRegex(RuntimeError, 'code 1:\nthe reason'):
      child_process.call(self._answer, {'seconds': 0})

  def test_interrupted(self):
    seen = []

    def interrupt(process):
      seen.append(process)
      raise KeyboardInterrupt

    with self.assertRaises(KeyboardInterrupt):
      child_process.call(
        self._answer, {'seconds': 600}, while_running=interrupt
      )
    # It has ended, and has been waited for.
    self.assertFalse(os.path.exists(f'/proc/{seen[0]}'))

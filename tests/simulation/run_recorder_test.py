# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the bridge to the asynchronous managers."""

import asyncio
import threading

from fedfish_tff import errors
from fedfish_tff.simulation import checkpoints
from fedfish_tff.simulation import metrics_csv
from fedfish_tff.simulation import metrics_rows
from fedfish_tff.simulation import run_recorder
from tests import processes
from tests import temporary_folders

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_START = [np.float32(0.0)]


class RunRecorderTest(temporary_folders.TestCase):
  def _recorder(self):
    return run_recorder.RunRecorder(
      checkpoints.CheckpointManager(self.folder / 'checkpoints'),
      [metrics_csv.CsvMetricsManager(self.folder / 'metrics.csv')],
    )

  def _rounds_written(self):
    rows = metrics_rows.read_rows(self.folder / 'metrics.csv')
    return [row['round'] for row in rows]

  def test_later_checkpoints_are_removed(self):
    """They would be those of another run, once rounds are trained again."""
    manager = checkpoints.CheckpointManager(self.folder / 'checkpoints')
    for version in (1, 2):
      asyncio.run(manager.save([np.float32(version)], version))
    metrics = metrics_csv.CsvMetricsManager(self.folder / 'metrics.csv')
    for round_number in (0, 1, 2):
      asyncio.run(metrics.release({'a': 1}, round_number))
    path = self.folder / 'checkpoints' / 'program_state_2.npz'
    path.write_bytes(b'')
    with run_recorder.RunRecorder(manager, [metrics]) as recorder:
      self.assertEqual(recorder.resume([np.float32(0)])[1], 1)
    self.assertEqual(metrics.last_round, 1)
    self.assertFalse(path.exists())

  @parameterized.parameters((None, 'has no rounds'), (1, 'ends with round 1'))
  def test_refuses_a_gap_in_the_rows(self, last_round, message):
    with self._recorder() as recorder:
      for round_number in range(4):
        recorder.release(round_number, {'a': round_number})
      recorder.save([np.float32(3.0)], 3)
    path = self.folder / 'metrics.csv'
    if last_round is None:
      path.unlink()
    else:
      lines = path.read_text().splitlines(keepends=True)
      path.write_text(''.join(lines[: last_round + 2]))
    before = sorted(
      (p, p.read_bytes()) for p in self.folder.rglob('*') if p.is_file()
    )
    with self.assertRaisesRegex(
      errors.InputError, f'{path} {message}, .*of round 3: .*Restore the file'
    ):
      with self._recorder() as recorder:
        recorder.resume(_START)
    self.assertEqual(
      sorted(
        (p, p.read_bytes()) for p in self.folder.rglob('*') if p.is_file()
      ),
      before,
    )

  def test_stop_saves_the_last_whole_round_once(self):
    with self._recorder() as recorder:
      recorder.release(2, {'a': 1})
      recorder.save([np.float32(1.0)], 1)
      self.assertIn('of round 1. The same', recorder.stop(_START, 1))
      self.assertIn('of round 2.', recorder.stop([np.float32(2.0)], 2))
    with self._recorder() as recorder:
      self.assertEqual(recorder.resume(_START), ([np.float32(2.0)], 2))

  def test_stop_without_anything(self):
    with run_recorder.RunRecorder(None, []) as recorder:
      recorder.save(_START, 1)
      self.assertIn('nothing was saved', recorder.stop(_START, 3))
      self.assertIn('nothing was saved', recorder.stop(_START, None))

  def test_an_interrupted_write_is_finished(self):
    started, may_end, ended = (threading.Event() for _ in range(3))

    class SlowManager(tff.program.ReleaseManager):
      async def release(self, value, key):
        del value, key
        started.set()
        await asyncio.to_thread(may_end.wait, processes.HANG_SECONDS)
        ended.set()

    with run_recorder.RunRecorder(None, [SlowManager()]) as recorder:
      caller = threading.Thread(target=recorder.release, args=(1, {}))
      caller.start()
      self.assertTrue(started.wait(processes.HANG_SECONDS))
      threading.Timer(0.01, may_end.set).start()
      recorder.stop(_START, None)
      self.assertTrue(ended.is_set())
      caller.join(processes.HANG_SECONDS)

  def test_works_inside_a_running_event_loop(self):
    """As in a notebook."""

    async def cell():
      with self._recorder() as recorder:
        recorder.release(0, {'a': 1})

    asyncio.run(cell())
    self.assertEqual(self._rounds_written(), [0])

  def test_full_disk_seen_by_tensorflow_is_one_sentence(self):
    class FullDiskManager(tff.program.ReleaseManager):
      async def release(self, value, key):
        raise tf.errors.ResourceExhaustedError(
          None, None, 'events.v2; No space left on device [Op:Flush]'
        )

    with run_recorder.RunRecorder(None, [FullDiskManager()]) as recorder:
      with self.assertRaisesRegex(
        errors.InputError,
        '^Cannot write what FullDiskManager writes of round 3: No space left',
      ):
        recorder.release(3, {'a': 1})

  def test_errors_of_managers_reach_the_caller(self):
    with self._recorder() as recorder:
      recorder.release(1, {'a': 1})
      with self.assertRaisesRegex(ValueError, 'follows'):
        recorder.release(1, {'a': 1})

  @parameterized.parameters(
    KeyboardInterrupt, SystemExit, asyncio.CancelledError
  )
  def test_no_error_of_a_manager_stops_the_loop(self, kind):
    class EndingManager(tff.program.ReleaseManager):
      async def release(self, value, key):
        raise kind('It ends.')

    told = []

    def run():
      with run_recorder.RunRecorder(None, [EndingManager()]) as recorder:
        try:
          recorder.release(1, {})
        except kind as error:
          told.append(str(error))
        told.append(recorder.stop(_START, None))

    caller = threading.Thread(target=run, daemon=True)
    caller.start()
    caller.join(processes.HANG_SECONDS)
    self.assertLen(told, 2)
    self.assertEqual(told[0], 'It ends.')
    self.assertIn('nothing was saved', told[1])

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""TensorBoard reads each round once, whatever a killed process has written."""

import asyncio

from launch.runs import tensorboard_rows
from tests import temporary_folders

from tensorboard.backend.event_processing import plugin_event_accumulator
import tensorflow as tf


class TensorBoardRowsTest(temporary_folders.TestCase):
  def _write(self, folder, rows, time):
    """Writes as a process that starts at some time and is killed."""
    manager = tensorboard_rows.TensorBoardRows(folder)
    for number, value in rows.items():
      asyncio.run(manager.release({'loss': value}, number))
    # Closes the files.
    del manager
    for path in folder.glob('events.out.tfevents.1*'):
      rest = path.name.split('.', 4)[4]
      path.rename(path.with_name(f'events.out.tfevents.{time:010}.{rest}'))

  def test_the_rows_of_the_last_process_count(self):
    folder = self.folder / 'tensorboard'
    processes = [{0: 5.0, 1: 4.0, 2: 3.0, 3: 2.0}, {2: 3.5, 3: 2.5}, {4: 1.0}]
    for time, rows in enumerate(processes):
      self._write(folder, rows, time)
    # The one that TensorBoard itself reads by.
    found = plugin_event_accumulator.EventAccumulator(str(folder)).Reload()
    self.assertEqual(
      [
        (event.step, float(tf.make_ndarray(event.tensor_proto)))
        for event in found.Tensors('loss')
      ],
      [(0, 5.0), (1, 4.0), (2, 3.5), (3, 2.5), (4, 1.0)],
    )

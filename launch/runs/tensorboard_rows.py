# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A manager that writes each round's row for TensorBoard, once per round."""

from collections.abc import Mapping
import os
import pathlib
import socket
import time
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff


class TensorBoardRows(tff.program.ReleaseManager[Mapping[str, Any], int]):
  """A manager with whose first row TensorBoard drops that round and later ones.

  A killed process has written rounds after its last checkpoint, which the next
  process repeats.
  """

  def __init__(self, folder: str | os.PathLike[str]) -> None:
    """Writes nothing yet.

    Args:
      folder: The folder of the event files of all processes of the run.
    """
    self._folder = pathlib.Path(folder)
    self._manager: tff.program.TensorBoardReleaseManager | None = None

  async def release(self, value: Mapping[str, Any], key: int) -> None:
    """Writes the row of a round, numbers by column name.

    Raises:
      tf.errors.OpError: If it cannot be written.
    """
    if self._manager is None:
      self._folder.mkdir(parents=True, exist_ok=True)
      self._write_start(key)
      # Its file follows that of the start, by the time in the name.
      self._manager = tff.program.TensorBoardReleaseManager(self._folder)
    await self._manager.release(value, key)

  def _write_start(self, round_number: int) -> None:
    """Writes the event by which TensorBoard drops a round and later ones."""
    start = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
    now = time.time()
    # TensorBoard reads files in the order of their names, in which the id of a
    # process follows the host; no id begins with 0.
    name = f'events.out.tfevents.{int(now):010}.{socket.gethostname()}.0.start'
    with tf.io.TFRecordWriter(str(self._folder / name)) as writer:
      for event in (
        tf.compat.v1.Event(wall_time=now, file_version='brain.Event:2'),
        tf.compat.v1.Event(wall_time=now, step=round_number, session_log=start),
      ):
        writer.write(event.SerializeToString())

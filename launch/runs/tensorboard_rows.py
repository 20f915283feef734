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
  process repeats. A row is one event: `tf.summary.scalar`, with an event for
  each column, takes some milliseconds of each round.
  """

  def __init__(self, folder: str | os.PathLike[str]) -> None:
    """Writes nothing yet.

    Args:
      folder: The folder of the event files of all processes of the run.
    """
    self._folder = pathlib.Path(folder)
    self._writer: tf.io.TFRecordWriter | None = None

  async def release(self, value: Mapping[str, Any], key: int) -> None:
    """Writes the row of a round, numbers by column name.

    Raises:
      tf.errors.OpError: If it cannot be written.
    """
    if self._writer is None:
      self._folder.mkdir(parents=True, exist_ok=True)
      # TensorBoard reads files in the order of their names.
      name = f'events.out.tfevents.{time.time():017.6f}.{socket.gethostname()}'
      self._writer = tf.io.TFRecordWriter(str(self._folder / f'{name}.rows'))
      self._write(file_version='brain.Event:2')
      # The event by which TensorBoard drops a round and later ones.
      start = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
      self._write(step=key, session_log=start)
    summary = tf.compat.v1.Summary(
      value=[
        tf.compat.v1.Summary.Value(tag=name, simple_value=float(number))
        for name, number in value.items()
      ]
    )
    self._write(step=key, summary=summary)
    self._writer.flush()

  def _write(self, **fields: Any) -> None:
    event = tf.compat.v1.Event(wall_time=time.time(), **fields)
    self._writer.write(event.SerializeToString())

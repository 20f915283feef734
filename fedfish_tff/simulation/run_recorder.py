# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Recording of a run's rows and checkpoints by TFF's asynchronous managers."""

import asyncio
from collections.abc import Coroutine
from collections.abc import Mapping
from collections.abc import Sequence
import threading
from typing import Any

from fedfish_tff import errors
from fedfish_tff.simulation import checkpoints
from fedfish_tff.simulation import files
from fedfish_tff.simulation import metrics_csv
from fedfish_tff.simulation import metrics_rows

from absl import logging
import tensorflow as tf
import tensorflow_federated as tff


class RunRecorder:
  """Saves, loads and releases from synchronous code.

  The managers run in an event loop on its own thread. So it works if the
  caller's thread has a running loop, such as in a notebook, and Ctrl-C does not
  interrupt a write.
  """

  def __init__(
    self,
    program_state_manager: tff.program.ProgramStateManager | None,
    metrics_managers: Sequence[tff.program.ReleaseManager],
  ) -> None:
    self._state_manager = program_state_manager
    self._metrics_managers = tuple(metrics_managers)
    self._csv_managers = [
      manager
      for manager in metrics_managers
      if isinstance(manager, metrics_csv.CsvMetricsManager)
    ]
    self._last_saved: int | None = None
    self._loop = asyncio.new_event_loop()
    self._thread = threading.Thread(
      target=self._loop.run_forever, name='run recorder', daemon=True
    )
    self._thread.start()

  def __enter__(self) -> 'RunRecorder':
    return self

  def __exit__(self, *unused_exc_info: object) -> None:
    # Waits for pending writes.
    self._run(self._loop.shutdown_default_executor())
    self._loop.call_soon_threadsafe(self._loop.stop)
    self._thread.join()
    self._loop.close()

  def resume(self, structure: Any) -> tuple[Any, int | None]:
    """Loads the last checkpoint and rewinds the metrics to its round.

    If all checkpoints are damaged, or the metrics end before the checkpoint's
    round, nothing is changed, and it is an error.

    Args:
      structure: A state of the run's structure.

    Returns:
      (state, round); (`structure`, None) if there is no checkpoint.
    """
    state = version = None
    if self._state_manager is not None:
      state, version = self._run(self._state_manager.load_latest(structure))
    if state is None:
      # Without a checkpoint, no row is kept.
      for manager in self._csv_managers:
        manager.drop_rows_after(-1)
      return structure, None
    self._last_saved = version
    logging.info('Resuming after round %d.', version)
    for manager in self._csv_managers:
      last = manager.last_round
      if last is None or last < version:
        raise errors.InputError(
          f'{manager.path} '
          + ('has no rounds' if last is None else f'ends with round {last}')
          + f', but the checkpoint is that of round {version}: rows were lost. '
          'Restore the file, or start afresh with --overwrite.'
        )
    if self._csv_managers and isinstance(
      self._state_manager, checkpoints.CheckpointManager
    ):
      self._state_manager.remove_after(version)
    for manager in self._csv_managers:
      manager.drop_rows_after(version)
    return state, version

  def rows(self) -> list[metrics_rows.Row]:
    """Returns the rows up to the checkpoint that `resume` has loaded.

    A metrics manager must have them.
    """
    if not self._csv_managers:
      raise errors.InputError(
        'metrics_managers must hold a CsvMetricsManager, since resuming needs '
        'the rows of earlier rounds.'
      )
    return self._csv_managers[0].rows

  def remove_old(self) -> None:
    """Removes old checkpoints that a killed run has not come to remove."""
    if isinstance(self._state_manager, checkpoints.CheckpointManager):
      self._state_manager.remove_old()

  def kept_rounds(self) -> list[int]:
    """Returns the rounds that have a checkpoint, damaged ones included."""
    if self._state_manager is None:
      return []
    return list(self._run(self._state_manager.get_versions()) or ())

  def load(self, structure: Any, round_number: int) -> Any | None:
    """Returns the state after a round; None if it has no checkpoint.

    Args:
      structure: A state of the run's structure.
      round_number: The round, whose checkpoint need not exist.
    """
    try:
      return self._run(self._state_manager.load(round_number, structure))
    except tff.program.ProgramStateNotFoundError:
      return None

  def release(self, round_number: int, row: Mapping[str, Any]) -> None:
    """Gives a round's row to the metrics managers, one after the other."""

    async def release() -> None:
      for manager in self._metrics_managers:
        try:
          await manager.release(row, round_number)
        except tf.errors.OpError as error:
          # TFF's managers write by TensorFlow, which has its own errors.
          what = f'what {type(manager).__name__} writes of round {round_number}'
          raise files.unwritable_error(what, error) from error

    self._run(release())

  def save(self, state: Any, round_number: int) -> None:
    """Saves a checkpoint if the run has checkpoints and lacks this one."""
    if self._state_manager is None or self._last_saved == round_number:
      return

    async def save() -> None:
      await self._state_manager.save(state, round_number)
      self._last_saved = round_number

    self._run(save())

  def stop(self, state: Any, round_number: int | None) -> str:
    """Saves the last whole round of an interrupted run.

    Args:
      state: The state after that round.
      round_number: That round; None if no round is complete.

    Returns:
      A sentence about the last checkpoint for the person who pressed Ctrl-C.
    """

    async def finish() -> None:
      others = asyncio.all_tasks() - {asyncio.current_task()}
      if others:
        await asyncio.wait(others)

    # What was begun before the interrupt, wherever that came.
    self._run(finish())
    if round_number is not None:
      self.save(state, round_number)
    if self._last_saved is None:
      return 'Interrupted before the first checkpoint; nothing was saved.'
    return (
      f'Interrupted; the last checkpoint is that of round {self._last_saved}.'
      ' The same command resumes from there.'
    )

  def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
    async def run() -> tuple[Any, BaseException | None]:
      try:
        return await coroutine, None
      # KeyboardInterrupt and SystemExit would end the loop, and with it all
      # that waits for it.
      except BaseException as error:
        return None, error

    result, error = asyncio.run_coroutine_threadsafe(run(), self._loop).result()
    if error is not None:
      raise error
    return result

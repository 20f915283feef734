# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Hooks of the block `participation`: cohorts, their bytes and their time.

This is plain Python; TensorFlow is imported only when hooks are built.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedfish_tff import evaluation
from fedfish_tff import simulation
from launch.methods import block as block_lib

import numpy as np


def build(
  experiment: block_lib.Experiment, wall_clock: simulation.WallClock | None
) -> list[simulation.Hook]:
  """Builds the hooks of cohorts, bytes and, with a clock, simulated time."""
  cohorts = experiment.cohorts
  chosen = cohorts.participation
  # They come before the clock, which asks for cohorts.
  hooks = [*cohorts.hooks]
  sent = experiment.built.wire_bytes
  if cohorts.accuracy_stages is not None:
    gradient_norm = experiment.evaluations.gradient_norm
    criterion = evaluation.AccuracyCriterion(
      gradient_norm, constant=experiment.config.participation.accuracy_constant
    )
    hooks.append(simulation.Criterion(criterion))
    # Only uploads are added: the next round broadcasts the weights anyway.
    further = simulation.measure_wire_bytes(gradient_norm).upload
    sent = sent._replace(upload=sent.upload + further)
  hooks.append(
    simulation.CommunicationCosts(sent, experiment.built.costs_per_client)
  )
  if isinstance(chosen, simulation.PowerOfChoice):
    hooks.append(_build_candidate_losses(experiment, chosen))
  if wall_clock is not None:
    hooks.append(simulation.SimulatedTime(wall_clock))
  return hooks


def _build_candidate_losses(
  experiment: block_lib.Experiment, choice: simulation.PowerOfChoice
) -> simulation.CandidateLosses:
  """Builds the hook that measures the losses by which clients are chosen."""
  import tensorflow as tf  # pylint: disable=g-import-not-at-top

  task = experiment.task

  def losses(weights: Any, client_ids: Sequence[str]) -> list[float]:
    chunks = evaluation.load_chunks(
      task.train, client_ids, eval_batch_size=task.eval_batch_size
    )
    scores = experiment.evaluations.global_model(weights, chunks)
    return [client['loss'] for client in scores.per_client]

  initial_weights = tf.nest.flatten(experiment.built.model.initial_weights)
  return simulation.CandidateLosses(
    choice,
    losses,
    weights_bytes=sum(np.asarray(w).nbytes for w in initial_weights),
  )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What runs in the processes of a sweep.

TensorFlow is imported when the function is called, or by the process from which
the sweep forks the others, but not by the sweep itself.
"""

from collections.abc import Mapping
import pathlib
from typing import Any

# The function below, as jobs name it.
TRAIN = 'launch.sweeps.worker:train'
# What a run imports: loaded once, then shared by all processes.
PRELOADED = (
  'launch.runs.training_run',
  'launch.runs.evaluation_run',
)


def train(
  *,
  config: Mapping[str, Any],
  workdir: pathlib.Path,
  data_dir: str | None,
  context_options: Mapping[str, Any],
  is_trained: bool,
  evaluated: bool,
) -> None:
  """Trains and maybe evaluates one run, or what is left of it.

  Args:
    config: Nested mappings.
    workdir: The run's.
    data_dir: Where tasks that read files find them.
    context_options: Of the cohort context.
    is_trained: Whether the run is trained to its end.
    evaluated: Whether to evaluate it.
  """
  # pylint: disable=g-import-not-at-top
  from launch.runs import evaluation_run
  from launch.runs import training_run

  # pylint: enable=g-import-not-at-top
  options = dict(
    workdir=workdir, data_dir=data_dir, context_options=context_options
  )
  if not is_trained:
    training_run.train(config, progress_bar=False, **options)
  if evaluated:
    evaluation_run.evaluate(**options)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The start of a run: a closed-form classifier, or weights read elsewhere.

The start of a fine-tuning is a run of its own, in which each client comes once.
Its result, or the weights that are read, are kept as start.npz: they are part of
the model and must be the same whenever the run is resumed or evaluated. What is
read is a file of weights, such as model.safetensors of a finished run.
"""

from collections.abc import Mapping
import io
import json
import math
import os
import pathlib
from typing import NamedTuple

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff import regular_files
from fedfish_tff import simulation
from tasks.task import Task

import numpy as np
import tensorflow_federated as tff

FILE_NAME = 'start.npz'
# The workdir of the start, inside the workdir of the run.
FOLDER_NAME = 'start'
# The entry of summary.json with the SHA-256 of the weights of the run's model.
MODEL_DIGEST = 'model_sha256'

_STATE = 'state'
_WEIGHT = 'weight_{:03d}'
_STATE_FORM = {
  'round': int,
  'totals': {...: float},
  'num_weights': int,
  'num_trainable': int,
}


class Start(NamedTuple):
  """The result of a start.

  Attributes:
    weights: The weights of the whole model, flat.
    round_number: The number of rounds of the start; 0 for weights that are
      read.
    totals: The costs of the start, as in `simulation.TrainingResult`.
  """

  weights: tff.learning.models.ModelWeights
  round_number: int
  totals: Mapping[str, int | float]


def read_start(task: Task, path: str, *, trusted: bool) -> Start:
  """Reads the weights that a run begins with.

  Args:
    task: The task, whose model must have the same tensors.
    path: A file of weights, or the workdir of a finished run.
    trusted: Whether a model of Keras 2 may run its code.

  Returns:
    The start, without rounds and costs.
  """
  path = os.path.expanduser(path)
  if os.path.isdir(path):
    path = _find_model(simulation.Workdir(pathlib.Path(path)))
  model = task.create_checked_model()
  weights = models.read_weights(
    path, model, tensor_names=task.find_tensor_names(model), trusted=trusted
  )
  return Start(weights, round_number=0, totals={})


def _find_model(folder: simulation.Workdir) -> pathlib.Path:
  """Returns the file of a finished run's weights, which are undamaged."""
  path = folder.model_path
  summary = folder.read_summary({MODEL_DIGEST: str})
  if not summary or not path.exists():
    raise errors.InputError(
      f'{folder.path} must be the workdir of a finished run, with weights in '
      f'{path.name}, got a folder without '
      f'{path.name if summary else folder.summary_path.name}; launch.train '
      'finishes a run.'
    )
  digest = regular_files.digest(path, most_bytes=math.inf)
  if digest != summary[MODEL_DIGEST]:
    raise errors.InputError(
      f'{path} is not what it was when the run ended; launch.train on the '
      'finished run writes it again.'
    )
  return path


def save_start(workdir: str | os.PathLike[str], start: Start) -> None:
  """Writes start.npz atomically."""
  weights = [*start.weights.trainable, *start.weights.non_trainable]
  state = {
    'round': start.round_number,
    'totals': dict(start.totals),
    # Without the number, an archive that lacks members would look complete.
    'num_weights': len(weights),
    'num_trainable': len(start.weights.trainable),
  }
  content = io.BytesIO()
  np.savez(
    content,
    **{_STATE: np.array(json.dumps(state))},
    **{_WEIGHT.format(i): np.asarray(w) for i, w in enumerate(weights)},
  )
  simulation.write_atomically(
    pathlib.Path(workdir, FILE_NAME), content.getvalue()
  )


def load_start(workdir: str | os.PathLike[str]) -> Start | None:
  """Reads start.npz of a run's workdir; None if there is none."""
  path = pathlib.Path(workdir, FILE_NAME)
  try:
    with datasets.open_archive(path) as archive:
      text = datasets.read_npz_text(archive, _STATE)
      state = regular_files.parse_json(text, _STATE_FORM)
      weights = tuple(
        datasets.read_npz_array(archive, _WEIGHT.format(i))
        for i in range(state['num_weights'])
      )
    num_trainable = state['num_trainable']
    return Start(
      tff.learning.models.ModelWeights(
        weights[:num_trainable], weights[num_trainable:]
      ),
      state['round'],
      state['totals'],
    )
  except FileNotFoundError:
    return None
  except OSError as error:
    raise errors.InputError(f'Cannot read {path}: {error.strerror}.') from error
  except datasets.NPZ_READ_ERRORS as error:
    raise errors.InputError(
      f'{path} is damaged ({error}); restore it, or start afresh with '
      '--overwrite.'
    ) from error

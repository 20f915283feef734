# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a keyboard with the model of a workdir suggests."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import os
from typing import Any

from fedfish_tff import errors
from launch.results import run_reader
from launch.runs import trained_run
from tasks.text import keyboard

import numpy as np
import tensorflow as tf

_NUM_SUGGESTIONS = 3


@contextlib.contextmanager
def open_suggester(
  workdir: str | os.PathLike[str], **options: Any
) -> Iterator[Callable[[str], list[str]]]:
  """Gives what suggests the next word of a text.

  Args:
    workdir: A workdir of the task keyboard with at least one checkpoint.
    **options: Of `trained_run.open_run`.

  Yields:
    A function from a text, whose last sentence counts, to the likeliest next
    words, the likeliest first.

  Raises:
    errors.InputError: If something cannot be used or read.
  """
  check_is_keyboard(workdir)
  with trained_run.open_run(workdir, **options) as (experiment, folder):
    result = trained_run.load_result(experiment, folder)
    weights = experiment.process.get_model_weights(result.state)
    vocabulary = experiment.task.transfer_options['vocabulary']
    special = vocabulary.special_tokens

    # Traced once, for any number of words.
    @tf.function(input_signature=[tf.TensorSpec([1, None], tf.int32)])
    def predict(x: tf.Tensor) -> tf.Tensor:
      return experiment.model.predict_on_batch(weights, x, training=False)

    def suggest(text: str) -> list[str]:
      typed = vocabulary.encode(keyboard.split_sentences(text)[-1])
      logits = predict(np.array([[special.bos, *typed]], np.int32))[0, -1]
      ids = np.argsort(-logits.numpy(), kind='stable')
      words = ids[~np.isin(ids, special)][:_NUM_SUGGESTIONS]
      return [vocabulary.decode([word]) for word in words]

    yield suggest


def check_is_keyboard(workdir: str | os.PathLike[str]) -> None:
  """Raises an InputError if a workdir is not of the task keyboard."""
  name = run_reader.read_config(workdir)['task']['name']
  if name != keyboard.NAME:
    raise errors.InputError(
      f'The task of {workdir} is {name!r}; {keyboard.NAME} was expected.'
    )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Averages of the weights of any learning process over its rounds."""

from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff.algorithms import process as process_lib

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_State = Any


class AveragedState(NamedTuple):
  """The state of a process with averaged weights.

  Attributes:
    process: The state of the process of the averaged weights.
    num_rounds: The number of rounds in the average, int32.
    average: The average of the trainable weights; the initial ones before the
      first round.
  """

  process: Any
  num_rounds: Any
  average: Any


def compose_weight_averaging(
  process: process_lib.FederatedProcess, *, decay: float
) -> process_lib.FederatedProcess:
  """Composes a process with an exponential moving average of another's model.

  Polyak and Juditsky (1992), in the form of Adam's moments, equations of
  section 3 of Kingma and Ba (2015): after round t the model is

    sum_s decay^(t - s) w_s / sum_s decay^(t - s),   s = 1, ..., t,

  with the process' weights w_s after round s; the initial ones do not count.
  Training does not change: clients start from w_t, which `get_training_weights`
  returns, and `get_model_weights` returns the average. Weights that are not
  trainable are those after the last round. The average is made of published
  rounds, so it costs no privacy.

  Args:
    process: The process whose published weights are averaged.
    decay: The decay, at least 0, where the average is w_t, and below 1. The
      average covers about 1 / (1 - decay) rounds.

  Returns:
    The process. Its state is an `AveragedState`.
  """
  errors.check_range('decay', decay, least=0, below=1)
  inner_type = process.initialize.type_signature.result.member
  trainable_type = process.get_model_weights.type_signature.result['trainable']

  @tff.tensorflow.computation(inner_type)
  def begin(inner: _State) -> AveragedState:
    weights = process.get_model_weights(inner)
    return AveragedState(inner, tf.constant(0), weights.trainable)

  state_type = begin.type_signature.result

  @tff.tensorflow.computation(np.int32, trainable_type, inner_type)
  def average(
    num_rounds: tf.Tensor, average: Any, inner: _State
  ) -> AveragedState:
    num_rounds += 1
    # In float64: with a decay near 1 both factors are near 0.
    share = tf.cast(
      (1.0 - decay)
      / (1.0 - tf.pow(np.float64(decay), tf.cast(num_rounds, tf.float64))),
      tf.float32,
    )
    average = tf.nest.map_structure(
      lambda old, new: old + tf.cast(share, new.dtype) * (new - old),
      average,
      process.get_model_weights(inner).trainable,
    )
    return AveragedState(inner, num_rounds, average)

  @tff.federated_computation
  def initialize():
    return tff.federated_map(begin, process.initialize())

  @tff.federated_computation(
    tff.FederatedType(state_type, tff.SERVER),
    process.next.type_signature.parameter[1],
  )
  def next_fn(state, clients):
    output = process.next(state.process, clients)
    return tff.learning.templates.LearningProcessOutput(
      tff.federated_map(
        average,
        (state.num_rounds, state.average, output.state),
      ),
      output.metrics,
    )

  @tff.tensorflow.computation(state_type)
  def get_model_weights(state: AveragedState):
    weights = process.get_model_weights(state.process)
    return tff.learning.models.ModelWeights(
      state.average, weights.non_trainable
    )

  def get_training_weights(state: AveragedState):
    return process.get_training_weights(state.process)

  @tff.tensorflow.computation(
    state_type, get_model_weights.type_signature.result
  )
  def set_model_weights(state: AveragedState, weights):
    return begin(process.set_model_weights(state.process, weights))

  @tff.tensorflow.computation(state_type)
  def get_hparams(state: AveragedState):
    return process.get_hparams(state.process)

  @tff.tensorflow.computation(
    state_type, process.get_hparams.type_signature.result
  )
  def set_hparams(state: AveragedState, hparams):
    return AveragedState(
      process.set_hparams(state.process, hparams),
      state.num_rounds,
      state.average,
    )

  return process_lib.FederatedProcess(
    tff.learning.templates.LearningProcess(
      initialize,
      next_fn,
      get_model_weights,
      set_model_weights,
      get_hparams_fn=get_hparams,
      set_hparams_fn=set_hparams,
    ),
    build_local_training=lambda: process.local_training,
    build_update_is_finite=lambda: process.update_is_finite,
    extra_passes=process.extra_passes,
    uses_weights=process.uses_weights,
    get_training_weights=get_training_weights,
  )

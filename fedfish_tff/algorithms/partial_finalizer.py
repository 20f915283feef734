# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A server step that leaves alone what nobody has sent."""

import collections
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff


def keep_what_nobody_sent(
  finalizer: tff.learning.templates.FinalizerProcess, sent_type: Any
) -> tff.learning.templates.FinalizerProcess:
  """Wraps a finalizer so that it keeps the weights that nobody has sent.

  A server optimizer with momentum, or one that scales all steps together, would
  move them even where their update is 0.

  Args:
    finalizer: Applies an update of type T to the weights.
    sent_type: A structure of as many bools as T has tensors, scalars or of
      their shapes.

  Returns:
    A finalizer whose update is of type <update=T, sent=sent_type>. The state is
    that of the wrapped one, which sees an update of 0 where nobody has sent.
  """
  state_type, weights_at_server, update_at_server = (
    finalizer.next.type_signature.parameter
  )
  weights_type = weights_at_server.member

  @tff.tensorflow.computation(weights_type, weights_type, sent_type)
  def keep(before, after, sent):
    trainable = [
      tf.where(s, new, old)
      for s, new, old in zip(
        tf.nest.flatten(sent),
        tf.nest.flatten(after.trainable),
        tf.nest.flatten(before.trainable),
      )
    ]
    return tff.learning.models.ModelWeights(
      tf.nest.pack_sequence_as(after.trainable, trainable),
      after.non_trainable,
    )

  @tff.federated_computation(
    state_type,
    weights_at_server,
    tff.FederatedType(
      collections.OrderedDict(update=update_at_server.member, sent=sent_type),
      tff.SERVER,
    ),
  )
  def next_fn(state, weights, update):
    output = finalizer.next(state, weights, update['update'])
    return tff.templates.MeasuredProcessOutput(
      output.state,
      tff.federated_map(keep, (weights, output.result, update['sent'])),
      output.measurements,
    )

  return tff.learning.templates.FinalizerProcess(
    finalizer.initialize,
    next_fn,
    get_hparams_fn=finalizer.get_hparams,
    set_hparams_fn=finalizer.set_hparams,
  )

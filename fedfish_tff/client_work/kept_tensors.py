# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Client work on a model of which every client keeps a part.

FedPer, FedRep and LG-FedAvg share it. It wraps any client work that trains a
whole model and has a model delta.
"""

import collections
from collections.abc import Sequence

from fedfish_tff.client_work import client_work_process
from fedfish_tff.client_work import partial_update
from fedfish_tff.client_work import tensor_selection
from fedfish_tff.models import model_functions
from fedfish_tff.models import model_partition

import tensorflow as tf


def build_partially_local_update(
  client_update_fn: client_work_process.ClientUpdateFn,
  local_tensors: Sequence[bool],
  *,
  local_statistics: bool = False,
  selector: tensor_selection.Selector | None = None,
) -> client_work_process.ClientStateUpdateFn:
  """Builds a client's update of the tensors that clients share.

  Args:
    client_update_fn: A function that trains the whole model. Its update is
      <delta>, or <delta, fisher>, and it sets `trained`. Its round number is
      always 0.
    local_tensors: For each trainable tensor, whether it stays at the client.
    local_statistics: Whether tensors that are not trainable stay there, too.
    selector: The selector of the shared tensors that a client sends; all of
      them by default.

  Returns:
    A function for `build_client_state_work`. The server sends ModelWeights with
    the shared tensors, and the state is <local>, the other trainable ones, or
    <local, statistics>. The update consists of the shared tensors; with a selector it is
    that of `build_partial_update`.
  """
  local_tensors = tuple(local_tensors)

  def client_update(bound, sent, client_state, dataset):
    shared = model_functions.flatten_weights(sent)
    statistics = shared.non_trainable
    if local_statistics:
      statistics = client_state['statistics']
    whole = client_update_fn(
      bound,
      model_functions.FlatWeights(
        model_partition.join_tensors(
          client_state['local'], shared.trainable, local_tensors
        ),
        statistics,
      ),
      dataset,
      tf.constant(0),
    )
    local, _ = model_partition.split_tensors(whole.trained, local_tensors)
    kept = collections.OrderedDict(local=local)
    if local_statistics:
      kept['statistics'] = whole.statistics
    update = whole._replace(
      update=collections.OrderedDict(
        (name, model_partition.split_tensors(tensors, local_tensors)[1])
        for name, tensors in whole.update.items()
      ),
      also_finite=(whole.also_finite, *kept.values()),
    )
    if selector is not None:
      update = partial_update.keep_selected(update, shared.trainable, selector)
    return update, kept

  return client_update

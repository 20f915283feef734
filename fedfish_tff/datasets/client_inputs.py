# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients' batches as the current execution context takes them."""

from fedfish_tff.datasets import batches as batches_lib

import tensorflow as tf
import tensorflow_federated as tff

ClientInput = batches_lib.ClientBatches | tf.data.Dataset


def to_client_input(batches: batches_lib.ClientBatches) -> ClientInput:
  """Returns what to pass to a computation for a client's batches.

  Args:
    batches: The client's batches.

  Returns:
    The batches themselves where the context says by `takes_client_batches`
    that it uses their arrays as they are; a dataset of them elsewhere.
  """
  context = tff.framework.get_context_stack().current
  if getattr(context, 'takes_client_batches', False):
    return batches
  return batches.to_dataset()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A learning process that also exports what one client does in it."""

from collections.abc import Callable
import functools

import tensorflow_federated as tff


class FederatedProcess(tff.learning.templates.LearningProcess):
  """A `tff.learning.templates.LearningProcess` with its local training.

  Every TFF tool takes it as the learning process that it is. Evaluation,
  diagnosis and accounting also use the attributes below.

  `initialize` is of type ( -> S@SERVER), and `next`, a round, of type (<S@SERVER,
  {B*}@CLIENTS> -> <state=S@SERVER, metrics=M@SERVER>):

  - S is what the server keeps from round to round, a
    `tff.learning.templates.LearningAlgorithmState`: `global_model_weights`, and
    the states of the round's parts, `distributor`, `client_work`, `aggregator`
    and `finalizer`, of which the last has the server optimizer's. Closed-form
    methods have others. `get_model_weights` gives the model of any.
  - B* is a client's sequence of batches.
  - M is what the round measures, by the same parts. `client_work` has `train`, the
    model's metrics over the clients, and `excluded_clients`, how many were left
    out; `metrics.csv` names columns after them.

  Attributes:
    local_training: A computation (<ModelWeights, B*> -> ModelWeights), one
      client's local training outside of a round.
    update_is_finite: A computation (<ModelWeights, B*> -> bool): whether the
      client's update would be accepted. Sums hide who was left out, so a
      simulation asks client by client. Built when first asked for.
    extra_passes: Passes over a client's data in a round beside its training
      epochs, such as FedFish's Fisher pass. A fraction where only some batches
      take more gradients than one.
    uses_weights: Whether clients start from the model's weights. In closed-form
      methods they do not: what they send depends on their data alone.
    get_training_weights: A computation (S -> ModelWeights): what clients start
      from. It is `get_model_weights`, but where the model is an average of it.
  """

  def __init__(
    self,
    process: tff.learning.templates.LearningProcess,
    *,
    local_training: tff.Computation,
    build_update_is_finite: Callable[[], tff.Computation],
    extra_passes: float = 0,
    uses_weights: bool = True,
    get_training_weights: tff.Computation | None = None,
  ):
    super().__init__(
      process.initialize,
      process.next,
      process.get_model_weights,
      process.set_model_weights,
      get_hparams_fn=process.get_hparams,
      set_hparams_fn=process.set_hparams,
    )
    self.local_training = local_training
    self._build_update_is_finite = build_update_is_finite
    self.extra_passes = extra_passes
    self.uses_weights = uses_weights
    self.get_training_weights = (
      get_training_weights or process.get_model_weights
    )

  @functools.cached_property
  def update_is_finite(self) -> tff.Computation:
    # Most runs never ask, and tracing it takes as long as a round.
    return self._build_update_is_finite()

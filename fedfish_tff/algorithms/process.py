# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Learning processes that also export their local training."""

from collections.abc import Callable
import functools
from typing import Any

import tensorflow_federated as tff


class FederatedProcess(tff.learning.templates.LearningProcess):
  """A `tff.learning.templates.LearningProcess` with its local training.

  Every TFF tool takes it as the learning process that it is. Evaluation,
  diagnosis and accounting also use the attributes below.

  `initialize` is of type ( -> S@SERVER), and `next`, a round, of type (<S@SERVER,
  {B*}@CLIENTS> -> <state=S@SERVER, metrics=M@SERVER>):

  - S is the server's state, a `tff.learning.templates.LearningAlgorithmState`:
    `global_model_weights`; `client_work`, what the method keeps beside them,
    such as control variates; and the states of `aggregator` and `finalizer`,
    the latter of which holds the server optimizer's state. Closed-form methods
    have other states. `get_model_weights` gives the model of any of them.
  - B* is a client's sequence of batches.
  - M holds the round's metrics, by the same parts. `client_work` has `train`,
    the model's metrics over the clients, and `excluded_clients`, the number of
    clients left out. The columns of `metrics.csv` are named after them.

  Attributes:
    local_training: A computation (<ModelWeights, B*> -> ModelWeights), one
      client's local training outside of a round. It is built at its first use.
    update_is_finite: A computation (<ModelWeights, B*> -> bool): whether the
      client's update would be accepted. Sums hide which client was left out, so
      a simulation asks client by client. It is built at its first use.
    extra_passes: The number of passes over a client's data per round besides
      its training epochs, such as FedFish's Fisher pass. It is a fraction where
      only some batches take more than one gradient.
    uses_weights: Whether clients start from the model's weights. In closed-form
      methods they do not: their updates depend on their data alone.
    get_training_weights: A function (S -> ModelWeights) that returns the
      weights clients start from. These are the model's, unless the model is an
      average of them. Where they are a part of S, no computation runs.
  """

  def __init__(
    self,
    process: tff.learning.templates.LearningProcess,
    *,
    build_local_training: Callable[[], tff.Computation],
    build_update_is_finite: Callable[[], tff.Computation],
    extra_passes: float = 0,
    uses_weights: bool = True,
    get_training_weights: (
      Callable[[Any], tff.learning.models.ModelWeights] | None
    ) = None,
  ):
    super().__init__(
      process.initialize,
      process.next,
      process.get_model_weights,
      process.set_model_weights,
      get_hparams_fn=process.get_hparams,
      set_hparams_fn=process.set_hparams,
    )
    self._build_local_training = build_local_training
    self._build_update_is_finite = build_update_is_finite
    self.extra_passes = extra_passes
    self.uses_weights = uses_weights
    self.get_training_weights = (
      get_training_weights or process.get_model_weights
    )

  # Many runs use neither, and tracing takes as long as a round.
  @functools.cached_property
  def local_training(self) -> tff.Computation:
    return self._build_local_training()

  @functools.cached_property
  def update_is_finite(self) -> tff.Computation:
    return self._build_update_is_finite()

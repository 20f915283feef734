# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A round of FedAvg in pfl-research, without this package; see `peers`."""

import itertools
import os
import sys
import time

from benchmarks.peers import peer_timing

import numpy as np


def _main(path: str) -> None:
  with np.load(path) as arrays:
    task = dict(arrays)
  # Before PyTorch starts its threads.
  os.sched_setaffinity(0, task['cores'].tolist())
  os.environ['PFL_PYTORCH_DEVICE'] = 'cpu'

  from pfl import metrics  # pylint: disable=g-import-not-at-top
  from pfl.aggregate import simulate  # pylint: disable=g-import-not-at-top
  from pfl.algorithm import base  # pylint: disable=g-import-not-at-top
  from pfl.algorithm import federated_averaging  # pylint: disable=g-import-not-at-top
  from pfl.callback import base as callback  # pylint: disable=g-import-not-at-top
  from pfl.data import dataset  # pylint: disable=g-import-not-at-top
  from pfl.data import federated_dataset  # pylint: disable=g-import-not-at-top
  from pfl.hyperparam import base as hyperparam  # pylint: disable=g-import-not-at-top
  from pfl.model import pytorch  # pylint: disable=g-import-not-at-top
  import torch  # pylint: disable=g-import-not-at-top

  torch.set_num_threads(len(task['cores']))
  weights = peer_timing.weights_of(task)
  is_cnn = weights[0].ndim == 4
  # The inputs of the dense layer after the convolutions, which PyTorch orders
  # with channels first.
  flat = [28 // 4, 28 // 4, 64]

  def to_torch(i: int, w: np.ndarray) -> torch.Tensor:
    if w.ndim == 4:
      w = w.transpose(3, 2, 0, 1)
    elif w.ndim == 2:
      if is_cnn and i == 4:
        w = w.reshape(*flat, -1).transpose(2, 0, 1, 3).reshape(w.shape)
      w = w.T
    return torch.tensor(np.ascontiguousarray(w))

  def from_torch(i: int, w: torch.Tensor) -> np.ndarray:
    w = w.detach().numpy()
    if w.ndim == 4:
      w = w.transpose(2, 3, 1, 0)
    elif w.ndim == 2:
      w = w.T
      if is_cnn and i == 4:
        w = w.reshape(flat[2], *flat[:2], -1).transpose(1, 2, 0, 3)
        w = w.reshape(weights[i].shape)
    return w

  class Model(torch.nn.Sequential):
    """The network with the two methods that pfl-research requires."""

    def loss(self, x, y):
      return torch.nn.functional.cross_entropy(self(x), y)

    def metrics(self, x, y):
      return {'loss': metrics.Weighted(self.loss(x, y).item(), len(y))}

  classes = weights[-1].size
  nn = torch.nn
  if is_cnn:
    network = Model(
      nn.Conv2d(1, 32, 5, padding='same'),
      nn.ReLU(),
      nn.MaxPool2d(2),
      nn.Conv2d(32, 64, 5, padding='same'),
      nn.ReLU(),
      nn.MaxPool2d(2),
      nn.Flatten(),
      nn.Linear(np.prod(flat), 512),
      nn.ReLU(),
      nn.Linear(512, classes),
    )
  else:
    network = Model(nn.Linear(task['x'].shape[2], classes))
  x = torch.tensor(task['x'])
  if is_cnn:
    x = x.permute(0, 1, 4, 2, 3).contiguous()
  y = torch.tensor(task['y'], dtype=torch.long)
  users = [dataset.Dataset([a, b]) for a, b in zip(x, y)]
  with torch.no_grad():
    for i, (p, w) in enumerate(zip(network.parameters(), weights)):
      p.copy_(to_torch(i, w))
  # The first round always evaluates, too, so it is not timed.
  rounds = 1 + int(task['repeats'])
  after_first, ends = [], []

  class Clock(callback.TrainingProcessCallback):
    """Notes the times at which rounds end, and the weights after the first."""

    def after_central_iteration(self, aggregate_metrics, model, **kwargs):
      if not ends:
        after_first.extend(map(from_torch, *zip(*enumerate(parameters()))))
      ends.append(time.perf_counter())
      return False, metrics.Metrics()

  def parameters():
    return [p.clone() for p in network.parameters()]

  users_in_order = itertools.cycle(range(len(users)))
  federated_averaging.FederatedAveraging().run(
    base.NNAlgorithmParams(
      central_num_iterations=rounds,
      evaluation_frequency=rounds,
      train_cohort_size=len(users),
      val_cohort_size=0,
    ),
    simulate.SimulatedBackend(
      federated_dataset.FederatedDataset(
        users.__getitem__, lambda: next(users_in_order)
      ),
      None,
    ),
    pytorch.PyTorchModel(
      network, torch.optim.SGD, torch.optim.SGD(network.parameters(), lr=1.0)
    ),
    hyperparam.NNTrainHyperParams(
      local_num_epochs=1,
      local_learning_rate=float(task['learning_rate']),
      local_batch_size=int(task['batch_size']),
    ),
    callbacks=[Clock()],
    send_metrics_to_platform=False,
  )
  peer_timing.check(task, after_first)
  peer_timing.report(
    np.diff(ends), **{'pfl-research': 'pfl', 'PyTorch': 'torch'}
  )


if __name__ == '__main__':
  _main(sys.argv[1])

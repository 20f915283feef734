# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A round of FedAvg in FedJAX, without this package; see `peers`."""

import os
import sys

from benchmarks.peers import peer_timing

import numpy as np


def _main(path: str) -> None:
  with np.load(path) as arrays:
    task = dict(arrays)
  # Before JAX starts its threads.
  os.sched_setaffinity(0, task['cores'].tolist())
  os.environ['JAX_PLATFORMS'] = 'cpu'

  from benchmarks.peers import jax_networks  # pylint: disable=g-import-not-at-top

  import fedjax  # pylint: disable=g-import-not-at-top
  from fedjax.algorithms import fed_avg  # pylint: disable=g-import-not-at-top
  import jax  # pylint: disable=g-import-not-at-top
  import jax.numpy as jnp  # pylint: disable=g-import-not-at-top

  def loss(weights, batch, rng):
    del rng
    return jax_networks.loss(weights, batch['x'], batch['y'])

  algorithm = fed_avg.federated_averaging(
    jax.grad(loss),
    fedjax.optimizers.sgd(float(task['learning_rate'])),
    fedjax.optimizers.sgd(1.0),
    fedjax.ShuffleRepeatBatchHParams(
      batch_size=int(task['batch_size']), num_epochs=1, skip_shuffle=True
    ),
  )
  keys = jax.random.split(jax.random.key(0), len(task['x']))
  clients = [
    (str(i).encode(), fedjax.ClientDataset({'x': x, 'y': y}), key)
    for i, (x, y, key) in enumerate(zip(task['x'], task['y'], keys))
  ]
  state = algorithm.init([jnp.asarray(w) for w in peer_timing.weights_of(task)])
  peer_timing.measure(
    task,
    lambda: jax.device_get(algorithm.apply(state, clients)[0].params),
    FedJAX='fedjax',
    JAX='jax',
  )


if __name__ == '__main__':
  _main(sys.argv[1])

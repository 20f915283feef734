# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A round of FedAvg in plain JAX, one client after the other; see `peers`.

It is the yardstick of `benchmarks.accelerator`, on the first device of JAX.
"""

import os
import sys

from benchmarks.peers import peer_timing

import numpy as np


def _main(path: str) -> None:
  with np.load(path) as arrays:
    task = dict(arrays)
  # Before JAX starts its threads.
  os.sched_setaffinity(0, task['cores'].tolist())

  from benchmarks.peers import jax_networks  # pylint: disable=g-import-not-at-top

  import jax  # pylint: disable=g-import-not-at-top
  import jax.numpy as jnp  # pylint: disable=g-import-not-at-top

  # The same precision as that of the programs with which it is compared.
  jax.config.update('jax_default_matmul_precision', 'highest')

  def step(weights, batch):
    gradients = jax.grad(jax_networks.loss)(weights, *batch)
    rate = task['learning_rate']
    return [w - rate * g for w, g in zip(weights, gradients)], None

  @jax.jit
  def train(weights, *data):
    def train_client(totals, batches):
      end, _ = jax.lax.scan(step, weights, batches)
      return [t + w for t, w in zip(totals, end)], None

    totals = list(map(jnp.zeros_like, weights))
    totals, _ = jax.lax.scan(train_client, totals, data)
    return [total / len(data[0]) for total in totals]

  batched = (
    a.reshape([len(a), -1, int(task['batch_size']), *a.shape[2:]])
    for a in (task['x'], task['y'])
  )
  arguments = jax.device_put((peer_timing.weights_of(task), *batched))
  peer_timing.measure(
    task, lambda: jax.device_get(train(*arguments)), JAX='jax'
  )


if __name__ == '__main__':
  _main(sys.argv[1])

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A round of FedAvg in FedJAX; see `peers`. Needs nothing of this package."""

import os
import sys
import time

from benchmarks.peers import peer_timing

import numpy as np


def _main(path: str) -> None:
  with np.load(path) as arrays:
    task = dict(arrays)
  # Before JAX starts its threads.
  os.sched_setaffinity(0, task['cores'].tolist())
  os.environ['JAX_PLATFORMS'] = 'cpu'

  import fedjax  # pylint: disable=g-import-not-at-top
  from fedjax.algorithms import fed_avg  # pylint: disable=g-import-not-at-top
  import jax  # pylint: disable=g-import-not-at-top
  import jax.numpy as jnp  # pylint: disable=g-import-not-at-top

  def convolve(x, kernel, bias):
    x = jax.lax.conv_general_dilated(
      x, kernel, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')
    )
    window = (1, 2, 2, 1)
    return jax.lax.reduce_window(
      jax.nn.relu(x + bias), -jnp.inf, jax.lax.max, window, window, 'SAME'
    )

  def predict(weights, x):
    *hidden, last = zip(weights[::2], weights[1::2])
    for kernel, bias in hidden:
      if kernel.ndim == 4:
        x = convolve(x, kernel, bias)
      else:
        x = jax.nn.relu(x.reshape([len(x), -1]) @ kernel + bias)
    return x @ last[0] + last[1]

  def loss(weights, batch, rng):
    del rng
    log_probabilities = jax.nn.log_softmax(predict(weights, batch['x']))
    return -jnp.mean(
      jnp.take_along_axis(log_probabilities, batch['y'][:, None], 1)
    )

  algorithm = fed_avg.federated_averaging(
    jax.grad(loss),
    fedjax.optimizers.sgd(float(task['learning_rate'])),
    fedjax.optimizers.sgd(1.0),
    fedjax.ShuffleRepeatBatchHParams(
      batch_size=int(task['batch_size']), num_epochs=1, skip_shuffle=True
    ),
  )
  clients = [
    (str(i).encode(), fedjax.ClientDataset({'x': x, 'y': y}), key)
    for i, (x, y, key) in enumerate(
      zip(
        task['x'],
        task['y'],
        jax.random.split(jax.random.key(0), len(task['x'])),
      )
    )
  ]
  state = algorithm.init([jnp.asarray(w) for w in peer_timing.weights_of(task)])

  def run():
    return [np.asarray(w) for w in algorithm.apply(state, clients)[0].params]

  peer_timing.check(task, run())
  seconds = []
  for _ in range(int(task['repeats'])):
    began = time.perf_counter()
    run()
    seconds.append(time.perf_counter() - began)
  peer_timing.report(seconds, FedJAX='fedjax', JAX='jax')


if __name__ == '__main__':
  _main(sys.argv[1])

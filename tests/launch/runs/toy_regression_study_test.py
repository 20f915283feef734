# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The toy study against a NumPy network trained on the same batches."""

from fedfish_tff import datasets
from fedfish_tff.execution import contexts
from launch.runs import toy_regression_study
from tasks.tabular import toy_regression

from absl.testing import absltest
import numpy as np

_EPOCHS = 3
_SEED = 5
_BATCH_GRADIENT = 'FedFish, batch gradient'


def setUpModule():
  contexts.set_default_context()


def _forward(weights, x):
  w1, b1, w2, b2, w3, b3 = weights
  h1 = np.tanh(x @ w1 + b1)
  h2 = np.tanh(h1 @ w2 + b2)
  return h1, h2, h2 @ w3 + b3


def _gradients(weights, x, y):
  _, _, w2, _, w3, _ = weights
  h1, h2, f = _forward(weights, x)
  d3 = 2 * (f - y) / len(y)
  d2 = (d3 @ w3.T) * (1 - h2**2)
  d1 = (d2 @ w2.T) * (1 - h1**2)
  return [
    x.T @ d1, d1.sum(0), h1.T @ d2, d2.sum(0), h2.T @ d3, d3.sum(0)
  ]  # fmt: skip


def _mse(weights, x, y):
  return np.mean((_forward(weights, x)[2] - y) ** 2)


class ToyStudyTest(absltest.TestCase):
  def test_one_round_equals_numpy(self):
    task = toy_regression.create_task(seed=_SEED, overlap='none')
    start = [
      w.astype(np.float64) for w in task.create_model().initial_weights[0]
    ]
    spec = datasets.BatchSpec(batch_size=10, epochs=_EPOCHS)
    trained, fishers, data = [], [], []
    for client_id in task.train.client_ids:
      examples = task.train.load_client(client_id)
      data.append([a.astype(np.float64) for a in examples])
      batches = list(
        datasets.plan_batches(
          examples, spec, client_id=client_id, seed=_SEED, round_number=1
        )
      )
      weights = [w.copy() for w in start]
      for x, y in batches:
        for w, g in zip(weights, _gradients(weights, x, y)):
          w -= 0.05 * g
      fisher = [np.zeros_like(w) for w in start]
      for x, y in batches[: len(batches) // _EPOCHS]:
        for f, g in zip(fisher, _gradients(weights, x, y)):
          f += g**2
      trained.append(weights)
      fishers.append(fisher)
    merged = {
      'FedAvg': [(a + b) / 2 for a, b in zip(*trained)],
      _BATCH_GRADIENT: [
        (f * a + g * b) / (f + g)
        for a, b, f, g in zip(*trained, *fishers)
      ],
    }  # fmt: skip

    study = toy_regression_study.ToyStudy(
      local_epochs=_EPOCHS, methods=list(merged)
    )
    result = study.run('none', seed=_SEED)
    grid = result.panel.grid[:, np.newaxis]
    for function, weights in zip(result.panel.local_functions, trained):
      np.testing.assert_allclose(
        function, _forward(weights, grid)[2][:, 0], atol=1e-4
      )
    for method, weights in merged.items():
      np.testing.assert_allclose(
        result.panel.global_functions[method],
        _forward(weights, grid)[2][:, 0],
        atol=1e-4,
      )
      barriers = [
        _mse(weights, x, y) - _mse(own, x, y)
        for own, (x, y) in zip(trained, data)
      ]
      self.assertAlmostEqual(
        result.barriers[method], np.mean(barriers), places=4
      )
    with self.subTest('the same seed gives the same result'):
      again = study.run('none', seed=_SEED)
      self.assertEqual(again.barriers, result.barriers)

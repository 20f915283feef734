# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of central and local training, the two ends of the comparison."""

import contextlib
import functools
import io
import types
from unittest import mock

from research.equal_terms import digits
from research.equal_terms import ends

from absl.testing import absltest
import numpy as np

_SEED, _RATE = 3, 0.25


class EndsTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.task = ends.create_task(_SEED)

  def _scores(self, score, clients):
    """Returns a score, and the networks that it has fitted."""
    fit = mock.create_autospec(ends._fit, side_effect=ends._fit)
    networks = []

    def note(*arguments):
      networks.append(fit(*arguments))
      return networks[-1]

    with mock.patch.object(ends, '_fit', note):
      return score(self.task, clients, _RATE, _SEED), networks

  def _test_data(self, client_id):
    return self.task.own_test.load_client(client_id)

  def test_central_training_pools_all_training_clients(self):
    found, (network,) = self._scores(ends.score_central, self.task.test)
    ids = self.task.train.client_ids
    count = sum(len(self.task.train.load_client(c)[1]) for c in ids)
    # A client comes in 20 rounds of 10 of 40 clients, for 5 epochs each.
    self.assertEqual(network.t_, count * 20 * 10 // 40 * 5)
    shares = []
    for client_id in self.task.test.client_ids:
      x, y = self._test_data(client_id)
      # The network of the task: a hidden layer of 32 units.
      hidden = np.maximum(x @ network.coefs_[0] + network.intercepts_[0], 0)
      self.assertEqual(hidden.shape, (len(y), 32))
      logits = hidden @ network.coefs_[1] + network.intercepts_[1]
      shares.append(np.mean(logits.argmax(axis=1) == y))
    self.assertAlmostEqual(found, np.mean(shares))

  def test_local_training_has_the_outputs_of_the_task(self):
    clients = self.task.validation
    found, networks = self._scores(ends.score_local, clients)
    self.assertBetween(found, 0.5, 1.0)
    for client_id, network in zip(clients.client_ids, networks, strict=True):
      _, y = clients.load_client(client_id)
      self.assertEqual(list(network.classes_), list(range(10)))
      self.assertEqual(network.t_, 25 * len(y))

  def test_validation_clients_choose_the_rate(self):
    rates = digits.RATES['client_learning_rate']
    seen = []

    def score(task, clients, rate, seed):
      seen.append((rate, seed))
      self.assertEqual(clients.client_ids, task.validation.client_ids)
      return -abs(rate - rates[2])

    self.assertEqual(ends.tune(score), rates[2])
    self.assertCountEqual(seen, [(r, s) for r in rates for s in (100, 101)])

  def test_means_over_the_seeds_that_judge_are_printed(self):
    def score(wanted, task, clients, rate, seed):
      return rate * (0.5 + seed / 14) * (clients == wanted)

    central, local = (functools.partial(score, of) for of in ('test', 'train'))
    task, out = types.SimpleNamespace(test='test', train='train'), io.StringIO()
    with (
      mock.patch.multiple(ends, score_central=central, score_local=local),
      mock.patch.object(ends, 'tune', {central: 0.5, local: 0.25}.get),
      mock.patch.object(ends, 'create_task', lambda seed: task),
      contextlib.redirect_stdout(out),
    ):
      ends.main(['ends'])
    self.assertRegex(
      out.getvalue(),
      r'^central: 0\.375 \(0\.3\d\d to 0\.4\d\d\), 8 seeds, rate 0\.5\n'
      r'local: 0\.188 \(0\.1\d\d to 0\.2\d\d\), 8 seeds, rate 0\.25\n$',
    )


if __name__ == '__main__':
  absltest.main()

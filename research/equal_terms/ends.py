# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""The two ends of the comparison on digits, by scikit-learn.

  python -m research.equal_terms.ends

prints, over the eight seeds that judge,

  central  the accuracy on test clients of one network trained on the examples
           of all training clients together
  local    the accuracy of training clients on own test data, each with a
           network of its own, trained on its examples alone

with the clients, the network, the batches and the number of epochs that a
client has in expectation in digits.py: rounds * local_epochs * cohort_size /
num_clients. The rate is the one of digits.py's six with the best mean on
validation clients with the two seeds that tune; for local, validation clients
train networks of their own, too.
"""

from collections.abc import Callable
from collections.abc import Sequence

from fedfish_tff import datasets
from fedfish_tff import evaluation
from launch import cli
from launch.configs import sweeps
from launch.methods import config_checks
from research.equal_terms import budget
from research.equal_terms import digits
from tasks import registry
from tasks import task as task_lib

import numpy as np
from sklearn import neural_network

Score = Callable[[task_lib.Task, datasets.ClientData, float, int], float]


def _fit(
  clients: Sequence[datasets.Examples], rate: float, seed: int
) -> neural_network.MLPClassifier:
  """Returns a network trained on the examples of clients."""
  config = config_checks.read(digits.get_config().to_dict())
  visits = config.rounds * config.cohort_size / config.task['num_clients']
  network = neural_network.MLPClassifier(
    config.task['hidden_units'],
    solver='sgd',
    alpha=0.0,
    momentum=0.0,
    batch_size=config.batch_size,
    learning_rate_init=rate,
    random_state=seed,
  )
  x, y = map(np.concatenate, zip(*clients))
  for _ in range(round(visits * config.local_epochs)):
    network.partial_fit(x, y, classes=np.arange(10))
  return network


def _accuracy(
  network: neural_network.MLPClassifier, examples: datasets.Examples
) -> float:
  x, y = examples
  return float(np.mean(network.predict(x) == y))


def score_central(
  task: task_lib.Task, scored: datasets.ClientData, rate: float, seed: int
) -> float:
  """Returns the mean accuracy on clients' own test data of one network.

  Args:
    task: The task, whose training clients train the network together.
    scored: The clients that are scored, and do not train.
    rate: The learning rate of SGD.
    seed: The seed of initial weights and batches.
  """
  train = [task.train.load_client(c) for c in task.train.client_ids]
  network = _fit(train, rate, seed)
  return float(
    np.mean(
      [
        _accuracy(network, task.own_test.load_client(c))
        for c in scored.client_ids
      ]
    )
  )


def score_local(
  task: task_lib.Task, scored: datasets.ClientData, rate: float, seed: int
) -> float:
  """Returns the mean accuracy of clients' own networks on own test data.

  Args:
    task: The task, which has the network.
    scored: The clients, which train alone.
    rate: The learning rate of SGD.
    seed: The seed of initial weights and batches.
  """
  return float(
    np.mean(
      [
        _accuracy(
          _fit([scored.load_client(c)], rate, seed),
          task.own_test.load_client(c),
        )
        for c in scored.client_ids
      ]
    )
  )


def create_task(seed: int) -> task_lib.Task:
  """Returns the task of digits.py with a seed."""
  config = config_checks.read(digits.get_config().to_dict())
  return registry.create_task(**config.task, seed=seed)


def tune(score: Score) -> float:
  """Returns the best rate on validation clients with the seeds that tune."""
  tasks = {seed: create_task(seed) for seed in sweeps.TUNING_SEEDS}
  means = {
    rate: np.mean(
      [score(of, of.validation, rate, seed) for seed, of in tasks.items()]
    )
    for rate in digits.RATES['client_learning_rate']
  }
  return max(means, key=means.get)


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  for name, score, clients in (
    ('central', score_central, 'test'),
    ('local', score_local, 'train'),
  ):
    rate = tune(score)
    found = {}
    for seed in budget.SEEDS:
      task = create_task(seed)
      found[seed] = score(task, getattr(task, clients), rate, seed)
    level = evaluation.compare_paired(
      found, dict.fromkeys(found, 0.0), higher_is_better=True
    )
    print(
      f'{name}: {level.mean:.3f} ({level.low:.3f} to {level.high:.3f}), '
      f'{len(found)} seeds, rate {rate:g}'
    )


if __name__ == '__main__':
  cli.run(main)

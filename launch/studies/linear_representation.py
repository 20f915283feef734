# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedRep and SRPFL on linear representations, against what the theory says.

Section 4 of Tziotis et al. (arXiv:2206.02078): with n clients in a round the
distance to the true representation falls by a factor sqrt(1 - a) a round, to a
limit that falls as 1 / sqrt(n); so most rounds need few, fast clients only.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import evaluation
from fedfish_tff import models
from fedfish_tff import simulation
from tasks.tabular import linear_representation

import numpy as np
import tensorflow_federated as tff
import tqdm

FED_REP, SRPFL = 'FedRep', 'SRPFL'
METHODS = (FED_REP, SRPFL)

_NUM_FEATURES, _NUM_COMPONENTS, _NUM_EXAMPLES = 20, 2, 30

# One run in detail: speeds are drawn once, so that the fast clients stay.
CLIENTS = 64
_LEARNING_RATE = 0.5
_LOW_NOISE = 0.01
_STAGES = simulation.equal_stages(8, most=CLIENTS, rounds_a_stage=15)
_ROUNDS = {FED_REP: 20, SRPFL: 60}

# The setting of Theorem 4.6, whose speeds are drawn anew all the time. Heads are
# uniform on a sphere, of which the expected contraction is 1 - learning rate.
FIRST_CLIENTS = 4
CONTRACTION = 0.9  # 1 - a, of the squared distance.
ACCURACY = 1.2  # c: how close to the limit of all clients a run comes.
SIZES = (16, 64, 256, 1024, 4096)
COHORTS = (4, 8, 16, 32, 64)
_SLOW_LEARNING_RATE = 1 - CONTRACTION**0.5
_NOISE = 1.0
# Rounds from the truth to the limit, and those whose mean the limit is.
_ROUNDS_BEFORE, _ROUNDS_MEASURED = 40, 60


class Trace(NamedTuple):
  """A run, from its start, round 0, on.

  Attributes:
    seconds: Simulated seconds since the start, float64 [rounds + 1].
    distances: Distances to the true representation, float64 [rounds + 1].
  """

  seconds: np.ndarray
  distances: np.ndarray


class Results(NamedTuple):
  """The study's findings; lists have an element for each seed.

  Attributes:
    traces: Each method's runs, from the method of moments.
    limits: The distance that remains, by the number of clients per round.
    runs: Each method's runs for as many rounds as the theory says, by the
      number of all clients.
  """

  traces: Mapping[str, Sequence[Trace]]
  limits: Mapping[int, Sequence[float]]
  runs: Mapping[int, Mapping[str, Sequence[Trace]]]


class Cost(NamedTuple):
  """The rounds and simulated seconds to a distance."""

  rounds: int
  seconds: float


class LinearRuns:
  """Runs of Algorithm 2 with one learning rate; its process is built once."""

  def __init__(self, learning_rate: float):
    model = models.create_linear_representation(
      num_features=_NUM_FEATURES, num_components=_NUM_COMPONENTS, seed=0
    )
    self._process = algorithms.build_linear_fed_rep(model, learning_rate)
    self._method_of_moments = algorithms.build_method_of_moments(model)

  def start(
    self, clients: linear_representation.LinearClients, ids: Sequence[str]
  ) -> np.ndarray:
    """Returns the method of moments' start from examples of all clients."""
    weights = self._method_of_moments(_draw_cohort(clients, ids, 0))
    return np.asarray(weights.trainable[0])

  def run(
    self,
    clients: linear_representation.LinearClients,
    start: np.ndarray,
    participation: simulation.Participation,
    speeds: simulation.Speeds,
    *,
    rounds: int,
  ) -> Trace:
    """Runs some rounds, with new examples in each.

    Args:
      clients: All clients.
      start: The first representation, [d, k].
      participation: The clients of a round.
      speeds: The clients' speeds.
      rounds: The number of rounds.
    """
    wall_clock = simulation.build_wall_clock(speeds)
    state = self._process.initialize()
    head = self._process.get_model_weights(state).trainable[1]
    state = self._process.set_model_weights(
      state,
      tff.learning.models.ModelWeights((start.astype(np.float32), head), ()),
    )
    truth = clients.representation
    seconds = [0.0]
    distances = [evaluation.principal_angle_distance(start, truth)]
    for round_number in range(1, rounds + 1):
      cohort = participation(round_number)
      state, _ = self._process.next(
        state, _draw_cohort(clients, cohort, round_number)
      )
      representation, _ = self._process.get_model_weights(state).trainable
      seconds.append(seconds[-1] + wall_clock(round_number, cohort))
      distances.append(
        evaluation.principal_angle_distance(representation, truth)
      )
    return Trace(np.array(seconds), np.array(distances))


def trace_methods(runs: LinearRuns, seed: int) -> dict[str, Trace]:
  """Returns a run of each method, in which the fastest clients stay the same.

  Both begin with the method of moments of all clients, which costs no time here
  as in the paper's wall clock.
  """
  clients, ids = _make_clients(seed, _LOW_NOISE, CLIENTS)
  return _run_methods(
    runs,
    clients,
    ids,
    runs.start(clients, ids),
    stages=_STAGES,
    speeds=simulation.fixed_exponential_speeds(seed=seed),
    rounds=_ROUNDS,
    seed=seed,
  )


def measure_limit(runs: LinearRuns, cohort_size: int, seed: int) -> float:
  """Returns the mean distance that remains with so many clients per round.

  It begins at the truth, from where the limit is as far as from anywhere near.
  """
  clients, ids = _make_clients(seed, _NOISE, COHORTS[-1])
  trace = runs.run(
    clients,
    clients.representation,
    simulation.uniform_participation(ids, cohort_size=cohort_size, seed=seed),
    simulation.fixed_exponential_speeds(seed=seed),
    rounds=_ROUNDS_BEFORE + _ROUNDS_MEASURED,
  )
  return float(np.mean(trace.distances[-_ROUNDS_MEASURED:]))


def time_methods(
  runs: LinearRuns, num_clients: int, limit_of_one: float, seed: int
) -> dict[str, Trace]:
  """Returns a run of each method in the setting of Theorem 4.6.

  Args:
    runs: The runs with the rate of `CONTRACTION`.
    num_clients: N.
    limit_of_one: See `fit_limit_of_one`; the runs begin where the theory does.
    seed: The seed of clients, examples, start and speeds.
  """
  clients, ids = _make_clients(seed, _NOISE, num_clients)
  start = limit_of_one * _first_distance(num_clients)
  costs = expected_costs(num_clients)
  return _run_methods(
    runs,
    clients,
    ids,
    _move(clients.representation, start, seed),
    stages=_exponential_stages(num_clients),
    speeds=simulation.dynamic_exponential_speeds(seed=seed, scales=(1.0, 1.0)),
    rounds={method: cost.rounds for method, cost in costs.items()},
    seed=seed,
  )


def expected_costs(num_clients: int, *, power: int = 1) -> dict[str, Cost]:
  """Returns each method's cost by the theory, without communication.

  The distance d of a run becomes sqrt(1 - a) d + (1 - sqrt(1 - a)) / sqrt(n) in
  a round with n clients (inequality (10), taken as an equation), and a round
  takes their expected slowest of exponential speeds.

  Args:
    num_clients: N.
    power: The power in which distances add up: 1 as in the inequality, which
      holds however errors are related, or 2 if rounds are independent.
  """
  sizes = {
    FED_REP: lambda _: num_clients,
    SRPFL: _exponential_stages(num_clients).size,
  }
  kept = CONTRACTION ** (power / 2)
  costs = {}
  for method in METHODS:
    raised, seconds, rounds = _first_distance(num_clients) ** power, 0.0, 0
    while raised > (ACCURACY * num_clients**-0.5) ** power:
      rounds += 1
      n = sizes[method](rounds)
      raised = kept * raised + (1 - kept) * n ** (-power / 2)
      seconds += simulation.expected_slowest(n, num_clients)
    costs[method] = Cost(rounds, seconds)
  return costs


def measure_cost(traces: Sequence[Trace], distance: float) -> Cost | None:
  """Returns the cost of runs of one method to a distance, the mean over seeds.

  The mean distance counts, as in the theory: that of one run comes close to the
  limit of more clients than take part every now and then.

  Args:
    traces: The runs, one a seed, of equally many rounds.
    distance: The distance that the mean must not exceed.

  Returns:
    The first such round and the mean seconds then; None where there is none.
  """
  reached = np.mean([t.distances for t in traces], axis=0) <= distance
  if not reached.any():
    return None
  rounds = int(np.argmax(reached))
  return Cost(rounds, float(np.mean([t.seconds[rounds] for t in traces])))


def fit_limit_of_one(limits: Mapping[int, Sequence[float]]) -> float:
  """Returns b of limits that are b / sqrt(n), the mean over those measured."""
  return float(np.mean([np.mean(v) * n**0.5 for n, v in limits.items()]))


def run_study(*, seeds: int, most_clients: int) -> Results:
  """Runs everything for every seed, with a progress bar.

  Args:
    seeds: The number of seeds.
    most_clients: The largest of `SIZES` that is simulated.
  """
  sizes = [n for n in SIZES if n <= most_clients]
  with tqdm.tqdm(
    total=seeds * (1 + len(COHORTS) + len(sizes)),
    desc='linear representation',
    unit='run',
    disable=None,
  ) as bar:

    def each_seed(measure: Callable[..., Any], *arguments: Any) -> list[Any]:
      values = []
      for seed in range(seeds):
        values.append(measure(*arguments, seed))
        bar.update()
      return values

    traces = each_seed(trace_methods, LinearRuns(_LEARNING_RATE))
    slow = LinearRuns(_SLOW_LEARNING_RATE)
    limits = {n: each_seed(measure_limit, slow, n) for n in COHORTS}
    limit_of_one = fit_limit_of_one(limits)
    runs = {n: each_seed(time_methods, slow, n, limit_of_one) for n in sizes}
  return Results(
    _by_method(traces), limits, {n: _by_method(v) for n, v in runs.items()}
  )


def _run_methods(
  runs: LinearRuns,
  clients: linear_representation.LinearClients,
  ids: Sequence[str],
  start: np.ndarray,
  *,
  stages: simulation.Stages,
  speeds: simulation.Speeds,
  rounds: Mapping[str, int],
  seed: int,
) -> dict[str, Trace]:
  """Returns a run of each method with all clients, SRPFL's in stages."""
  participations = {
    FED_REP: lambda _: ids,
    SRPFL: simulation.srpfl_participation(
      ids, stages=stages, speeds=speeds, seed=seed, sampled=len(ids)
    ),
  }
  return {
    method: runs.run(clients, start, p, speeds, rounds=rounds[method])
    for method, p in participations.items()
  }


def _by_method(
  traces: Sequence[Mapping[str, Trace]],
) -> dict[str, list[Trace]]:
  return {method: [t[method] for t in traces] for method in METHODS}


def _make_clients(
  seed: int, noise_stddev: float, num_clients: int
) -> tuple[linear_representation.LinearClients, tuple[str, ...]]:
  clients = linear_representation.LinearClients(
    seed=seed,
    num_features=_NUM_FEATURES,
    num_components=_NUM_COMPONENTS,
    noise_stddev=noise_stddev,
  )
  return clients, linear_representation.client_names(num_clients)


def _draw_cohort(
  clients: linear_representation.LinearClients,
  ids: Sequence[str],
  round_number: int,
) -> list[datasets.ClientInput]:
  return [
    datasets.to_client_input(
      datasets.sequential_batches(
        clients.draw(client_id, _NUM_EXAMPLES, round_number=round_number),
        client_id=client_id,
        batch_size=_NUM_EXAMPLES,
      )
    )
    for client_id in ids
  ]


def _exponential_stages(num_clients: int) -> simulation.Stages:
  return simulation.exponential_stages(
    FIRST_CLIENTS, most=num_clients, contraction=CONTRACTION
  )


def _move(basis: np.ndarray, distance: float, seed: int) -> np.ndarray:
  """Returns a basis at a distance, by equal angles of random directions."""
  stream = datasets.random_generator('linear start', seed)
  normal = stream.standard_normal(basis.shape)
  across = np.linalg.qr(normal - basis @ (basis.T @ normal)).Q
  return basis * np.sqrt(1 - distance**2) + across * distance


def _first_distance(num_clients: int) -> float:
  """Returns the distance at which a stage before the first one ends best.

  It is in units of the limit of one client. Between stages of n and 2 n clients
  the next round is worth its time with either where the distance is

    (T_2n / sqrt(n) - T_n / sqrt(2 n)) / (T_2n - T_n),

  of which `simulation.exponential_stages` follows.
  """
  n = FIRST_CLIENTS // 2
  before, after = (
    simulation.expected_slowest(m, num_clients) for m in (n, 2 * n)
  )
  return (after * n**-0.5 - before * (2 * n) ** -0.5) / (after - before)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedRep and SRPFL on linear representations, compared with the theory.

In section 4 of Tziotis et al. (arXiv:2206.02078), n clients per round reduce
the distance to the true representation by a factor sqrt(1 - a) per round, down
to a limit proportional to 1 / sqrt(n). So most rounds need few, fast clients.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import os
from typing import Any
from typing import NamedTuple

from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import evaluation
from fedfish_tff import models
from fedfish_tff import simulation
from launch.plots import panels
from launch.plots import style
from launch.results import text_table
from tasks.tabular import linear_representation

from matplotlib import axes as mpl_axes
from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np
import tensorflow_federated as tff
import tqdm

FED_REP, SRPFL = 'FedRep', 'SRPFL'
METHODS = (FED_REP, SRPFL)

_NUM_FEATURES, _NUM_COMPONENTS, _NUM_EXAMPLES = 20, 2, 30

# The runs in detail: speeds are drawn once, so the fast clients stay the same.
CLIENTS = 64
_LEARNING_RATE = 0.5
_LOW_NOISE = 0.01
_STAGES = simulation.equal_stages(8, most=CLIENTS, rounds_per_stage=15)
_ROUNDS = {FED_REP: 20, SRPFL: 60}

# The setting of Theorem 4.6, where speeds are drawn anew in every round. With
# heads uniform on a sphere, the expected contraction is 1 - learning rate.
FIRST_CLIENTS = 4
CONTRACTION = 0.9  # 1 - a, of the squared distance.
ACCURACY = 1.2  # c: the final distance over the limit of all clients.
SIZES = (16, 64, 256, 1024, 4096)
COHORTS = (4, 8, 16, 32, 64)
_SLOW_LEARNING_RATE = 1 - CONTRACTION**0.5
_NOISE = 1.0
# The numbers of rounds from the truth to the limit, and of the rounds that the
# limit is averaged over.
_ROUNDS_BEFORE, _ROUNDS_MEASURED = 40, 60

_COLUMNS = [
  'part', 'method', 'clients', 'seed', 'round', 'seconds', 'distance'
]  # fmt: skip
# The powers in which errors add up: 1 in the theory, 2 if independent.
_DERIVED = {'derived': 1, 'of independent errors': 2}
# The distance that the table gives the time to, for the runs in detail.
_DISTANCE = 2e-3

_TITLE = 'SRPFL: fast clients first, all clients for the last bit of accuracy'
_LOOK = {'color': style.MUTED, 'linestyle': (0, (5, 1.5))}
_LOOKS = (_LOOK, _LOOK | {'linestyle': (0, (1, 1.2))})


class Trace(NamedTuple):
  """A run, from its start at round 0.

  Attributes:
    seconds: The simulated seconds since the start, float64 [rounds + 1].
    distances: The distances to the true representation, float64 [rounds + 1].
  """

  seconds: np.ndarray
  distances: np.ndarray


class Results(NamedTuple):
  """The study's findings; lists have an element for each seed.

  Attributes:
    traces: Each method's runs, from the method of moments.
    limits: The remaining distances, by the number of clients per round.
    runs: Each method's runs for the number of rounds that the theory predicts,
      by the number of all clients.
  """

  traces: Mapping[str, Sequence[Trace]]
  limits: Mapping[int, Sequence[float]]
  runs: Mapping[int, Mapping[str, Sequence[Trace]]]


class Cost(NamedTuple):
  """The rounds and simulated seconds that a run takes to reach a distance."""

  rounds: int
  seconds: float


class LinearRuns:
  """Runs of Algorithm 2 with one learning rate and one process for all."""

  def __init__(self, learning_rate: float):
    model = models.create_linear_representation(
      num_features=_NUM_FEATURES, num_components=_NUM_COMPONENTS, seed=0
    )
    self._process = algorithms.build_linear_fed_rep(model, learning_rate)
    self._method_of_moments = algorithms.build_method_of_moments(model)

  def start(
    self, clients: linear_representation.LinearClients, ids: Sequence[str]
  ) -> np.ndarray:
    """Returns the start by the method of moments on all clients' examples."""
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
    """Runs a number of rounds, with new examples in each.

    Args:
      clients: The generator of all clients.
      start: The initial representation, [d, k].
      participation: The clients of a round.
      speeds: The clients' seconds.
      rounds: The number of rounds, in each of which clients draw new examples.
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

  Both methods start from the method of moments of all clients, which costs no
  time, as in the paper's wall clock.
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
  """Returns the mean remaining distance with `cohort_size` clients per round.

  The run starts at the truth and rises to the limit.
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
    runs: The runs with the learning rate of `CONTRACTION`.
    num_clients: The number of clients, N.
    limit_of_one: The limit of one client (`fit_limit_of_one`), which scales the
      theory's initial distance.
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

  A round with n clients changes the distance d to
  sqrt(1 - a) d + (1 - sqrt(1 - a)) / sqrt(n) (inequality (10), taken as an
  equation), and takes the expected time of the slowest of the n fastest clients
  with exponential speeds.

  Args:
    num_clients: The number of clients, N.
    power: The power in which distances add up: 1 as in the inequality, which
      holds for any dependence of errors, or 2 if rounds are independent.
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
  """Returns one method's cost of reaching a distance, as a mean over seeds.

  The mean distance decides, as in the theory: single runs sometimes come close
  to the limit of more clients than take part.

  Args:
    traces: The runs, one per seed, of the same number of rounds.
    distance: The distance that the mean must not exceed.

  Returns:
    The first such round and the mean seconds then; None if there is none.
  """
  reached = np.mean([t.distances for t in traces], axis=0) <= distance
  if not reached.any():
    return None
  rounds = int(np.argmax(reached))
  return Cost(rounds, float(np.mean([t.seconds[rounds] for t in traces])))


def fit_limit_of_one(limits: Mapping[int, Sequence[float]]) -> float:
  """Returns the mean of b over measured limits of the form b / sqrt(n)."""
  return float(np.mean([np.mean(v) * n**0.5 for n, v in limits.items()]))


def run_study(*, seeds: int, most_clients: int) -> Results:
  """Runs all parts of the study for every seed, with a progress bar.

  Args:
    seeds: The number of seeds.
    most_clients: The largest of `SIZES` to simulate.
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
  """Returns a run of each method: FedRep with all clients, SRPFL in stages."""
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
  """Returns a basis at a distance, rotated equally in random directions."""
  stream = datasets.random_generator('linear start', seed)
  normal = stream.standard_normal(basis.shape)
  across = np.linalg.qr(normal - basis @ (basis.T @ normal)).Q
  return basis * np.sqrt(1 - distance**2) + across * distance


def _first_distance(num_clients: int) -> float:
  """Returns the best distance at which a stage before the first one ends.

  The unit is the limit of one client. Stages of n and of 2 n clients gain the
  same per unit of time in the next round at the distance

    (T_2n / sqrt(n) - T_n / sqrt(2 n)) / (T_2n - T_n),

  from which `simulation.exponential_stages` follows.
  """
  n = FIRST_CLIENTS // 2
  before, after = (
    simulation.expected_slowest(m, num_clients) for m in (n, 2 * n)
  )
  return (after * n**-0.5 - before * (2 * n) ** -0.5) / (after - before)


def format_tables(results: Results) -> str:
  """Returns tables of the theory's three claims, simulated and derived."""
  contraction = [('method', f'seconds to {_DISTANCE:g}, by seed', 'at the end')]
  for method, traces in results.traces.items():
    costs = [measure_cost([trace], _DISTANCE) for trace in traces]
    contraction.append(
      (
        method,
        ', '.join('never' if c is None else f'{c.seconds:.1f}' for c in costs),
        f'{np.mean([t.distances[-1] for t in traces]):.2g}',
      )
    )
  floor = [('clients per round', 'distance that remains', 'times sqrt(n)')]
  for n, values in results.limits.items():
    limit = np.mean(values)
    floor.append((str(n), f'{limit:.4f}', f'{limit * n**0.5:.3f}'))
  speed_up = [('all clients', *METHODS, 'ratio', *_DERIVED)]
  simulated = _simulated_costs(results)
  for n in SIZES:
    cells = ['', '', '']
    if n in simulated:
      cells = [_describe(simulated[n][method]) for method in METHODS]
      cells.append(f'{_share(simulated[n]):.3f}')
    derived = [
      f'{_share(expected_costs(n, power=p)):.3f}' for p in _DERIVED.values()
    ]
    speed_up.append((str(n), *cells, *derived))
  return '\n\n'.join(map(text_table.align, (contraction, floor, speed_up)))


def to_csv(results: Results) -> bytes:
  """Returns all results as CSV: rounds, limits and derived times."""

  def rows() -> Iterator[list[Any]]:
    for method, traces in results.traces.items():
      yield from _trace_rows('contraction', method, CLIENTS, traces)
    for n, values in results.limits.items():
      for seed, value in enumerate(values):
        yield ['floor', FED_REP, n, seed, None, None, value]
    for n, methods in results.runs.items():
      for method, traces in methods.items():
        yield from _trace_rows('speed_up', method, n, traces)
    for n in SIZES:
      for method, cost in expected_costs(n).items():
        yield ['derived', method, n, None, cost.rounds, cost.seconds, None]

  return text_table.to_csv(_COLUMNS, rows())


@style.styled
def plot(results: Results) -> mpl_figure.Figure:
  """Plots the distance by time, its limit by clients, and the saved time."""
  figure, (left, middle, right) = panels.new_grid(range(3), (4.4, 3.8))
  looks = style.series_looks(METHODS)
  for method, traces in results.traces.items():
    for seed, trace in enumerate(traces):
      # The start, at time 0, has no logarithm.
      left.plot(
        trace.seconds[1:],
        trace.distances[1:],
        **looks[method] | {'markersize': 3, 'linewidth': 1.2},
        label='_' * bool(seed) + method,
      )
  left.set(xscale='log', yscale='log')
  for dimension in (left.xaxis, left.yaxis):
    dimension.set_major_formatter(ticker.StrMethodFormatter('{x:g}'))
    dimension.set_minor_formatter(ticker.NullFormatter())
  panels.set_labels(
    left,
    'simulated seconds',
    'distance to the true representation',
    'Contraction',
    'one line per seed, one marker per round',
  )
  left.legend(loc='lower left')

  sizes = np.array(list(results.limits))
  limit_of_one = fit_limit_of_one(results.limits)
  middle.plot(
    sizes, limit_of_one * sizes**-0.5, **_LOOK, label=f'{limit_of_one:.2g} / √n'
  )
  for size, values in results.limits.items():
    panels.draw_points(
      middle, np.full(len(values), size), np.array(values), 22, color=style.INK
    )
  middle.set(xscale='log', yscale='log', ylabel='distance that remains')
  _tick_sizes(middle, sizes)
  # Labels such as 0.02, also between powers of ten.
  middle.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
  middle.yaxis.set_major_formatter(ticker.StrMethodFormatter('{x:g}'))
  middle.yaxis.set_minor_formatter(ticker.NullFormatter())
  panels.set_labels(
    middle, 'clients per round, n', '', 'Noise floor', 'one point per seed'
  )
  middle.legend(loc='upper right')

  for (label, power), look in zip(_DERIVED.items(), _LOOKS):
    shares = [_share(expected_costs(n, power=power)) for n in SIZES]
    right.plot(SIZES, shares, **look, label=label)
  simulated = _simulated_costs(results)
  if simulated:
    panels.draw_points(
      right,
      np.array(list(simulated)),
      np.array([_share(costs) for costs in simulated.values()]),
      34,
      color=looks[SRPFL]['color'],
      label='simulated',
    )
  right.set(xscale='log', ylim=(0, 1), ylabel="SRPFL's time / FedRep's")
  _tick_sizes(right, np.array(SIZES))
  panels.set_labels(
    right, 'all clients, N', '', 'Speed-up', 'to 1.2 times the floor of all'
  )
  right.legend(loc='upper right')
  panels.set_figure_title(figure, _TITLE)
  return figure


def draw(
  folder: str | os.PathLike[str],
  *,
  seeds: int,
  most_clients: int,
  file_format: str = 'png',
) -> None:
  """Runs the study, writes the figure and the CSV, and prints the tables.

  Args:
    folder: The folder of the files; made if it does not exist.
    seeds: The number of seeds.
    most_clients: The largest of `SIZES` to simulate.
    file_format: One of `style.FORMATS`.
  """
  folder = simulation.make_folder(folder)  # Fails before the long work.
  results = run_study(seeds=seeds, most_clients=most_clients)
  figure = folder / f'linear_representation.{file_format}'
  style.save_figure(plot(results), figure)
  table = folder / 'linear_representation.csv'
  simulation.write_atomically(table, to_csv(results))
  print(format_tables(results), figure, table, sep='\n')


def _simulated_costs(
  results: Results,
) -> dict[int, dict[str, Cost | None]]:
  """Returns each method's cost by the number of all clients."""
  limit_of_one = fit_limit_of_one(results.limits)
  return {
    n: {
      method: measure_cost(traces, ACCURACY * limit_of_one * n**-0.5)
      for method, traces in methods.items()
    }
    for n, methods in results.runs.items()
  }


def _trace_rows(
  part: str, method: str, clients: int, traces: Sequence[Trace]
) -> Iterator[list[Any]]:
  for seed, trace in enumerate(traces):
    for number, point in enumerate(zip(*map(np.ndarray.tolist, trace))):
      yield [part, method, clients, seed, number, *point]


def _share(costs: Mapping[str, Cost | None]) -> float:
  """Returns SRPFL's time over FedRep's; NaN if either has none."""
  if None in costs.values():
    return np.nan
  return costs[SRPFL].seconds / costs[FED_REP].seconds


def _describe(cost: Cost | None) -> str:
  if cost is None:
    return 'not reached'
  return f'{cost.seconds:.1f} s, {cost.rounds} rounds'


def _tick_sizes(axis: mpl_axes.Axes, sizes: np.ndarray) -> None:
  axis.set_xticks(sizes, [str(n) for n in sizes])
  axis.xaxis.set_minor_locator(ticker.NullLocator())

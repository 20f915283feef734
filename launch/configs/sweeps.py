# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lists of runs for launch.sweep: grids, seeds, and sweeps for every task.

A config file has sweeps if it defines `sweep(name) -> Sequence[Run]`:

  sweep = sweeps.choice(get_config, sweeps.ready_sweeps)

or, with its own sweep beside the ready ones:

  sweep = sweeps.choice(get_config, lambda get_config: {
    **sweeps.ready_sweeps(get_config),
    'batches': lambda: sweeps.grid(['fed_avg'], {'batch_size': (5, 10, 20)}),
  })

A comparison at tuned rates has runs that tune each method before those that
judge it:

    'comparison': lambda: sweeps.compare(
      get_config, ['fed_avg', 'fed_fish'], seeds=8,
      tuned={'client_learning_rate': (0.02, 0.05, 0.1)}),

Axes may follow the name of a sweep, as they may follow a variant: with
fixed_rounds,size=compact all runs have that size.

This is plain Python, without TensorFlow.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
import math
from typing import Any

from fedfish_tff import errors
from launch import json_config
from launch.configs import base
from launch.methods import config_fields
from launch.methods import optimizers
from launch.methods import registry

# The paper's grid for both rates.
LEARNING_RATES = (1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1)
# The paper's local epochs.
LOCAL_EPOCHS = (1, 8, 16)
SEEDS = (0, 1, 2)
# The seeds of runs that tune, which a comparison does not judge by.
TUNING_SEEDS = (100, 101)
# FedAvg, and FedFish with each Fisher estimator.
ESTIMATORS = ('fed_avg', 'fed_fish', 'per_example', 'sampled_label')
METHODS = (*ESTIMATORS, 'damped')
# Every method that trains one model of all clients by gradients, with the
# task's server optimizer and with others.
VARIANTS = (
  *(
    variant
    for variant in registry.variants('learning_rates')
    if not registry.find_variant(variant)[0].personalizes
    and not registry.find_variant(variant)[0].sized
  ),
  *(
    f'{method},server={optimizer}'
    for method in ('fed_avg', 'fed_fish')
    for optimizer in ('adagrad', 'adam', 'sgdm', 'yogi')
  ),
)

GetConfig = Callable[[str], base.ConfigDict]


@dataclasses.dataclass(frozen=True)
class Run:
  """One run of a sweep.

  Attributes:
    variant: The variant of the config, as in `--config=<file>:<variant>`.
    overrides: The values of fields of the config by dotted name, for example
      `{'algorithm.damping': 0.1}`.
  """

  variant: str
  overrides: Mapping[str, Any] = dataclasses.field(default_factory=dict)

  def __post_init__(self) -> None:
    # Grids are often NumPy's.
    plain = json_config.with_tuples(self.overrides)
    object.__setattr__(self, 'overrides', plain)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
  """The runs of a sweep, and those that tune them before.

  Attributes:
    runs: The runs whose results count. They leave the tuned fields open.
    tuning: The runs among which validation clients choose the values of the
      tuned fields; empty for none.
    tuned: The dotted names of the tuned fields.
    fine_tuning_rates: The candidates for the learning rate of fine-tuning, such
      as those of other sweeps with which this one is compared; empty for the
      client rates of `tuning`.
  """

  runs: tuple[Run, ...]
  tuning: tuple[Run, ...] = ()
  tuned: tuple[str, ...] = ()
  fine_tuning_rates: tuple[float, ...] = ()

  def map_runs(self, function: Callable[[Run], Run]) -> 'Experiment':
    """Returns the experiment with a function of each run in its place."""
    return dataclasses.replace(
      self,
      runs=tuple(map(function, self.runs)),
      tuning=tuple(map(function, self.tuning)),
    )


MakeRuns = Callable[[], Iterable[Run] | Experiment]
MakeSweeps = Callable[[GetConfig], Mapping[str, MakeRuns]]


def grid(
  variants: Sequence[str],
  fields: Mapping[str, Sequence[Any]],
  *,
  fixed: Mapping[str, Any] | None = None,
) -> tuple[Run, ...]:
  """Returns a run for each variant and each combination of values.

  Args:
    variants: The variants of the config, a sequence.
    fields: The values of each field, by its dotted name.
    fixed: The values of fields that are the same in all runs.
  """
  _check_sequence('the variants', variants)
  for name, values in fields.items():
    _check_sequence(f'the values of {name}', values)
  return tuple(
    Run(variant, {**(fixed or {}), **dict(zip(fields, values))})
    for variant in variants
    for values in itertools.product(*fields.values())
  )


def _check_sequence(what: str, values: Any) -> None:
  # A string is a sequence, too, but its letters are not meant.
  if isinstance(values, str) or not isinstance(values, Iterable):
    raise ValueError(f'{what} must be a sequence, got {values!r}.')


def compare(
  get_config: GetConfig,
  methods: Sequence[str],
  *,
  seeds: int | None = None,
  fields: Mapping[str, Sequence[Any]] | None = None,
  tuned: Mapping[str, Sequence[Any]] | None = None,
) -> Experiment:
  """Returns runs that compare methods, each at its own best values.

  Args:
    get_config: A function that returns the config of a variant.
    methods: The variants that are compared.
    seeds: The number of seeds 0, 1, ..., all below `TUNING_SEEDS`; None for the
      config's seed alone.
    fields: The values of each field in which runs differ, by its dotted name. A
      method without a field has one run instead.
    tuned: The values of each field that is tuned, by its dotted name: the best
      on validation clients in runs with `TUNING_SEEDS`, for each method and for
      each combination of `fields`. FedSGD, whose clients do not step, is tuned
      by the server's rate in place of the clients'.
  """
  if seeds is not None and not 1 <= seeds <= min(TUNING_SEEDS):
    raise ValueError(
      f'seeds must be a number from 1 to {min(TUNING_SEEDS)}, got {seeds}.'
    )
  fields, tuned = fields or {}, tuned or {}
  if 'seed' in tuned or (seeds is not None and 'seed' in fields):
    raise ValueError(
      'The values of seed must be given once, by seeds or among the fields, and '
      'cannot be tuned.'
    )
  configs = {method: get_config(method) for method in methods}
  known = {m: json_config.flatten(c.to_dict()) for m, c in configs.items()}
  for field in (*fields, *tuned):
    if not any(field in own for own in known.values()):
      every = dict.fromkeys(name for own in known.values() for name in own)
      raise ValueError(
        f'One of {", ".join(methods)} must have the field {field}, got none.'
        f'{errors.suggest(field, every)}'
      )
  judged, tuning, names = [], [], {}
  for method, config in configs.items():
    own = {f: of for f, of in fields.items() if f in known[method]}
    open_values = {
      _stepping_rate(config, field): of
      for field, of in tuned.items()
      if field in known[method]
    }
    if both := own.keys() & open_values.keys():
      raise ValueError(
        f'A field must be tuned or differ between runs, got {", ".join(both)} of '
        f'{method} for both.'
      )
    judged += grid(
      [method], {**own, **({'seed': range(seeds)} if seeds else {})}
    )
    if tuned:
      tuning += grid([method], {**own, **open_values, 'seed': TUNING_SEEDS})
    names |= dict.fromkeys(open_values)
  return Experiment(
    runs=tuple(judged), tuning=tuple(tuning), tuned=tuple(names)
  )


def _stepping_rate(config: base.ConfigDict, field: str) -> str:
  """Returns a field, or the server's rate for a client rate without steps."""
  method = registry.find_method(config.algorithm.name)
  is_idle = field == config_fields.CLIENT_RATE and method.steps_at_server
  return config_fields.SERVER_RATE if is_idle else field


def fixed_compute(
  variants: Sequence[str],
  *,
  total_local_epochs: int,
  evaluations: int,
  local_epochs: Sequence[int] = LOCAL_EPOCHS,
  seeds: Sequence[int] = SEEDS,
  fixed: Mapping[str, Any] | None = None,
) -> tuple[Run, ...]:
  """Returns runs with equal totals of local epochs, so more mean fewer rounds.

  Args:
    variants: The variants that are compared.
    total_local_epochs: The total of local epochs of a client in all rounds, a
      multiple of each of `local_epochs`.
    evaluations: The approximate number of evaluations of each run. It is equal
      for all runs, so that curves have equally many points and evaluation does
      not dominate where rounds are many and short.
    local_epochs: The numbers of local epochs per round.
    seeds: The seeds that every setting runs with.
    fixed: The values of fields that are the same in all runs.
  """
  changes = []
  for epochs in local_epochs:
    rounds, rest = divmod(total_local_epochs, epochs)
    if rest:
      raise ValueError(
        f'{total_local_epochs} local epochs in total are no whole number of '
        f'rounds of {epochs}.'
      )
    changes.append(
      {
        **(fixed or {}),
        'local_epochs': epochs,
        'rounds': rounds,
        'evaluate_every': max(1, round(rounds / evaluations)),
      }
    )
  return tuple(
    run
    for variant in variants
    for values in changes
    for run in grid([variant], {'seed': seeds}, fixed=values)
  )


def rates_around(rate: float) -> tuple[float, ...]:
  """Returns three neighbouring rates of the paper's series around one.

  The series extends the paper's grid: ..., 0.05, 0.1, 0.5, 1, 5, ... The rate
  in the middle is the nearest one of the series.
  """
  decade = math.floor(math.log10(rate))
  series = [
    # Parsed from text, since products such as 5 * 1e-2 may be rounded.
    float(f'{digit}e{exponent}')
    for exponent in range(decade - 2, decade + 3)
    for digit in (1, 5)
  ]
  middle = min(series, key=lambda other: abs(math.log(other / rate)))
  first = series.index(middle) - 1
  return tuple(series[first : first + 3])


def tuned_rates(config: base.ConfigDict) -> tuple[str, ...]:
  """Returns the fields of the learning rates that a method's tuning varies.

  Plain steps of the server are of rate 1, and FedSGD's clients take none.
  """
  method = registry.find_method(config.algorithm.name)
  if method.steps_at_server:
    return (config_fields.SERVER_RATE,)
  server = config.algorithm.get('server_optimizer')
  if server and optimizers.OPTIMIZERS[server].is_adaptive:
    return (config_fields.CLIENT_RATE, config_fields.SERVER_RATE)
  return (config_fields.CLIENT_RATE,)


def ready_sweeps(
  get_config: GetConfig,
  *,
  methods: Sequence[str] = METHODS,
  variants: Sequence[str] | None = None,
  local_epochs: Sequence[int] = LOCAL_EPOCHS,
  tunes_plain_servers: bool = False,
) -> dict[str, MakeRuns]:
  """Returns the sweeps that every task has, by name.

  `seeds`: the methods with the config's values, each with every seed.
  `variants`: all variants, each with every seed.
  `learning_rates`: the methods with the paper's grid of 7 client rates, and of
    as many of an adaptive server.
  `tuning`: the methods and local epochs with 3 client rates around the
    config's, and as many of an adaptive server, one seed and a quarter of the
    rounds: for `--tuned_by` of fixed_rounds.
  `fixed_rounds`: the methods, local epochs and seeds; the config's rounds.
  `fixed_compute_tuning`, `fixed_compute`: the same two at equal totals of local
    epochs. The most local epochs have the rounds of the two; fewer have more
    rounds, which need other rates.

  Args:
    get_config: A function that returns the config of a variant.
    methods: The variants that are compared closely.
    variants: The variants of the sweep `variants`; None for VARIANTS. Of
      variants with the same config in this task, such as keyboard's fed_avg and
      fed_avg,server=nesterov, only the first runs.
    local_epochs: The numbers of local epochs per round.
    tunes_plain_servers: Whether tuning varies the rates of plain servers, too,
      which are 1 as published.
  """

  def rates(config: base.ConfigDict) -> dict[str, tuple[float, ...]]:
    varied = tuned_rates(config)
    if tunes_plain_servers:
      varied = (config_fields.CLIENT_RATE, config_fields.SERVER_RATE)
    return {rate: rates_around(config[rate]) for rate in varied}

  def grids() -> Iterator[Run]:
    for method in methods:
      grid_of = dict.fromkeys(tuned_rates(get_config(method)), LEARNING_RATES)
      yield from grid([method], {**grid_of, 'seed': SEEDS[:1]})

  def tuning_rounds(config: base.ConfigDict) -> int:
    return max(1, config.rounds // 4)

  def compute(config: base.ConfigDict, rounds: int) -> dict[str, Any]:
    return {
      'total_local_epochs': rounds * max(local_epochs),
      'evaluations': -(-rounds // config.evaluate_every),
      'local_epochs': local_epochs,
    }

  def vary() -> tuple[Run, ...]:
    first = {}
    for variant in variants or VARIANTS:
      first.setdefault(repr(get_config(variant).to_dict()), variant)
    return grid(list(first.values()), {'seed': SEEDS})

  def tune() -> Iterator[Run]:
    for method in methods:
      config = get_config(method)
      yield from grid(
        [method],
        {'local_epochs': local_epochs, **rates(config), 'seed': SEEDS[:1]},
        fixed={'rounds': tuning_rounds(config)},
      )

  def tune_compute() -> Iterator[Run]:
    for method in methods:
      config = get_config(method)
      for pair in grid([method], {**rates(config), 'seed': SEEDS[:1]}):
        yield from fixed_compute(
          [method],
          **compute(config, tuning_rounds(config)),
          seeds=SEEDS[:1],
          fixed=pair.overrides,
        )

  def fix_compute() -> tuple[Run, ...]:
    config = get_config(methods[0])
    return fixed_compute(methods, **compute(config, config.rounds))

  return {
    'seeds': lambda: grid(methods, {'seed': SEEDS}),
    'variants': vary,
    'learning_rates': grids,
    'tuning': tune,
    'fixed_rounds': lambda: grid(
      methods,
      {'local_epochs': local_epochs, 'seed': SEEDS},
      fixed={'rounds': get_config(methods[0]).rounds},
    ),
    'fixed_compute_tuning': tune_compute,
    'fixed_compute': fix_compute,
  }


@dataclasses.dataclass(frozen=True)
class Sweeps:
  """The function `sweep` of a config file, which `choice` makes."""

  get_config: GetConfig
  make_sweeps: MakeSweeps

  def names(self) -> tuple[str, ...]:
    """Returns the names of the sweeps."""
    return tuple(self.make_sweeps(self.get_config))

  def __call__(self, name: str) -> tuple[Run, ...] | Experiment:
    """Returns the runs of a sweep, whose name axes may follow."""
    name, comma, axes = name.partition(',')

    def with_axes(run: Run) -> Run:
      return dataclasses.replace(run, variant=f'{run.variant}{comma}{axes}')

    sweeps = self.make_sweeps(
      lambda variant: self.get_config(f'{variant}{comma}{axes}')
    )
    if name not in sweeps:
      raise ValueError(
        f'The sweep must be one of {", ".join(sweeps)}, got {name!r}.'
        f'{errors.suggest(name, sweeps)}'
      )
    found = sweeps[name]()
    if isinstance(found, Experiment):
      return found.map_runs(with_axes)
    return tuple(map(with_axes, found))


def choice(get_config: GetConfig, make_sweeps: MakeSweeps) -> Sweeps:
  """Returns the function `sweep` of a config file.

  Args:
    get_config: A function that returns the config of a variant.
    make_sweeps: A function that returns the sweeps by name, for configs with
      the axes that follow the name of the chosen sweep.

  Returns:
    A function from the name of a sweep, which axes may follow, to its runs.
  """
  return Sweeps(get_config, make_sweeps)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The methods of the comparison, and the equal budget that tunes each of them.

README.md beside it has the design. A method of one's own is one more `Entry`
in a group; a task of one's own is a config file like digits.py.

This is plain Python, without TensorFlow.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import math
from typing import Any

from launch.configs import base
from launch.configs import sweeps

# The two questions, about one model of all clients and about clients' own.
QUESTIONS = ('global', 'personal')
# The fresh seeds that judge.
SEEDS = tuple(range(8))
# Fine-tuning, which judges the question personal.
PERSONAL = {
  'evaluation.personalization_epochs': 5,
  'evaluation.judged_by': 'fine_tuned',
}
_CLIENT_RATE, _SERVER_RATE = 'client_learning_rate', 'server_learning_rate'
# The answers of a server step of an asynchronous method.
_ANSWERS = {'fed_buff': 5, 'fed_async': 1}


@dataclasses.dataclass(frozen=True)
class Entry:
  """One method of the comparison.

  Attributes:
    variant: The variant of the config.
    own: The values of the field that the method has beside its rate, by the
      field's dotted name; empty for none.
    rate: The field of the tuned rate; empty if the method has none.
  """

  variant: str
  own: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)
  rate: str = _CLIENT_RATE

  def settings(
    self, rates: Mapping[str, Sequence[float]]
  ) -> dict[str, tuple[Any, ...]]:
    """Returns the values of each tuned field, as many settings for each method.

    Args:
      rates: The values of each rate, equally many. Beside a field of k values,
        every k-th rate remains.
    """
    tried = math.prod(map(len, self.own.values()))
    found = {name: tuple(values) for name, values in self.own.items()}
    if self.rate:
      found[self.rate] = tuple(rates[self.rate][::tried])
    return found


# The baseline.
FED_AVG = Entry('fed_avg')
# What weights each parameter by clients' Fisher values.
FISHERS = (
  Entry('fed_fish'),
  Entry('per_example'),
  Entry('damped', {'algorithm.damping': (1e-4, 1e-2)}),
)
# How else a server combines what clients send.
OTHER_AVERAGES = (
  Entry('fed_sgd', rate=_SERVER_RATE),
  Entry('fed_avg,server=adam', {_SERVER_RATE: (0.01, 0.03)}),
  Entry('fed_nova'),
  Entry('fed_avg,exchange=partial'),
)
AVERAGES = (FED_AVG, *FISHERS, *OTHER_AVERAGES)
# What corrects the drift of clients, by the server's model or direction.
CORRECTIONS = (
  Entry('fed_prox', {'algorithm.proximal_strength': (0.1, 1.0)}),
  Entry('mime_lite'),
  Entry('fed_cm', {'algorithm.mixture': (0.1, 0.3)}),
)
# What corrects it by a state that clients keep.
CONTROL_VARIATES = (
  Entry('scaffold'),
  Entry('fed_dyn', {'algorithm.regularization': (0.01, 0.1)}),
)
# What does not wait for the slowest client.
CLOCKS = (
  Entry('fed_buff,participation=asynchronous'),
  Entry(
    'fed_async,participation=asynchronous',
    {'algorithm.mixing_weight': (0.3, 0.6)},
  ),
  Entry('fed_avg,participation=flanp'),
)
# The pieces of a task with one model of all clients, by name.
ONE_MODEL = {
  'fed_fish': (FED_AVG, FISHERS[0]),
  'other_fishers': FISHERS[1:],
  'corrections': CORRECTIONS,
  'control_variates': CONTROL_VARIATES,
  'averages': OTHER_AVERAGES,
  'clocks': CLOCKS,
}
# What leaves the last layers with clients, beside two models of all clients
# that each client fine-tunes.
PERSONAL_LAYERS = (
  FED_AVG,
  Entry('fed_fish'),
  Entry('fed_per'),
)
# What trains these layers, the head, before the others.
PERSONAL_HEADS = (Entry('fed_rep', {'algorithm.body_epochs': (1, 2)}),)
# What leaves all but the last layers with clients.
PERSONAL_BODIES = (Entry('lg_fed_avg'),)
# What gives each client a whole model of its own.
PERSONAL_MODELS = (
  Entry('ditto', {'algorithm.personal_strength': (0.1, 1.0)}),
  Entry('apfl', {'algorithm.mixture': (0.25, 0.5)}),
)
# What takes steps towards clients' models within those for the server's.
PERSONAL_STEPS = (
  Entry('hf_maml', {'algorithm.personal_learning_rate': (0.03, 0.12)}),
  # The product of the strength and the client rate must not exceed 1.
  Entry(
    'p_fed_me',
    {
      'algorithm.personal_strength': (1.0,),
      'algorithm.personal_learning_rate': (0.03, 0.12),
    },
  ),
)
# What leaves layers with clients and begins with the fastest ones.
PERSONAL_CLOCKS = (
  Entry('fed_rep,participation=srpfl', {'algorithm.body_epochs': (1, 2)}),
)
# The pieces of a task with clients' own models, by name.
OWN_MODELS = {
  'personal_layers': PERSONAL_LAYERS,
  'personal_heads': PERSONAL_HEADS,
  'personal_bodies': PERSONAL_BODIES,
  'personal_models': PERSONAL_MODELS,
  'personal_steps': PERSONAL_STEPS,
  'personal_clocks': PERSONAL_CLOCKS,
}
# Classifiers of frozen features in closed form.
CLOSED_FORMS = (
  Entry(
    'fed3r,participation=visit_once',
    {
      'algorithm.regularization': (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03)
      + (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
    },
    rate='',
  ),
  Entry(
    'fed_ncm,participation=visit_once',
    {'algorithm.distance': ('cosine', 'euclidean')},
    rate='',
  ),
)


def compare(
  get_config: sweeps.GetConfig,
  entries: Iterable[Entry],
  rates: Mapping[str, Sequence[float]],
  *,
  fixed: Mapping[str, Any] | None = None,
) -> sweeps.Experiment:
  """Returns the runs that tune methods alike, and those that judge them.

  Args:
    get_config: A function that returns the config of a variant.
    entries: The methods.
    rates: The values of each rate of the task, equally many.
    fixed: The values of fields that are the same in all runs.
  """
  entries = tuple(entries)
  fixed = fixed or {}

  def tune() -> Iterator[sweeps.Run]:
    for entry in entries:
      # Only the last round chooses. Runs of one seed share the task.
      rounds = get_config(entry.variant).rounds
      yield from sweeps.grid(
        [entry.variant],
        {'seed': sweeps.TUNING_SEEDS, **entry.settings(rates)},
        fixed={**fixed, 'evaluate_every': rounds},
      )

  return sweeps.Experiment(
    runs=sweeps.grid(
      [entry.variant for entry in entries], {'seed': SEEDS}, fixed=fixed
    ),
    tuning=tuple(tune()),
    tuned=tuple(
      dict.fromkeys(
        field for entry in entries for field in entry.settings(rates)
      )
    ),
    # The same in all pieces, also where methods try every second rate.
    fine_tuning_rates=tuple(rates[_CLIENT_RATE]),
  )


def pieces(
  get_config: sweeps.GetConfig,
  rates: Mapping[str, Sequence[float]],
  *,
  fixed: Mapping[str, Any] | None = None,
  **entries: Sequence[Entry],
) -> dict[str, sweeps.MakeRuns]:
  """Returns the sweeps of the pieces of a task by name.

  Args:
    get_config: A function that returns the config of a variant.
    rates: The values of each rate of the task, equally many.
    fixed: The values of fields that are the same in all runs.
    **entries: The methods of each piece. The names of pieces of the question
      personal begin with it.
  """

  def fixed_of(name: str) -> dict[str, Any]:
    own = PERSONAL if name.startswith(QUESTIONS[1]) else {}
    return {**(fixed or {}), **own}

  return {
    name: functools.partial(
      compare, get_config, methods, rates, fixed=fixed_of(name)
    )
    for name, methods in entries.items()
  }


def create_config(variant: str, **values: Any) -> base.ConfigDict:
  """Creates a config with what is the same for all tasks.

  Clients have speeds, so that runs have a clock. Asynchronous runs take as many
  answers as those of uniform cohorts, and FLANP's and SRPFL's four stages have
  equally many rounds.

  Args:
    variant: The variant of the method.
    **values: The further arguments of `base.create_config`.
  """
  if 'participation' not in base.parse_variant(variant)[1]:
    variant = f'{variant},participation=uniform'
  config = base.create_config(
    variant,
    cohort_size=10,
    checkpoint_every=values['rounds'],
    evaluation={'personalization_epochs': 0, 'barrier': False},
    fields={
      'participation.speeds.communication_seconds': 1.0,
      'participation.n0': 3,
      'participation.rounds_per_stage': values['rounds'] // 4,
    },
    **values,
  )
  if config.algorithm.name in _ANSWERS:
    per_step = _ANSWERS[config.algorithm.name]
    config.participation.concurrency = config.cohort_size
    for field in ('rounds', 'evaluate_every', 'checkpoint_every'):
      config[field] *= config.cohort_size // per_step
    config.cohort_size = per_step
  return config

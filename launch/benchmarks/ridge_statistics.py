# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Compares the time of a client's ridge statistics with a matrix product's.

  python -m launch.benchmarks.ridge_statistics
  python -m launch.benchmarks.ridge_statistics --features=512 --examples=2048

Fed3R's clients sum products of features, A = sum phi phi^T, in one pass over
their batches. That is one matrix product of [features, examples] and [examples,
features], and should take about as long as NumPy takes for it: ratios up to 1.3
are expected with batches of 1,024 examples. Everything runs in float32 and on
one thread, in less than a minute.
"""

from collections.abc import Callable
from collections.abc import Sequence
import shlex

from fedfish_tff import errors
from launch import cli
from launch.benchmarks import table

from absl import flags

_FEATURES = flags.DEFINE_multi_integer(
  'features',
  [512, 1280, 4096],
  'Number of features; repeat the flag for several.',
  lower_bound=1,
)
_EXAMPLES = flags.DEFINE_integer(
  'examples', 4096, 'Examples of the client.', lower_bound=1
)
_BATCH_SIZE = flags.DEFINE_integer(
  'batch_size', 1024, 'Examples in a batch.', lower_bound=1
)
_CLASSES = flags.DEFINE_integer(
  'classes', 10, 'Classes of the labels.', lower_bound=1
)
_REPEATS = flags.DEFINE_integer(
  'repeats', 7, 'Repetitions; figures are medians over them.', lower_bound=1
)


def main(argv: Sequence[str]) -> None:
  """Prints the table."""
  cli.check_no_arguments(argv)
  if len(set(_FEATURES.value)) < len(_FEATURES.value):
    raise errors.InputError(
      f'--features is {_FEATURES.value}; different numbers were expected.'
    )
  header = ['features', 'NumPy, ms', 'here, ms', 'ratio']
  lines = [header, *(_line(number) for number in _FEATURES.value)]
  print(table.format_text(lines, _notes()), flush=True)


def _line(num_features: int) -> list[str]:
  """Measures one row of the table."""
  # Imported late: TensorFlow comes with it.
  from launch.benchmarks import round_time  # pylint: disable=g-import-not-at-top

  product, statistics, check = _build(num_features)
  check()
  seconds = round_time.measure_in_turns(
    dict(product=product, statistics=statistics), repeats=_REPEATS.value
  )
  return [
    f'{num_features:,}',
    f'{seconds["product"] * 1e3:.2f}',
    f'{seconds["statistics"] * 1e3:.2f}',
    f'{seconds["statistics"] / seconds["product"]:.2f}',
  ]


def _build(
  num_features: int,
) -> tuple[Callable[[], object], Callable[[], object], Callable[[], None]]:
  """Returns what makes NumPy's product, the statistics, and compares them."""
  # pylint: disable=g-import-not-at-top
  from fedfish_tff import client_work
  from fedfish_tff import datasets
  from fedfish_tff import models
  from fedfish_tff.execution import contexts

  import numpy as np
  import threadpoolctl

  # pylint: enable=g-import-not-at-top

  contexts.set_default_context()
  generator = datasets.random_generator('benchmark', num_features)
  x = generator.standard_normal([_EXAMPLES.value, num_features], np.float32)
  y = generator.integers(0, _CLASSES.value, len(x)).astype(np.int32)
  feature_map = models.create_identity_features(num_features)
  model = models.create_feature_classifier(
    feature_map, num_classes=_CLASSES.value
  )
  computation = client_work.build_ridge_statistics(
    feature_map, models.data_type(model), num_classes=_CLASSES.value
  )
  batches = datasets.sequential_batches(
    (x, y), client_id='benchmark', batch_size=_BATCH_SIZE.value
  )
  # NumPy takes half the product where it sees that both factors are one array.
  other = x.copy()

  def product():
    with threadpoolctl.threadpool_limits(1):
      return x.T @ other

  def statistics():
    return computation(batches)['statistics']

  def check():
    gram = statistics()['gram']
    if not np.allclose(gram[:-1, :-1], product(), rtol=1e-3, atol=1e-1):
      raise RuntimeError('The statistics are not the product of the features.')

  return product, statistics, check


def _notes() -> list[str]:
  """Returns what a reader has to know, a paragraph each."""
  return [
    f'{_EXAMPLES.value:,} examples in batches of {_BATCH_SIZE.value:,}, '
    f'{_CLASSES.value:,} classes; float32, one thread; medians over '
    f'{_REPEATS.value}. NumPy: one product of [features, examples] and '
    '[examples, features]. Here: all statistics of a client, in one pass.',
    'The command: '
    + shlex.join(
      ['python', '-m', 'launch.benchmarks.ridge_statistics', *_arguments()]
    ),
  ]


def _arguments() -> list[str]:
  """Returns the flags given, as they were."""
  return [
    f'--{flag.name}={value}'
    for flag in (_FEATURES, _EXAMPLES, _BATCH_SIZE, _CLASSES, _REPEATS)
    if flag.present
    for value in (flag.value if isinstance(flag.value, list) else [flag.value])
  ]


if __name__ == '__main__':
  cli.run(main)

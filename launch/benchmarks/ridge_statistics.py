# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Compares the time of a client's ridge statistics with a matrix product's.

  python -m launch.benchmarks.ridge_statistics
  python -m launch.benchmarks.ridge_statistics --features=512 --batch_size=16

Fed3R's clients sum products of features, A = sum phi phi^T, in one pass over
their batches. That is one matrix product of [features, examples] and [examples,
features], and should take about as long as NumPy takes for it: ratios up to 1.3
are expected. The statistics are those of one client in a round: read from its
packed data, with the products by class, and summed. Everything runs in float32
and on one thread, in a minute.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence

from launch import cli
from launch.benchmarks import report

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
_BATCH_SIZE = flags.DEFINE_multi_integer(
  'batch_size',
  [64, 1024],
  'Examples in a batch; repeat the flag for several.',
  lower_bound=1,
)
_CLASSES = flags.DEFINE_integer(
  'classes', 10, 'Classes of the labels.', lower_bound=1
)
_REPEATS = flags.DEFINE_integer(
  'repeats', 7, 'Repetitions; figures are medians over them.', lower_bound=1
)


_Call = Callable[[], object]


def main(argv: Sequence[str]) -> None:
  """Prints the table."""
  cli.check_no_arguments(argv)
  lines = [['features', 'batch size', 'NumPy, ms', 'here, ms', 'ratio']]
  for num_features in dict.fromkeys(_FEATURES.value):
    lines.extend(_lines(num_features))
  note = (
    f'One client of {_EXAMPLES.value:,} examples, {_CLASSES.value:,} classes; '
    f'float32, one thread; medians over {_REPEATS.value}. NumPy: one product '
    'of [features, examples] and [examples, features], two arrays, since of '
    'one with itself NumPy computes half. Here: all statistics, in one pass, and '
    'their sum over the round.'
  )
  print(report.format_text(lines, [note]))


def _lines(num_features: int) -> Iterator[list[str]]:
  """Yields the rows of one number of features, each measured."""
  # Imported late: TensorFlow comes with it.
  from launch.benchmarks import round_time  # pylint: disable=g-import-not-at-top

  product, statistics = _build(num_features)
  seconds = round_time.measure_in_turns(
    {'product': product, **statistics}, repeats=_REPEATS.value
  )
  for batch_size in statistics:
    yield [
      f'{num_features:,}',
      f'{batch_size:,}',
      f'{seconds["product"] * 1e3:.2f}',
      f'{seconds[batch_size] * 1e3:.2f}',
      f'{seconds[batch_size] / seconds["product"]:.2f}',
    ]


def _build(num_features: int) -> tuple[_Call, dict[int, _Call]]:
  """Returns NumPy's product, and the statistics by batch size."""
  # pylint: disable=g-import-not-at-top
  from fedfish_tff import client_work
  from fedfish_tff import datasets
  from fedfish_tff import models
  from fedfish_tff.execution import contexts

  import numpy as np
  import tensorflow_federated as tff
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

  @tff.federated_computation(
    tff.FederatedType(computation.type_signature.parameter, tff.CLIENTS)
  )
  def total(clients):
    return tff.federated_sum(tff.federated_map(computation, clients).statistics)

  # NumPy takes half the product where it sees that both factors are one array.
  other = x.copy()

  def product():
    with threadpoolctl.threadpool_limits(1):
      return x.T @ other

  def statistics(batch_size):
    batches = datasets.sequential_batches(
      (x, y), client_id='benchmark', batch_size=batch_size
    )
    return lambda: total([batches])

  calls = {size: statistics(size) for size in _BATCH_SIZE.value}

  for call in calls.values():
    gram = call()['gram'][:-1, :-1]
    if not np.allclose(gram, product(), rtol=1e-3, atol=1e-1):
      raise RuntimeError('The statistics are not the product of the features.')
  return product, calls


if __name__ == '__main__':
  cli.run(main)

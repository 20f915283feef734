# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Random TFF programs: a line of text each, from client data to the server.

  nested list 17 | filter:2 | batch:1 | for_loop:3 | weighted_mean | branch

is the elements, the form and the seed of the clients' data, steps of tf.data,
a reduction, an aggregation and what the server makes of it.

  int list 3 | sequence_map_text:0 | sequence_map_digest:0 | fold_notes:1 | ...

has TFF's own operations on sequences: sequence_map first, and sequence_reduce
(fold_...) or sequence_sum, or steps and a reduction of tf.data, behind it.
"""

import collections
from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import functools
from typing import Any
from typing import Self

from tests.execution.fuzzing import elements
from tests.execution.fuzzing import pipelines
from tests.execution.fuzzing import reductions

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_odict = collections.OrderedDict
_MOST_STEPS = 4


@dataclasses.dataclass(frozen=True)
class Program:
  """A program.

  Attributes:
    element: Of `elements.ELEMENTS`.
    form: Of `elements.FORMS`.
    data_seed: For the clients' data.
    steps: Pairs of a name of `pipelines.ALL` and its number.
    reduction: A name of `reductions.ALL` and its number.
    aggregation: Of `AGGREGATIONS`.
    server: Of `SERVERS`.
  """

  element: str
  form: str
  data_seed: int
  steps: tuple[tuple[str, int], ...]
  reduction: tuple[str, int]
  aggregation: str
  server: str

  def __str__(self) -> str:
    steps = [f'{name}:{n}' for name, n in (*self.steps, self.reduction)]
    data = f'{self.element} {self.form} {self.data_seed}'
    return ' | '.join([data, *steps, self.aggregation, self.server])

  @classmethod
  def parse(cls, text: str) -> Self:
    """Returns the program of a line of text."""
    data, *steps, aggregation, server = text.split(' | ')
    element, form, data_seed = data.split()
    named = [step.split(':') for step in steps]
    *steps, reduction = [(name, int(n)) for name, n in named]
    return cls(
      element,
      form,
      int(data_seed),
      tuple(steps),
      reduction,
      aggregation,
      server,
    )

  @property
  def is_drawn(self) -> bool:
    """Returns whether results are random."""
    return self.reduction[0] in (*reductions.DISTRIBUTIONS, *reductions.DRAWING)

  @property
  def _mapped(self) -> tuple[str, ...]:
    """The names of the functions for `tff.sequence_map`."""
    prefix = 'sequence_map_'
    names = (name for name, _ in self.steps)
    return tuple(n.removeprefix(prefix) for n in names if n.startswith(prefix))

  def client_work(self, dataset: tf.data.Dataset, first_step: int = 0) -> Any:
    """A client's pass over its data, by tf.data alone."""
    for name, n in self.steps[first_step:]:
      dataset = pipelines.ALL[name](dataset, n)
    name, n = self.reduction
    return reductions.ALL[name](dataset, n)

  def _client_work_by_intrinsics(
    self, data: tff.Value, types: list[tff.Type]
  ) -> tff.Value:
    """Does the same with TFF's own operations; notes the elements' types."""
    types.append(data.type_signature.element)
    for name in self._mapped:
      fn = tff.tensorflow.computation(pipelines.FUNCTIONS[name], types[-1])
      data = tff.sequence_map(fn, data)
      types.append(data.type_signature.element)
    name, n = self.reduction
    if name in reductions.SUMS:
      return tff.sequence_sum(data)
    if name in reductions.FOLDS:
      make_zero, step = reductions.FOLDS[name]
      zero = tff.tensorflow.computation(lambda: make_zero(n))()
      op = tff.tensorflow.computation(step, zero.type_signature, types[-1])
      return tff.sequence_reduce(data, zero, op)
    work = functools.partial(self.client_work, first_step=len(self._mapped))
    return tff.tensorflow.computation(
      lambda dataset: work(dataset), data.type_signature
    )(data)

  def computations(self) -> tuple[tff.Computation, tff.Computation]:
    """Returns the computation, of the clients' datasets, for each context.

    TFF's runtime knows no `tff.sequence_sum`, passes no mapped sequence to
    TensorFlow and takes one part for another where names are not sorted: it
    then gets the same by tf.data.
    """
    sequence = elements.sequence_type(self.element, self.form)
    in_tf_data = self._computation(
      tff.tensorflow.computation(lambda data: self.client_work(data), sequence)
    )
    name, _ = self.reduction
    is_fold = name in reductions.FOLDS
    if not self._mapped and not is_fold and name not in reductions.SUMS:
      return in_tf_data, in_tf_data
    types = []
    by_intrinsics = self._computation(
      tff.federated_computation(
        lambda data: self._client_work_by_intrinsics(data, types), sequence
      )
    )
    is_known = is_fold and not any(map(_is_unsorted, types))
    return by_intrinsics, by_intrinsics if is_known else in_tf_data

  def _computation(self, work: tff.Computation) -> tff.Computation:
    sequence = work.type_signature.parameter

    @tff.federated_computation(tff.FederatedType(sequence, tff.CLIENTS))
    def comp(datasets):
      values = tff.federated_map(work, datasets)
      result = AGGREGATIONS[self.aggregation](values, datasets)
      return SERVERS[self.server](result)

    return comp

  def arguments(self) -> list[list[Any]]:
    """Returns the cohorts of two calls."""
    return [
      elements.client_data(self.element, self.form, self.data_seed + call)
      for call in range(2)
    ]


def _is_unsorted(type_spec: tff.Type) -> bool:
  def is_unsorted(part: tff.Type) -> bool:
    if not isinstance(part, tff.StructType):
      return False
    names = tff.structure.name_list(part)
    return names != sorted(names)

  return tff.types.contains(type_spec, is_unsorted)


def generate(seed: int) -> Program:
  """Returns the program of a seed."""
  rng = np.random.default_rng(seed)

  def pick(names: Any) -> str:
    return str(rng.choice(sorted(names)))

  while True:
    element, form = pick(elements.ELEMENTS), pick(elements.FORMS)
    if _is_possible(element, form):
      break
  dataset = elements.empty_dataset(elements.element_spec(element, form))
  steps = []
  # General paths hide each other, and what graphs would do.
  is_general = rng.random() < 0.3
  # What comes behind TFF's own operations; as if behind none if there are none.
  has_intrinsics = not is_general and rng.random() < 0.35
  behind = pick(('fold', 'sum', 'steps')) if has_intrinsics else 'steps'

  def add(table: Mapping[str, pipelines.Step]) -> None:
    nonlocal dataset
    name, n = pick(table), int(rng.integers(0, 7))
    try:
      dataset = table[name](dataset, n)
    except Exception:  # noqa: BLE001  Not for these elements.
      return
    steps.append((name, n))

  if has_intrinsics:
    maps = {
      name: step
      for name, step in pipelines.INTRINSICS.items()
      # tf.data does not know the errors of elements that it does not read.
      if behind == 'fold' or not name.startswith('sequence_map_fail')
    }
    for _ in range(rng.integers(0 if behind == 'fold' else 1, 4)):
      add(maps)
    if behind == 'sum':
      add({'sequence_map_digest': maps['sequence_map_digest']})
  for _ in range(rng.integers(0, _MOST_STEPS + 1) if behind == 'steps' else 0):
    add(
      pipelines.STEPS
      if is_general
      else {name: pipelines.STEPS[name] for name in pipelines.REPLAYED}
    )
  kind = rng.random() if behind == 'steps' else 1.0
  names = reductions.REDUCTIONS.keys() - (
    set() if is_general else reductions.GENERAL
  )
  if behind != 'steps':
    names = reductions.SUMS if behind == 'sum' else reductions.FOLDS
  elif kind < 0.08:
    add(pipelines.UNORDERED)
    names = reductions.ORDER_FREE
  elif kind < 0.14:
    add(pipelines.DRAWN)
    names = reductions.DISTRIBUTIONS
  elif kind < 0.17:
    names = reductions.DRAWING
  is_drawn = names in (reductions.DISTRIBUTIONS, reductions.DRAWING)
  reduction = (pick(names), int(rng.integers(0, 7)))
  aggregation = pick(AGGREGATIONS)
  if 0.17 <= kind < 0.22:
    reduction, aggregation = (
      ('dataset', 0),
      pick(('outputs', 'later', 'passed')),
    )
  elif aggregation == 'passed':
    aggregation = 'outputs'
  elif names is reductions.DRAWING and aggregation == 'later':
    aggregation = 'mean'
  return Program(
    element,
    form,
    int(rng.integers(0, 1000)),
    tuple(steps),
    reduction,
    aggregation,
    # Whole numbers of what is drawn have no tolerance, nor has a side of 10.
    pick(SERVERS.keys() - ({'dataset', 'branch'} if is_drawn else set())),
  )


def _is_possible(element: str, form: str) -> bool:
  spec = elements.ELEMENTS[element]
  is_static = all(s.shape.is_fully_defined() for s in tf.nest.flatten(spec))
  if 'ragged' in form:
    return not is_static
  return is_static or form in ('list', 'tensors')


# Aggregations take the clients' values and datasets, at the clients.


def _local(function: Callable[..., Any], *values: Any) -> Any:
  """Maps a TensorFlow function over placed values of any type."""
  if len(values) > 1:
    value = tff.federated_zip(values)
  else:
    (value,) = values
  member = value.type_signature.member
  if len(values) > 1:
    comp = tff.tensorflow.computation(lambda v: function(*v), member)
  else:
    comp = tff.tensorflow.computation(function, member)
  return tff.federated_map(comp, value)


def _numbers(dtype: tf.DType) -> Callable[[Any], Any]:
  def convert(nest: Any) -> Any:
    def of(leaf: tf.Tensor) -> tf.Tensor:
      if leaf.dtype == tf.string:
        leaf = tf.strings.to_hash_bucket_fast(leaf, 1009)
      return tf.cast(tf.reduce_sum(leaf), dtype)

    return tf.nest.map_structure(of, nest)

  return convert


def _floats(values: Any) -> Any:
  return _local(_numbers(tf.float32), values)


def _integers(values: Any) -> Any:
  return _local(_numbers(tf.int32), values)


def _weights(datasets: Any) -> Any:
  return _local(
    lambda d: d.reduce(tf.constant(0.0), lambda s, *_: s + 1.0), datasets
  )


def _collected(values: Any, datasets: Any) -> Any:
  """A text of all clients' values, in their order."""
  del datasets
  texts = _local(
    lambda v: tf.strings.join(
      [tf.strings.as_string(x) for x in tf.nest.flatten(v)], ','
    ),
    _local(_numbers(tf.int64), values),
  )
  text = tff.TensorType(np.str_)
  join = tff.tensorflow.computation(
    lambda a, b: tf.strings.join([a, b], ';'), (text, text)
  )
  report = tff.tensorflow.computation(
    lambda a: tf.strings.join(['<', a, '>']), text
  )
  zero = tff.tensorflow.computation(lambda: tf.constant(''))
  return tff.federated_aggregate(texts, zero(), join, join, report)


def _passed_on(values: Any, datasets: Any) -> Any:
  """A dataset that goes from one computation of a client to the next."""
  del datasets
  counts = _local(lambda d: reductions.ALL['sum'](d, 1), values)
  orders = _local(lambda d: reductions.ALL['reduce'](d, 1), values)
  return tff.federated_sum(counts), orders


def _later(values: Any, datasets: Any) -> Any:
  """A second stage, which depends on the sum of the first."""
  if isinstance(values.type_signature.member, tff.SequenceType):
    values_again = values
    values = _local(lambda d: reductions.ALL['sum'](d, 1), values)
  else:
    values_again = datasets
  total = tff.federated_broadcast(tff.federated_sum(_integers(values)))

  def work(total: Any, dataset: tf.data.Dataset) -> Any:
    shift = tf.cast(tf.add_n(tf.nest.flatten(total)) % 1000, tf.int64)
    return dataset.reduce(
      shift, lambda s, *e: (s * 7 + elements.digest(e)) % 1009
    )

  return total, tff.federated_sum(_local(work, total, values_again))


def _selected(values: Any, datasets: Any) -> Any:
  """Slices of the server's value by keys of the clients."""
  keys = _local(
    lambda v: tf.cast(
      tf.stack([sum(tf.nest.flatten(v)) % 3, tf.constant(1, tf.int64)]),
      tf.int32,
    ),
    _local(_numbers(tf.int64), values),
  )
  table = tff.federated_value(np.float32([1.5, 2.5, 4.0]), tff.SERVER)
  take = tff.tensorflow.computation(
    lambda t, k: _odict(key=k, row=t[k]),
    tff.TensorType(np.float32, [3]),
    np.int32,
  )
  slices = tff.federated_select(
    keys, tff.federated_value(3, tff.SERVER), table, take
  )
  return tff.federated_sum(_weights(datasets)), tff.federated_sum(
    _local(
      lambda s: s.reduce(
        tf.constant(0.0),
        lambda t, e: 2 * t + e['row'] + tf.cast(e['key'], tf.float32),
      ),
      slices,
    )
  )


AGGREGATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
  'sum': lambda v, d: tff.federated_sum(_floats(v)),
  'integer_sum': lambda v, d: tff.federated_sum(_integers(v)),
  'mean': lambda v, d: tff.federated_mean(_floats(v)),
  'weighted_mean': lambda v, d: tff.federated_mean(_floats(v), _weights(d)),
  'secure_sum': lambda v, d: tff.federated_secure_sum(_integers(v), 2**20),
  'min_max': lambda v, d: (
    tff.federated_min(_floats(v)),
    tff.federated_max(_integers(v)),
  ),
  'collected': _collected,
  'outputs': lambda v, d: v,
  'later': _later,
  'passed': _passed_on,
  'selected': _selected,
}


# What the server makes of the result; nothing if it is not at the server.


def _at_server(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
  def apply(result: Any) -> Any:
    if (
      isinstance(result, tff.Value)
      and isinstance(result.type_signature, tff.FederatedType)
      and result.type_signature.placement is tff.SERVER
    ):
      return result, _local(function, result)
    return result

  return apply


def _server_branch(value: Any) -> Any:
  total = tf.add_n(tf.nest.flatten(_numbers(tf.float32)(value)))
  return tf.cond(total > 10, lambda: total - 10, lambda: total * 2)


def _server_loop(value: Any) -> Any:
  total = tf.add_n(tf.nest.flatten(_numbers(tf.float32)(value)))
  return tf.while_loop(
    lambda i, _: i < 4, lambda i, t: (i + 1, t / 2 + 1.0), (0, total)
  )


def _server_dataset(value: Any) -> Any:
  total = tf.add_n(tf.nest.flatten(_numbers(tf.int64)(value)))
  return tf.data.Dataset.range(total % 5).reduce(total, lambda s, i: 3 * s + i)


SERVERS: Mapping[str, Callable[[Any], Any]] = {
  'nothing': lambda result: result,
  'branch': _at_server(_server_branch),
  'loop': _at_server(_server_loop),
  'dataset': _at_server(_server_dataset),
}

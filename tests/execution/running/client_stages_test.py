# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for client_stages."""

import threading

from fedfish_tff.execution.reading import expressions
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.reading import local_functions
from fedfish_tff.execution.running import client_stages
from tests.execution import single_stages

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow_federated as tff

# The numbers of the values in the stages below.
_OFFSET, _ZERO, _DATA, _WORK, _TOTAL = range(5)


class _Function(local_functions.LocalFunction):
  """A Python function on any values, so that tests see what is called."""

  def __init__(self, fn):
    super().__init__(tff.FunctionType(np.int32, np.int32))
    self._fn = fn

  def trace(self, arg, tracer):
    raise NotImplementedError

  def __call__(self, arg=None):
    return self._fn(arg)


def _stage(work, *, accumulate=None, report=None):
  """Returns a stage: aggregate and keep work((data, offset)) of each client."""
  accumulate = _Function(accumulate or (lambda arg: arg[0] + [arg[1]]))
  return federated_plan.ClientStage(
    server_inputs=(_OFFSET,),
    client_inputs=(_DATA,),
    steps=(
      federated_plan.Step(
        _WORK,
        _Function(work),
        expressions.Struct(
          (expressions.Value(_DATA), expressions.Value(_OFFSET))
        ),
      ),
    ),
    aggregates=(
      federated_plan.Aggregate(
        _TOTAL,
        value=expressions.Value(_WORK),
        zero=_ZERO,
        accumulate=accumulate,
        merge=accumulate,
        report=_Function(report or (lambda total: total)),
      ),
    ),
    outputs=(_WORK,),
    read_last=(),
    types={i: tff.TensorType(np.int32) for i in range(5)},
  )


def _run(stage, data, *, offset=0, zero=(), parallelism=1):
  aggregates, outputs = single_stages.run_generally(
    stage,
    {_OFFSET: offset, _ZERO: list(zero)},
    {_DATA: data},
    len(data),
    parallelism=parallelism,
  )
  return aggregates[_TOTAL], outputs[_WORK]


class RunStageTest(parameterized.TestCase):
  @hypothesis.given(
    st.lists(st.integers(), max_size=12), st.integers(), st.integers(1, 5)
  )
  @hypothesis.settings(max_examples=50, deadline=None)
  def test_folds_in_the_order_of_the_cohort(self, data, offset, parallelism):
    total, kept = _run(
      _stage(lambda arg: arg[0] + arg[1], report=lambda t: (t, len(t))),
      data,
      offset=offset,
      zero=['zero'],
      parallelism=parallelism,
    )
    expected = [d + offset for d in data]
    self.assertEqual(total, (['zero', *expected], len(data) + 1))
    self.assertEqual(kept, expected)

  def test_no_clients(self):
    self.assertEqual(
      _run(_stage(lambda arg: arg), [], zero=[1], parallelism=4), ([1], [])
    )

  def test_clients_compute_at_the_same_time(self):
    barrier = threading.Barrier(3, timeout=120.0)

    def wait_for_two_others(arg):
      barrier.wait()
      return arg[0]

    _, kept = _run(_stage(wait_for_two_others), [1, 2, 3], parallelism=3)
    self.assertEqual(kept, [1, 2, 3])

  @parameterized.parameters(1, 2, 4)
  def test_few_clients_wait_for_the_fold(self, parallelism):
    """So memory does not grow with the cohort."""
    lock = threading.Lock()
    waiting = 0
    most = 0

    def work(arg):
      nonlocal waiting, most
      with lock:
        waiting += 1
        most = max(most, waiting)
      return arg[0]

    def accumulate(arg):
      nonlocal waiting
      with lock:
        waiting -= 1
      return arg[0]

    _run(
      _stage(work, accumulate=accumulate),
      list(range(100)),
      parallelism=parallelism,
    )
    self.assertLessEqual(most, 2 * parallelism + 1)
    self.assertEqual(waiting, 0)

  @parameterized.parameters(1, 3)
  def test_errors_name_the_client(self, parallelism):
    def fail(arg):
      if arg[0] == 12:
        raise LookupError('nothing there')
      return arg[0]

    with self.assertRaisesRegex(
      LookupError, '^Client 3 of 5: nothing there'
    ) as raised:
      _run(_stage(fail), [10, 11, 12, 13, 12], parallelism=parallelism)
    self.assertEqual(str(raised.exception.__cause__), 'nothing there')

  def test_errors_in_the_fold_name_the_client(self):
    def accumulate(arg):
      if arg[1] == 11:
        raise ValueError('too large')
      return arg[0]

    with self.assertRaisesRegex(ValueError, '^Client 2 of 2: too large'):
      _run(
        _stage(lambda arg: arg[0], accumulate=accumulate),
        [10, 11],
        parallelism=2,
      )


class ClientErrorTest(absltest.TestCase):
  def test_names_the_client_and_keeps_the_type_if_possible(self):
    class OddError(Exception):
      def __init__(self, code):
        super().__init__(f'code {code:d}')

    for original, kind in (
      (ValueError('wrong'), ValueError),
      (
        UnicodeDecodeError('utf-8', b'x', 0, 1, 'odd'),
        client_stages.ClientError,
      ),
      (OddError(3), client_stages.ClientError),
    ):
      with self.subTest(type(original).__name__):
        with self.assertRaises(kind) as raised:
          with client_stages.client_errors(0, 4):
            raise original
        self.assertEqual(str(raised.exception), f'Client 1 of 4: {original}')

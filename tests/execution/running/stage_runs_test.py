# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Shares of a cohort are put together whoever runs them."""

import contextlib
import functools
import multiprocessing

from fedfish_tff.execution.packing import local_values
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import sequence_packing
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.running import client_stages
from fedfish_tff.execution.running import cohort_stages
from fedfish_tff.execution.running import federated_interpreter
from fedfish_tff.execution.running import stage_runs
from tests import processes
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff
from tensorflow_federated.proto.v0 import computation_pb2

_DATA = tff.SequenceType(tff.TensorType(np.float32, [None]))


def _make_comp() -> tff.Computation:
  """Two stages, with outputs of clients that go from one to the next."""

  @tff.tensorflow.computation(_DATA)
  def total(data):
    return data.reduce(0.0, lambda t, x: t + tf.reduce_sum(x))

  @tff.tensorflow.computation(np.float32, np.float32)
  def centre(x, mean):
    return x - mean

  @tff.federated_computation(tff.FederatedType(_DATA, tff.CLIENTS))
  def comp(data):
    totals = tff.federated_map(total, data)
    mean = tff.federated_mean(totals)
    centred = tff.federated_map(centre, (totals, tff.federated_broadcast(mean)))
    return mean, tff.federated_sum(centred), centred

  return comp


_CLIENTS = [np.arange(n, dtype=np.float32) for n in (3, 0, 7, 4, 5)]


def _run(comp, runners):
  data = [tf.data.Dataset.from_tensor_slices(x).batch(2) for x in _CLIENTS]
  return federated_interpreter.run_plan(
    federated_plan.compile_plan(comp),
    local_values.to_local_value(
      [data], tff.StructType([comp.type_signature.parameter])
    )[0],
    {tff.CLIENTS: len(_CLIENTS)},
    functools.partial(stage_runs.run_stage, runners=runners),
  )


def _assert_result(result):
  mean, total, centred = result
  totals = np.array([x.sum() for x in _CLIENTS])
  tolerance.assert_close(mean, totals.mean(), relative=tolerance.FLOAT32_SUMS)
  tolerance.assert_close(
    centred, totals - totals.mean(), relative=tolerance.FLOAT32_SUMS
  )
  np.testing.assert_allclose(total, 0.0, atol=1e-4)


def _to_arrays(value):
  """Returns a local value without TensorFlow's objects."""
  if isinstance(value, tuple):
    return tuple(map(_to_arrays, value))
  return (
    value
    if isinstance(value, packed_sequences.PackedSequence)
    else value.numpy()
  )


def _to_tensors(value):
  if isinstance(value, tuple):
    return tuple(map(_to_tensors, value))
  return (
    tf.constant(value) if isinstance(value, (np.ndarray, np.generic)) else value
  )


def _serve(connection, computation):
  """What the other process does: runs stages of a computation, as asked."""
  comp = tff.framework.deserialize_computation(
    computation_pb2.Computation.FromString(computation)
  )
  actions = federated_plan.compile_plan(comp).actions
  with contextlib.suppress(EOFError):
    while True:
      number, server, clients = connection.recv()
      stage = actions[number]
      partial = client_stages.run_clients_generally(
        stage,
        {i: _to_tensors(v) for i, v in server.items()},
        stage_runs.Clients(
          {i: list(map(_to_tensors, v)) for i, v in clients.values.items()},
          clients.positions,
          clients.cohort_size,
        ),
        parallelism=1,
      )
      connection.send(
        stage_runs.Partial(
          list(map(_to_arrays, partial.accumulators)),
          {i: list(map(_to_arrays, v)) for i, v in partial.outputs.items()},
        )
      )


class _OtherProcess:
  """Runs clients in another process, which compiles the plan itself."""

  def __init__(self, comp: tff.Computation):
    self._actions = federated_plan.compile_plan(comp).actions
    self._connection, other = multiprocessing.Pipe()
    computation = tff.framework.serialize_computation(comp)
    context = multiprocessing.get_context('spawn')
    self._process = context.Process(
      target=_serve, args=(other, computation.SerializeToString()), daemon=True
    )
    self._process.start()
    other.close()

  def __call__(self, stage, server_values, clients):
    read = {*stage.server_inputs, *(a.zero for a in stage.aggregates)}
    packed = {
      i: [
        sequence_packing.pack_sequence(v, stage.types[i].element)
        if isinstance(v, tf.data.Dataset)
        else _to_arrays(v)
        for v in of_clients
      ]
      for i, of_clients in clients.values.items()
    }
    self._connection.send(
      (
        self._actions.index(stage),
        {i: _to_arrays(server_values[i]) for i in read},
        stage_runs.Clients(packed, clients.positions, clients.cohort_size),
      )
    )
    if not self._connection.poll(processes.HANG_SECONDS):
      raise TimeoutError('The other process does not answer.')
    partial = self._connection.recv()
    return stage_runs.Partial(
      list(map(_to_tensors, partial.accumulators)),
      {i: list(map(_to_tensors, v)) for i, v in partial.outputs.items()},
    )

  def close(self):
    self._connection.close()
    self._process.join(processes.HANG_SECONDS)


class RunStageTest(parameterized.TestCase):
  @parameterized.parameters(1, 2, 3, 9)
  def test_any_number_of_runners(self, number):
    seen = []

    def run(stage, server_values, clients):
      seen.append(clients.positions)
      return client_stages.run_clients_generally(
        stage, server_values, clients, parallelism=1
      )

    _assert_result(_run(_make_comp(), [run] * number))
    # Two stages, each with every client once.
    self.assertCountEqual(
      [i for positions in seen for i in positions],
      2 * list(range(len(_CLIENTS))),
    )

  def test_no_client(self):
    comp = _make_comp()
    plan = federated_plan.compile_plan(comp)
    result = federated_interpreter.run_plan(
      plan,
      [],
      {tff.CLIENTS: 0},
      cohort_stages.CohortStageRunner(parallelism=1),
    )
    self.assertEqual(result[2], [])

  @pytest.mark.thorough
  def test_other_processes(self):
    comp = _make_comp()
    with contextlib.ExitStack() as stack:
      others = [
        stack.enter_context(contextlib.closing(_OtherProcess(comp)))
        for _ in range(2)
      ]
      local = functools.partial(
        client_stages.run_clients_generally, parallelism=1
      )
      _assert_result(_run(comp, others))
      # And beside this one.
      _assert_result(_run(comp, [local, others[0]]))

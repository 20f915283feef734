# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedPer against NumPy, and exact limits."""

import functools

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.execution import contexts
from tests import client_state_rounds
from tests import numpy_reference as ref

import pytest
import tensorflow_federated as tff

_RATE, _SERVER_RATE, _EPOCHS = 0.3, 0.7, 2
_MODELS = {
  'functional': ref.create_functional_model(),
  'variable': ref.create_variable_model,
}
_HEAD = (False, False, True, True)


def setUpModule():
  contexts.set_default_context()


def _sgd(rate):
  return tff.learning.optimizers.build_sgdm(rate)


@functools.cache
def _build(kind='functional', local=_HEAD, **kwargs):
  return algorithms.build_fed_per(
    _MODELS[kind],
    _sgd(_RATE),
    _sgd(_SERVER_RATE),
    local_tensors=local,
    **kwargs,
  )


def _rounds(*args, **kwargs):
  return client_state_rounds.Rounds(_build(*args, **kwargs), epochs=_EPOCHS)


class FedPerTest(client_state_rounds.TestCase):
  def _reference(self, run, **kwargs):
    return client_state_rounds.PartiallyLocalReference(
      run.server(),
      functools.partial(ref.train, rate=_RATE, epochs=_EPOCHS),
      local=_HEAD,
      server_rate=_SERVER_RATE,
      **kwargs,
    )

  def test_follows_numpy_with_partial_participation(self):
    run = _rounds()
    start = run.server()
    self.check_follows(run, self._reference(run))
    # The server's own head is nobody's.
    self.assert_same(run.server()[2:], start[2:])

  @pytest.mark.thorough
  def test_a_variable_model_follows_numpy_with_uniform_weights(self):
    run = _rounds(
      'variable', client_weighting=tff.learning.ClientWeighting.UNIFORM
    )
    self.check_follows(
      run,
      self._reference(run, weights=dict.fromkeys(client_state_rounds.SIZES, 1)),
    )

  def test_neither_empty_nor_diverged_clients_change_anything(self):
    self.check_leaves_out(_rounds(), _rounds())

  @pytest.mark.thorough
  def test_with_nothing_local_it_is_fed_avg(self):
    """Bit for bit: the same operations in the same order."""
    run = _rounds(local=(False,) * 4)
    fed_avg = algorithms.build_fed_avg(
      _MODELS['functional'], _sgd(_RATE), _sgd(_SERVER_RATE)
    )
    state = fed_avg.initialize()
    for cohort in client_state_rounds.COHORTS[:3]:
      run.run(cohort)
      state, _ = fed_avg.next(
        state,
        [
          ref.to_dataset(client_state_rounds.DATA[c], epochs=_EPOCHS)
          for c in cohort
        ],
      )
    self.assert_same(run.server(), fed_avg.get_model_weights(state).trainable)

  def test_local_training_is_of_all_tensors(self):
    run = _rounds()
    run.run('ab')
    weights = run.process.client_model_weights(run.state, run.clients['a'])
    data = client_state_rounds.DATA['a']
    trained = run.process.local_training(
      weights, ref.to_dataset(data, epochs=_EPOCHS)
    )
    self.assert_close(
      trained.trainable,
      ref.train(weights.trainable, data, rate=_RATE, epochs=_EPOCHS),
    )

  def test_only_shared_tensors_travel(self):
    wire = simulation.measure_wire_bytes(_build())
    body = 4 * sum(w.size for w in ref.initial_weights()[:2])
    self.assertEqual(wire.download, body)
    # Two means (a float32 total and count each), an int64 count of examples,
    # the client's weight, and whether it was left out.
    self.assertEqual(wire.upload, body + 2 * 2 * 4 + 8 + 4 + 4)

  def test_refuses_another_number_of_tensors(self):
    with self.assertRaisesRegex(errors.InputError, 'of the 4 trainable'):
      _build(local=(True, False))

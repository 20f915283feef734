# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedRep against NumPy, and exact limits."""

import functools

from fedfish_tff import algorithms
from fedfish_tff import errors
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import parameterized
import pytest
import tensorflow_federated as tff

_RATE, _SERVER_RATE, _HEAD_EPOCHS, _BODY_EPOCHS = 0.3, 0.7, 3, 2
_EPOCHS = _HEAD_EPOCHS + _BODY_EPOCHS


@functools.cache
def _build(kind='functional', local=rounds.HEAD, momentum=None, **kwargs):
  return algorithms.build_fed_rep(
    rounds.MODELS[kind],
    rounds.sgd(_RATE, momentum),
    rounds.sgd(_SERVER_RATE),
    local_tensors=local,
    head_epochs=_HEAD_EPOCHS,
    body_epochs=_BODY_EPOCHS,
    **kwargs,
  )


def _rounds(*args, **kwargs):
  return rounds.Rounds(_build(*args, **kwargs), epochs=_EPOCHS)


def _alternate(momentum, weights, batches):
  """The momentum is new for each part."""
  for epochs, trained in (
    (_HEAD_EPOCHS, rounds.HEAD),
    (_BODY_EPOCHS, rounds.BODY),
  ):
    weights = ref.train(
      weights,
      batches,
      rate=_RATE,
      momentum=momentum,
      epochs=epochs,
      trained=trained,
    )
  return weights


class FedRepTest(rounds.TestCase):
  def _check_follows_numpy(self, run, *, uniform=True, momentum=0.0):
    method = rounds.partially_local(
      functools.partial(_alternate, momentum),
      server_rate=_SERVER_RATE,
      uniform=uniform,
    )
    self.check_follows(run, rounds.reference(run.server(), **method))

  @parameterized.parameters(0.0, 0.6)
  def test_follows_numpy_with_partial_participation(self, momentum):
    self._check_follows_numpy(
      _rounds(momentum=momentum or None), momentum=momentum
    )

  @pytest.mark.thorough
  def test_a_variable_model_follows_numpy_weighted_by_examples(self):
    weighting = tff.learning.ClientWeighting.NUM_EXAMPLES
    self._check_follows_numpy(
      _rounds('variable', client_weighting=weighting), uniform=False
    )

  @pytest.mark.thorough
  def test_with_everything_local_every_client_trains_alone(self):
    """In its head's epochs; two rounds are one training without a break."""
    run = _rounds(local=(True,) * 4)
    start = run.server()
    for _ in range(2):
      run.run('abcd')
    self.assert_same(run.server(), start)
    for client, data in rounds.DATA.items():
      self.assert_close(
        run.own(client),
        ref.train(start, data, rate=_RATE, epochs=2 * _HEAD_EPOCHS),
      )

  def test_refuses_other_epochs(self):
    with self.assertRaisesRegex(
      Exception, r'FedRep was built with local_epochs=5'
    ):
      rounds.Rounds(_build(), epochs=4).run('a')
    # 30 examples in 5 batches, of which the first 3 hold 21.
    straddling = ref.to_dataset(rounds.DATA['a'], epochs=_EPOCHS)
    straddling = straddling.unbatch().batch(7)
    state = _build().initialize()
    new = _build().initialize_client(state)
    with self.assertRaisesRegex(Exception, 'batches straddle epochs'):
      _build().next(state, [new], [straddling])

  def test_names_of_tensors_are_no_flags(self):
    with self.assertRaisesRegex(
      errors.InputError, 'local_tensors must be True'
    ):
      _build(local='head')

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Mime Lite against NumPy, TFF's own and exact limits."""

import functools
from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow_federated as tff

_MODEL = rounds.MODELS['functional']
_RATE, _MOMENTUM, _SERVER_RATE, _EPOCHS = 0.1, 0.9, 0.7, 2
_UNIFORM = tff.learning.ClientWeighting.UNIFORM
_NUM_EXAMPLES = tff.learning.ClientWeighting.NUM_EXAMPLES
_OPTIMIZER = rounds.sgd(_RATE, _MOMENTUM)


@functools.cache
def _build(kind='functional', weighting=_NUM_EXAMPLES):
  """Tracing takes most of the time here, so a process serves many tests."""
  return algorithms.build_mime_lite(
    rounds.MODELS[kind],
    _OPTIMIZER,
    rounds.sgd(_SERVER_RATE),
    local_epochs=_EPOCHS,
    client_weighting=weighting,
  )


def _reference(start, *, uniform=False):
  """The server has the weights and a velocity that no client changes."""
  average = rounds.averaging(
    lambda trained, _: trained, server_rate=_SERVER_RATE, uniform=uniform
  )

  def client_fn(server, state, batches):
    trained = ref.train_with_velocity(
      *server, batches, rate=_RATE, momentum=_MOMENTUM, epochs=_EPOCHS
    )
    gradient = ref.full_gradient(server[0], batches)
    weight = 1 if uniform else rounds.count_examples(batches)
    return (weight, trained, gradient), state

  def server_fn(server, sent):
    weights, velocity = server
    shares, _, gradients = zip(*sent.values())
    ends = {c: (share, trained) for c, (share, trained, _) in sent.items()}
    return average['server_fn'](weights, ends), tuple(
      _MOMENTUM * v + np.average(gs, axis=0, weights=shares)
      for v, *gs in zip(velocity, *gradients)
    )

  zeros = tuple(np.zeros(w.shape) for w in start)
  return rounds.reference(
    (start, zeros), client_fn=client_fn, server_fn=server_fn
  )


def _weights_and_velocity(run):
  return run.server(), run.state.client_work['accumulator']


class MimeLiteTest(rounds.TestCase):
  @parameterized.parameters((), ('variable', _UNIFORM))
  def test_follows_numpy(self, *choices):
    run = rounds.Rounds(_build(*choices), epochs=_EPOCHS)
    self.check_follows(
      run,
      _reference(run.server(), uniform=_UNIFORM in choices),
      server=_weights_and_velocity,
    )

  def test_the_momentum_is_of_the_loss_with_weight_decay(self):
    decay = 0.5
    plain_gradients = ref.gradients

    def penalized(weights, x, y):
      gradients = plain_gradients(weights, x, y)
      return tuple(g + decay * w for g, w in zip(gradients, weights))

    run = rounds.Rounds(
      algorithms.build_mime_lite(
        _MODEL,
        client_work.build_weight_decay_optimizer(_OPTIMIZER, decay),
        rounds.sgd(_SERVER_RATE),
        local_epochs=_EPOCHS,
      ),
      epochs=_EPOCHS,
    )
    with mock.patch.object(
      ref, 'gradients', autospec=True, side_effect=penalized
    ):
      self.check_follows(
        run, _reference(run.server()), server=_weights_and_velocity
      )

  @pytest.mark.thorough
  def test_equals_tff(self):
    # Of sums of squares too; NumPy's has momentum alone.
    optimizer = tff.learning.optimizers.build_adam(0.01, epsilon=1e-2)
    ours = algorithms.build_mime_lite(
      _MODEL, optimizer, rounds.sgd(_SERVER_RATE), local_epochs=_EPOCHS
    )
    theirs = tff.learning.algorithms.build_weighted_mime_lite(
      _MODEL, optimizer, rounds.sgd(_SERVER_RATE)
    )
    self.check_equals(rounds.Rounds(ours, epochs=_EPOCHS), theirs)

  @pytest.mark.slow
  def test_tff_does_not_survive_a_diverged_client(self):
    """Why TFF's own client work is not used; see algorithms.mime_lite."""
    run = rounds.Rounds(
      tff.learning.algorithms.build_weighted_mime_lite(_MODEL, _OPTIMIZER)
    )
    run.run('ab', {'a': rounds.BROKEN})
    run.run('b')
    optimizer_state, _ = run.state.client_work
    self.assertTrue(np.isnan(optimizer_state['accumulator'][0]).all())

  def test_local_training_has_a_momentum_of_its_own(self):
    run = rounds.Rounds(_build(), epochs=_EPOCHS)
    # What the server knows changes nothing.
    run.run('abc')
    weights = run.process.get_model_weights(run.state)
    self.assert_close(
      run.train_locally(weights, 'a'),
      ref.train(
        weights.trainable,
        rounds.DATA['a'],
        rate=_RATE,
        momentum=_MOMENTUM,
        epochs=_EPOCHS,
      ),
    )

  def test_a_proximal_optimizer_is_refused(self):
    # What the server would step from is no client's start.
    optimizer = client_work.build_proximal_optimizer(_OPTIMIZER, 0.1)
    with self.assertRaisesRegex(errors.InputError, 'optimizer .*proximal'):
      algorithms.build_mime_lite(_MODEL, optimizer)

  def test_what_is_no_whole_epochs_is_refused(self):
    with self.assertRaisesRegex(Exception, 'not that many whole epochs'):
      rounds.Rounds(_build(), epochs=1).run('c')
    # 14 examples in 4 batches, of which the first 2 hold 8.
    straddling = ref.to_dataset(ref.make_batches(7, 1))
    straddling = straddling.unbatch().repeat(2).batch(4)
    with self.assertRaisesRegex(Exception, 'batches straddle epochs'):
      _build().next(_build().initialize(), [straddling])

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Partial exchange against NumPy, and in the limits in which it is FedAvg."""

import functools

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_MODEL = rounds.MODELS['functional']
_HALF = client_work.build_share_selector(0.5)


@functools.cache
def _build_share():
  """Tracing takes most of the time here, so one process serves many tests."""
  return algorithms.build_partial_exchange(
    _MODEL, rounds.sgd(0.3), selector=_HALF
  )


def _masks(kind, start, end):
  """Returns the sent parts in NumPy, as bools, and the mask's bytes."""
  moved = [e - s for s, e in zip(start, end)]
  drift = np.array([np.linalg.norm(m) for m in moved])
  if kind == 'coordinates':
    flat = np.abs(np.concatenate([np.ravel(m) for m in moved]))
    least = np.sort(flat)[-13]  # ceil(0.3 * 43)
    return [np.abs(m) >= least for m in moved], 6
  chosen = np.isin(np.arange(4), np.argsort(-drift)[:2])
  return [np.full(m.shape, c) for m, c in zip(moved, chosen)], 1


def _method(kind, *, server_rate=1.0, fisher=lambda *unused: [1.0] * 4):
  """Clients train for an epoch, and send what `_masks` says."""

  def client_fn(server, state, batches):
    trained = ref.train(server, batches, rate=0.3, epochs=1)
    masks, mask_bytes = _masks(kind, server, trained)
    size = rounds.count_examples(batches)
    factors = [size * m * f for m, f in zip(masks, fisher(trained, batches))]
    return (factors, trained, masks, mask_bytes), state

  server_fn = functools.partial(rounds.step_by_ratios, server_rate=server_rate)
  return {'client_fn': client_fn, 'server_fn': server_fn}


class PartialExchangeTest(rounds.TestCase):
  def _check_follows_numpy(self, kind, process, server_rate):
    run = rounds.Rounds(process)
    method = _method(kind, server_rate=server_rate)
    expected = rounds.reference(run.server(), **method)
    self.check_follows(run, expected)
    # What was sent, in a further round.
    sent = [
      method['client_fn'](run.server(), None, rounds.DATA[c])[0] for c in 'bd'
    ]
    measured = run.run('bd')['aggregator']
    self.assertEqual(
      measured['payload_bytes'],
      sum(size + 4 * sum(m.sum() for m in masks) for *_, masks, size in sent),
    )
    for share, *masks in zip(
      measured['sent'].values(), *(masks for *_, masks, _ in sent)
    ):
      self.assertAlmostEqual(share, np.mean([m.mean() for m in masks]), 5)

  def test_follows_numpy(self):
    self._check_follows_numpy('share', _build_share(), 1.0)

  @pytest.mark.thorough
  def test_coordinates_follow_numpy(self):
    process = algorithms.build_partial_exchange(
      _MODEL,
      rounds.sgd(0.3),
      rounds.sgd(0.7),
      selector=client_work.build_coordinate_selector(0.3),
    )
    self._check_follows_numpy('coordinates', process, 0.7)

  def test_part_of_fed_fish_follows_numpy(self):
    run = rounds.Rounds(
      algorithms.build_fed_fish(
        _MODEL, rounds.sgd(0.3), rounds.sgd(1.0), selector=_HALF
      )
    )
    method = _method('share', fisher=ref.fisher)
    self.check_follows(run, rounds.reference(run.server(), **method))

  @pytest.mark.thorough
  def test_everything_sent_is_fed_avg_bit_for_bit(self):
    server = tff.learning.optimizers.build_adam(0.05)
    partial = algorithms.build_partial_exchange(
      _MODEL,
      rounds.sgd(0.1),
      server,
      selector=client_work.build_coordinate_selector(1.0),
    )
    self.check_same(
      rounds.Rounds(partial),
      algorithms.build_fed_avg(_MODEL, rounds.sgd(0.1), server),
    )

  @parameterized.parameters(
    algorithms.build_partial_exchange, algorithms.build_fed_fish
  )
  @pytest.mark.thorough
  def test_what_nobody_sent_stays_whatever_the_server_optimizer(self, build):
    # Its momentum would move all weights.
    run = rounds.Rounds(
      build(
        _MODEL,
        rounds.sgd(0.3),
        tff.learning.optimizers.build_adam(0.1),
        selector=_HALF,
        tensor_names=('a/kernel', 'a/bias', 'b/kernel', 'b/bias'),
      )
    )
    seen = 0
    for _ in range(4):
      before = run.server()
      sent = run.run('abc')['aggregator']['sent'].values()
      for b, a, share in zip(before, run.server(), sent, strict=True):
        self.assertEqual(bool(np.any(a != b)), share > 0)
        seen += share == 0
    self.assertGreater(seen, 0)

  def test_a_model_without_trainable_tensors_is_refused(self):
    def create_model():
      network = tf.keras.Sequential(
        [
          tf.keras.layers.InputLayer((ref.NUM_FEATURES,)),
          tf.keras.layers.ReLU(),
        ]
      )
      return tff.learning.models.from_keras_model(
        network,
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        input_spec=ref.input_spec(),
      )

    with self.assertRaisesRegex(
      errors.InputError, 'a trainable tensor to send'
    ):
      algorithms.build_partial_exchange(
        create_model, rounds.sgd(0.1), selector=_HALF
      )

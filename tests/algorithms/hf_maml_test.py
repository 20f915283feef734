# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""HF-MAML's rounds against NumPy; its local steps: see meta_training_test."""

import functools

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from tasks import networks
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import parameterized
import pytest
import tensorflow_federated as tff

_HESSIAN_FREE = client_work.MetaGradient.HESSIAN_FREE
_EXACT = client_work.MetaGradient.EXACT
_FIRST_ORDER = client_work.MetaGradient.FIRST_ORDER
_INDEPENDENT = client_work.MetaBatches.INDEPENDENT
_SHARED = client_work.MetaBatches.SHARED
_UNIFORM = tff.learning.ClientWeighting.UNIFORM
_NUM_EXAMPLES = tff.learning.ClientWeighting.NUM_EXAMPLES
_RATE, _ALPHA, _DELTA, _SERVER_RATE = 0.3, 0.5, 0.5, 0.7


@functools.cache
def _build(kind='functional', order=_HESSIAN_FREE, weighting=_UNIFORM):
  return algorithms.build_hf_maml(
    rounds.MODELS[kind],
    rounds.sgd(_RATE),
    rounds.sgd(_SERVER_RATE),
    personal_learning_rate=_ALPHA,
    meta_gradient=order,
    difference=_DELTA,
    client_weighting=weighting,
  )


def _train(order, weights, batches):
  return ref.maml_train(
    weights,
    batches,
    step_size=2 if order is _FIRST_ORDER else 3,
    rate=_RATE,
    personal_rate=_ALPHA,
    difference=_DELTA if order is _HESSIAN_FREE else None,
  )


class HfMamlTest(rounds.TestCase):
  def test_follows_numpy(self):
    self._check_follows_numpy('functional', _HESSIAN_FREE, _UNIFORM)

  @parameterized.parameters(
    ('functional', _EXACT, _NUM_EXAMPLES),
    ('functional', _FIRST_ORDER, _UNIFORM),
    ('variable', _HESSIAN_FREE, _NUM_EXAMPLES),
  )
  @pytest.mark.thorough
  def test_every_order_follows_numpy(self, kind, order, weighting):
    self._check_follows_numpy(kind, order, weighting)

  def _check_follows_numpy(self, kind, order, weighting):
    run = rounds.Rounds(_build(kind, order, weighting))
    method = rounds.averaging(
      functools.partial(_train, order),
      server_rate=_SERVER_RATE,
      uniform=weighting is _UNIFORM,
    )
    self.check_follows(run, rounds.reference(run.server(), **method))

  @pytest.mark.thorough
  def test_metrics_of_a_variable_model_are_of_the_second_batches(self):
    losses = []
    for kind in rounds.MODELS:
      run = rounds.Rounds(_build(kind, _HESSIAN_FREE, _NUM_EXAMPLES))
      start = type(run.process.get_model_weights(run.state).trainable)(
        ref.initial_weights()
      )
      run.state = run.process.set_model_weights(
        run.state, tff.learning.models.ModelWeights(start, type(start)())
      )
      train = run.run('abc')['client_work']['train']
      # 2 of 6, 4 of 9, and all of 4.
      self.assertEqual(train['num_examples'], 10)
      losses.append(train['loss'])
    self.assertAlmostEqual(*losses, places=5)

  def test_a_client_s_own_model_is_by_plain_steps(self):
    run = rounds.Rounds(_build())
    self.assert_close(
      run.train_locally(run.process.get_model_weights(run.state), 'b'),
      ref.train(run.server(), rounds.DATA['b'], rate=_ALPHA, epochs=1),
    )

  @parameterized.parameters(
    # Four gradients for three batches, of which one is an epoch's.
    (_HESSIAN_FREE, _INDEPENDENT, 2),
    (_FIRST_ORDER, _INDEPENDENT, 0),
    (_EXACT, _SHARED, 18),
    (_FIRST_ORDER, _SHARED, 6),
  )
  def test_costs(self, order, batches, extra_passes):
    process = algorithms.build_hf_maml(
      rounds.MODELS['functional'],
      rounds.sgd(_RATE),
      meta_gradient=order,
      meta_batches=batches,
      local_epochs=6,
    )
    self.assertAlmostEqual(process.extra_passes, extra_passes)

  def test_refuses_a_difference_between_two_dropout_masks(self):
    model = networks.create_lenet5(
      input_shape=(16, 16, 1),
      num_classes=2,
      seed=0,
      filters=(1, 1),
      hidden_units=(2,),
      dropout=0.5,
    )
    with self.assertRaisesRegex(errors.InputError, 'must be EXACT or FIRST_OR'):
      algorithms.build_hf_maml(model, rounds.sgd(0.1))

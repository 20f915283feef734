# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedPer's relatives with local bodies and layers."""

import functools
from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff import models
from tasks import networks
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import parameterized
import tensorflow_federated as tff


class LgFedAvgTest(rounds.TestCase):
  def test_clients_keep_what_is_not_global(self):
    """FedPer with the complement, so NumPy's body stays at the clients."""
    process = algorithms.build_lg_fed_avg(
      rounds.MODELS['functional'], rounds.sgd(0.3), global_tensors=rounds.HEAD
    )
    run = rounds.Rounds(process, epochs=2)
    method = rounds.partially_local(
      functools.partial(ref.train, rate=0.3, epochs=2), local=rounds.BODY
    )
    self.check_follows(run, rounds.reference(run.server(), **method))


class MatchedLayersTest(parameterized.TestCase):
  def test_layers_of_each_kind(self):
    cnn = networks.create_compact_cnn(
      input_shape=(7, 6, 2), num_classes=3, seed=0, filters=(4, 5)
    )
    self.assertEqual(
      algorithms.find_hidden_layers(cnn), [(4, (0, 1), (2,)), (5, (2, 3), (4,))]
    )
    rnn = networks.create_stackoverflow_rnn(
      vocabulary_size=9, seed=0, embedding_size=4, lstm_size=5
    )
    layers = algorithms.find_hidden_layers(rnn)
    self.assertEqual(
      layers, [(4, (0,), (1,)), (5, (1, 2, 3), (2, 4)), (4, (4, 5), (6,))]
    )
    self.assertEqual(layers[1].matched, (1, 3))
    self.assertEqual(layers[1].recurrent, (2,))

  def test_one_layer_is_the_last(self):
    model = models.create_mlp_classifier(
      num_features=4, num_classes=3, hidden_units=(), seed=0
    )
    self.assertEqual(algorithms.find_hidden_layers(model), [])

  @parameterized.parameters(
    lambda: networks.create_cifg_lstm(
      vocabulary_size=9, seed=0, embedding_size=4, lstm_size=5
    ),
    lambda: networks.create_transformer(
      vocabulary_size=9, seed=0, **networks.TRANSFORMER_SIZES['tiny']
    ),
  )
  def test_models_of_other_layers_are_refused(self, create):
    with self.assertRaisesRegex(errors.InputError, 'FedMA can match'):
      algorithms.find_hidden_layers(create())

  def test_who_hears_the_last_layer_is_a_dense_one(self):
    weights = networks.create_character_lstm(
      vocabulary_size=9, seed=0, embedding_size=4, lstm_size=5
    ).initial_weights[0]
    model = mock.create_autospec(tff.learning.models.FunctionalModel)
    model.initial_weights = (weights[:4], ())
    with self.assertRaisesRegex(errors.InputError, 'FedMA can match'):
      algorithms.find_hidden_layers(model)

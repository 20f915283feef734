# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Networks that can be parts of a wider one."""

import functools
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff.algorithms import padded_networks
from tasks import networks

from absl.testing import parameterized
import numpy as np


def _create_mlp(widths, seed, activation='relu', num_classes=3):
  return models.create_mlp_classifier(
    num_features=4,
    num_classes=num_classes,
    hidden_units=widths,
    seed=seed,
    activation=activation,
  )


def _create_lenet5(widths, seed):
  return networks.create_lenet5(
    input_shape=(17, 20, 2),
    num_classes=3,
    seed=seed,
    filters=widths[:2],
    hidden_units=widths[2:],
    dropout=0.5,
  )


def _create_lstm(widths, seed):
  return networks.create_character_lstm(
    vocabulary_size=9, seed=seed, embedding_size=widths[0], lstm_size=widths[1]
  )


def _create_vgg9(widths, seed):
  return networks.create_vgg9(
    input_shape=(17, 20, 2),
    num_classes=3,
    seed=seed,
    filters=widths[:6],
    hidden_units=widths[6:],
  )


def _create_compact_cnn(widths, seed):
  return networks.create_compact_cnn(
    input_shape=(7, 6, 2), num_classes=3, seed=seed, filters=widths
  )


def _create_normalized(widths, seed):
  model = _create_mlp(widths[:1], seed)
  kernel, bias, *last = model.initial_weights[0]
  scale, offset = np.ones(widths[1]), np.zeros(widths[1])
  return mock.Mock(
    initial_weights=((kernel, bias, scale, offset, *last), ()),
    input_spec=model.input_spec,
  )


class PaddedNetworksTest(parameterized.TestCase):
  @parameterized.parameters(
    (_create_mlp, (3, 4)),
    (functools.partial(_create_mlp, activation='tanh'), (3,)),
    (_create_lenet5, (2, 3, 4, 5)),
    (_create_vgg9, (2, 3, 4, 5, 6, 7, 8, 9)),
    (_create_compact_cnn, (2, 3)),
    (_create_lstm, (3, 4)),
  )
  def test_a_wide_network_computes_the_same(self, create, widths):
    max_widths = tuple(w + 2 for w in widths)
    padded = padded_networks.PaddedNetworks(create, widths, max_widths, 0)
    model = create(widths, 5)
    spec = model.input_spec[0]
    rng = np.random.default_rng(0)
    if spec.dtype.is_floating:
      x = rng.normal(size=[6, *spec.shape[1:]]).astype(np.float32)
    else:
      x = rng.integers(9, size=[6, 7], dtype=np.int32)
    found = padded.model.predict_on_batch(
      (tuple(padded.create(5)), ()), x, training=False
    )
    expected = model.predict_on_batch(model.initial_weights, x, training=False)
    np.testing.assert_allclose(found, expected, atol=1e-5)

  @parameterized.parameters(
    (_create_mlp, (6, 5), (8, 4), 'max_widths'),
    (_create_mlp, (6, 5), (8,), 'max_widths'),
    (_create_mlp, (6, 0), (8, 4), 'widths .*0'),
    (
      functools.partial(_create_mlp, activation='sigmoid'),
      (6, 5),
      (7, 6),
      'activations .*0 at 0',
    ),
    (_create_normalized, (6, 6), (7, 7), 'kernel .*bias'),
    (lambda w, s: _create_mlp(w[::-1], s), (6, 5), (7, 6), 'kernel .*bias'),
    (lambda w, s: _create_mlp((*w, 3), s), (6, 5), (7, 6), 'kernel .*bias'),
    (
      lambda w, s: _create_mlp(w, s, num_classes=sum(w)),
      (6, 5),
      (7, 6),
      'kernel .*bias',
    ),
  )
  def test_refuses(self, create, widths, max_widths, message):
    with self.assertRaisesRegex(errors.InputError, message):
      padded_networks.PaddedNetworks(create, widths, max_widths, 0)

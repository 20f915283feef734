# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A process with client states has computations that fit together."""

from fedfish_tff import algorithms
from tests import rounds

from absl.testing import parameterized

_PARTS = (
  *('initialize', 'initialize_client', 'next_without_client_states'),
  *('get_model_weights', 'client_model_weights'),
  *('local_training', 'update_is_finite'),
)


def _parts(process):
  """Returns the computations that a process was made of."""
  return {'next_fn': process.next} | {n: getattr(process, n) for n in _PARTS}


class ClientStateProcessTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    network = rounds.MODELS['functional']
    cls.parts, cls.of_other_clients, cls.of_other_weights = (
      _parts(
        algorithms.build_fed_per(model, rounds.sgd(0.1), local_tensors=local)
      )
      for model, local in (
        (network, rounds.HEAD),
        (network, (False, False, False, True)),
        (rounds.create_regression(), (False,)),
      )
    )

  def test_of_parts_that_fit(self):
    process = algorithms.ClientStateProcess(**self.parts, extra_passes=1)
    self.assertEqual(process.extra_passes, 1)
    self.assertTrue(process.uses_weights)

  @parameterized.parameters(
    ('initialize_client', 'initialize_client takes'),
    ('next_fn', 'next takes'),
    ('next_without_client_states', 'next_without_client_states takes'),
    ('get_model_weights', 'get_model_weights takes'),
    ('client_model_weights', 'client_model_weights takes'),
    ('local_training', 'local_training takes'),
    ('update_is_finite', 'update_is_finite takes'),
  )
  def test_refuses_a_part_of_other_weights(self, name, message):
    parts = self.parts | {name: self.of_other_weights[name]}
    with self.assertRaisesRegex(TypeError, f'{message} .* was expected'):
      algorithms.ClientStateProcess(**parts)

  @parameterized.parameters(
    'next_fn', 'next_without_client_states', 'client_model_weights'
  )
  def test_refuses_a_part_of_other_client_states(self, name):
    parts = self.parts | {name: self.of_other_clients[name]}
    with self.assertRaisesRegex(TypeError, 'takes .*local.* was expected'):
      algorithms.ClientStateProcess(**parts)

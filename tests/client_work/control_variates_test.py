# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Refusals of SCAFFOLD's local training; scaffold_test has the rest."""

import collections

from fedfish_tff import client_work
from fedfish_tff import errors
from tests import client_updates
from tests import numpy_reference as ref

from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff


def _run(option):
  """Runs one epoch of an update that was built with two."""
  update_fn = client_work.build_control_variate_update(
    0.2, control_update=option, local_epochs=2
  )

  def compute(bound, flat, dataset):
    control = collections.OrderedDict(control=flat.trainable)
    weights = tff.learning.models.ModelWeights(*flat)
    sent = collections.OrderedDict(weights=weights, **control)
    return update_fn(bound, sent, control, dataset)

  return client_updates.run(compute, ref.make_batches(10, 0))


class ControlVariatesTest(parameterized.TestCase):
  def test_the_gradient_needs_whole_epochs(self):
    with self.assertRaisesRegex(Exception, 'not that many whole epochs'):
      _run(client_work.ControlUpdate.GRADIENT)
    # There is nothing to count for a mean over steps.
    _run(client_work.ControlUpdate.LOCAL_STEPS)

  @parameterized.parameters(
    {'client_learning_rate': 0.0},
    {'client_learning_rate': np.nan},
    {'local_epochs': 0},
    {'control_update': 'gradient'},
  )
  def test_refuses(self, **arguments):
    with self.assertRaisesRegex(errors.InputError, [*arguments][0]):
      client_work.build_control_variate_update(
        **{'client_learning_rate': 0.2, **arguments}
      )

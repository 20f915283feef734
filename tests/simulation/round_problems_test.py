# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Messages on a round's problems, and runs that survive what they can."""

import contextlib
import io

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff.datasets import batches
from fedfish_tff.datasets import client_data
from fedfish_tff.models import dense
from fedfish_tff.models import feature_map
from fedfish_tff.simulation import round_hooks
from fedfish_tff.simulation import round_problems
from fedfish_tff.simulation import training_loop
from tests import row_callback

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_FEATURES, _CLASSES = 4, 3
_NUMBER = 3


def _clients(**changed):
  """Returns three clients of three examples each, some of them changed."""
  rng = np.random.default_rng(0)
  clients = {
    client_id: (
      rng.normal(size=[_NUMBER, _FEATURES]).astype(np.float32),
      np.arange(_NUMBER, dtype=np.int32),
    )
    for client_id in 'abc'
  }
  return client_data.InMemoryClientData({**clients, **changed})


def _one_per_round(round_number):
  return ('abc'[round_number - 1],)


def _everyone(round_number):
  del round_number
  return tuple('abc')


class Fed3RTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.process = algorithms.build_fed3r(
      feature_map.create_identity_features(_FEATURES),
      num_classes=_CLASSES,
      regularization=0.0,
    )

  def _run(self, clients, participation, rounds, **kwargs):
    return training_loop.run_training(
      self.process,
      train_data=clients,
      participation=participation,
      batch_spec=batches.BatchSpec(batch_size=_NUMBER),
      seed=0,
      rounds=rounds,
      **kwargs,
    )

  def _run_with_barrier(self, evaluation_fn):
    """Runs rounds of one client; returns rows and warnings."""
    rows = []
    with self.assertLogs(level='WARNING') as logs:
      self._run(
        _clients(),
        _one_per_round,
        3,
        evaluation_fn=evaluation_fn,
        hooks=[
          round_hooks.Barrier(lambda before, after, cohort: {'csb/loss': 0.5}),
          row_callback.RowCallback(lambda _, row: rows.append(dict(row))),
        ],
      )
    return rows, [record.getMessage() for record in logs.records]

  def test_a_barrier_without_a_model_leaves_the_evaluation_alone(self):
    rows, told = self._run_with_barrier(
      lambda state, _: (
        self.process.get_model_weights(state) and {'eval/number': 1.0}
      )
    )
    # After round 1 there is no model, and so none before round 2.
    self.assertEqual(
      [('eval/number' in row, 'csb/loss' in row) for row in rows],
      [(True, False), (False, False), (True, False), (True, True)],
    )
    self.assertIn(
      'With lambda = 0 the sums of the features have no ridge solution', told[0]
    )
    self.assertEqual(
      [message.partition('.')[0] for message in told],
      [
        'Round 1 was not evaluated',
        'The barrier of round 1 was not measured',
        'The barrier of round 2 was not measured',
      ],
    )

  def test_a_barrier_does_not_need_the_evaluation(self):
    def evaluate(state, round_number):
      if round_number == 3:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
          session.run(tf.debugging.Assert(False, ['No evaluation here.']))
      return {}

    rows, told = self._run_with_barrier(evaluate)
    self.assertEqual(rows[-1]['csb/loss'], 0.5)
    self.assertEqual(told[-1], 'Round 3 was not evaluated. No evaluation here.')

  def test_clients_left_out_are_named_and_no_rate_is_blamed(self):
    x = np.full([_NUMBER, _FEATURES], 1e30, np.float32)  # Its squares are not.
    with contextlib.redirect_stderr(io.StringIO()) as stream:
      # The state before it has no model: one client only, and no lambda.
      result = self._run(
        _clients(c=(x, np.arange(_NUMBER, dtype=np.int32))),
        lambda round_number: (('a',), ('c', 'b'))[round_number - 1],
        2,
      )
    self.assertEqual(result.totals['excluded_clients'], 1)
    self.assertEqual(
      stream.getvalue(),
      'Round 2: the update of 1 of 2 clients was not finite and was left out: c; '
      'their inputs, or features of them, are not finite or too large.\n',
    )

  def test_a_label_outside_of_the_classes_is_bad_input(self):
    wrong = (np.zeros([2, _FEATURES], np.float32), np.array([0, 7], np.int32))
    with self.assertRaises(errors.InputError) as caught:
      self._run(_clients(b=wrong), _everyone, 1)
    self.assertEqual(
      str(caught.exception),
      'Client b: The labels of a batch must be from 0 to 2, got labels from 0 to '
      '7 with 3 classes.',
    )


class ClassifierTest(absltest.TestCase):
  def test_a_label_outside_of_the_classes_is_bad_input(self):
    model = dense.create_mlp_classifier(
      num_features=_FEATURES, num_classes=_CLASSES, hidden_units=[], seed=0
    )
    wrong = (np.zeros([2, _FEATURES], np.float32), np.array([0, 3], np.int32))
    with self.assertRaises(errors.InputError) as caught:
      training_loop.run_training(
        algorithms.build_fed_avg(
          model, tff.learning.optimizers.build_sgdm(0.1)
        ),
        train_data=_clients(b=wrong),
        participation=_everyone,
        batch_spec=batches.BatchSpec(batch_size=2),
        seed=0,
        rounds=1,
      )
    self.assertEqual(
      str(caught.exception), 'Client b: Labels must be from 0 to 2, got 3.'
    )


class OtherErrorsTest(absltest.TestCase):
  def test_pass(self):
    for error in (
      KeyError('a'),
      errors.InputError('no file'),
      tf.errors.InvalidArgumentError(None, None, 'Incompatible shapes'),
    ):
      with self.subTest(repr(error)), self.assertRaises(type(error)) as caught:
        with round_problems.input_errors([]):
          raise error
      self.assertIs(caught.exception, error)
      with self.assertRaises(type(error)):
        with round_problems.skip_without_model('No.'):
          raise error

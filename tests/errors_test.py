# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The input error, and what is made of a check that failed in a graph."""

from fedfish_tff import errors

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf


class InputErrorTest(absltest.TestCase):
  def test_is_a_value_error_with_its_sentence(self):
    with self.assertRaisesRegex(ValueError, '^rounds must be positive$'):
      raise errors.InputError('rounds must be positive')


class CheckPositiveIntegerTest(parameterized.TestCase):
  def test_integers_from_1(self):
    errors.check_positive_integer('n', 1)
    errors.check_positive_integer('n', np.int64(1))

  @parameterized.parameters(0, -1, 1.5, '3', True)
  def test_not_a_positive_integer(self, value):
    with self.assertRaisesRegex(
      errors.InputError, f'n must be .*got {value!r}'
    ):
      errors.check_positive_integer('n', value)


class FirstLineTest(parameterized.TestCase):
  @parameterized.parameters(
    (ValueError('Bad value.\nHint: none.'), 'Bad value'),
    (OSError('\n  no file'), 'no file'),
    (EOFError(), 'EOFError'),
    (tf.errors.DataLossError(None, None, 'torn\n\t[[node]]'), 'torn'),
  )
  def test_one_line_without_a_full_stop(self, error, line):
    self.assertEqual(errors.first_line(error), line)


class SuggestTest(parameterized.TestCase):
  @parameterized.parameters(
    ('sed', ' Did you mean seed?'),
    ('Rounds', ' Did you mean rounds?'),
    ('epochs', ' Did you mean local_epochs?'),
    ('lr', ' Did you mean client_learning_rate or server_learning_rate?'),
    ('clr', ' Did you mean client_learning_rate?'),
    ('x', ''),
    ('s', ''),
    ('', ''),
    # Too many to be of help.
    ('of', ''),
  )
  def test_names_what_may_be_meant(self, name, told):
    known = (
      *('rounds', 'seed', 'local_epochs', 'client_learning_rate'),
      *(
        'server_learning_rate',
        'width_of_a',
        'width_of_b',
        'width_of_c',
        'width_of_d',
      ),
    )
    self.assertEqual(errors.suggest(name, known), told)


class DescribeFailedCheckTest(absltest.TestCase):
  def _failure(self, number):
    @tf.function
    def check(number):
      parts = ['The number is', number, 'and 0 was expected.']
      with tf.control_dependencies([tf.debugging.Assert(number == 0, parts)]):
        return tf.identity(number)

    with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
      check(tf.constant(number))
    return caught.exception

  def test_says_what_the_check_says(self):
    self.assertEqual(
      errors.describe_failed_check(self._failure(5)),
      'The number is 5 and 0 was expected.',
    )

  def test_names_the_client(self):
    error = self._failure(5)
    told = tf.errors.InvalidArgumentError(
      error.node_def, error.op, f'Client 2 of 2: {error.message}'
    )
    for client_ids, start in (
      (['a', 'b'], 'Client b: '),
      ([], ''),
      (['a'], ''),
    ):
      self.assertEqual(
        errors.describe_failed_check(told, client_ids),
        f'{start}The number is 5 and 0 was expected.',
      )

  def test_other_errors_are_none(self):
    for error in (
      ValueError('wrong'),
      tf.errors.InvalidArgumentError(
        None, None, 'Incompatible shapes: [2] [3]'
      ),
    ):
      self.assertIsNone(errors.describe_failed_check(error))

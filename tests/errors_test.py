# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The input error, and what is made of a check that failed in a graph."""

import math

from fedfish_tff import choices
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


class CheckIntegerTest(parameterized.TestCase):
  @parameterized.parameters(
    (-1, 0, None, 'an integer that is 0 or more'),
    (0, 1, None, 'a positive integer'),
    (2, 3, None, 'an integer of at least 3'),
    (17, 1, 16, 'an integer from 1 to 16'),
    (0, 1, 16, 'an integer from 1 to 16'),
    (2.0, 1, 16, 'an integer from 1 to 16'),
    (True, 0, None, 'an integer that is 0 or more'),
  )
  def test_refused(self, value, least, most, expected):
    with self.assertRaises(errors.InputError) as raised:
      errors.check_integer('n', value, least=least, most=most)
    self.assertEqual(
      str(raised.exception), f'n must be {expected}, got {value!r}.'
    )

  @parameterized.parameters(1, 16, np.int32(16))
  def test_both_ends_are_in_the_range(self, value):
    errors.check_integer('n', value, least=1, most=16)


# By the words of a range, its bounds, numbers in it and numbers outside.
_RANGES = {
  'a positive number': (dict(above=0), (1e-300, 10**400), (0, -1.0)),
  'a number above 2': (dict(above=2), (2.5,), (2,)),
  'a number that is 0 or more': (dict(least=0), (0, 3), (-1e-9,)),
  'a number from 0 to 1': (dict(least=0, most=1), (0, 1.0), (-0.1, 1.1)),
  'a number from 0 to below 0.5': (
    dict(least=0, below=0.5),
    (0, np.float32(0.25)),
    (0.5, -1),
  ),
  'a number above 0 and below 1': (dict(above=0, below=1), (0.5,), (0, 1)),
  'a number above 0 and at most 1': (dict(above=0, most=1), (1,), (0, 2)),
}


class CheckRangeTest(parameterized.TestCase):
  @parameterized.parameters(*_RANGES.items())
  def test_ranges(self, expected, case):
    bounds, inside, outside = case
    for value in inside:
      errors.check_range('x', value, **bounds)
    for value in (*outside, math.nan, math.inf, -math.inf, True, '0.5', None):
      with self.assertRaises(errors.InputError) as raised:
        errors.check_range('x', value, **bounds)
      self.assertEqual(
        str(raised.exception), f'x must be {expected}, got {value!r}.'
      )


class CheckMemberTest(absltest.TestCase):
  def test_known_names(self):
    errors.check_member('x', 'b', ('a', 'b'))
    errors.check_member('x', 'b', {'b': 1})

  def test_another_name(self):
    with self.assertRaisesRegex(
      errors.InputError, r"^x must be one of adam, sgd, got 'Sgd'. .* sgd\?$"
    ):
      errors.check_member('x', 'Sgd', ('adam', 'sgd'))


class CheckChoiceTest(absltest.TestCase):
  def test_a_member_is_not_its_value(self):
    errors.check_choice('x', choices.Direction.LARGEST, choices.Direction)
    for value in (choices.Direction.LARGEST.value, None):
      with self.assertRaisesRegex(
        errors.InputError,
        f'^x must be a member of choices.Direction, got {value!r}.$',
      ):
        errors.check_choice('x', value, choices.Direction)


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


class SpanTest(absltest.TestCase):
  def test_equal_numbers_are_one(self):
    self.assertEqual(errors.span([5, 1200, 9], ','), '5 to 1,200')
    self.assertEqual(errors.span([18, 18]), '18')
    self.assertEqual(errors.span([0.1, 0.05]), '0.05 to 0.1')
    # The numbers of C4's domains.
    self.assertEqual(errors.span([15_600_001, 3]), '3 to 15600001')


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

  def test_apostrophes_are_not_escaped(self):
    error = tf.errors.InvalidArgumentError(
      None, None, r'assertion failed: [A client\'s data] [2]'
    )
    self.assertEqual(errors.describe_failed_check(error), "A client's data 2")

  def test_other_errors_are_none(self):
    for error in (
      ValueError('wrong'),
      tf.errors.InvalidArgumentError(
        None, None, 'Incompatible shapes: [2] [3]'
      ),
    ):
      self.assertIsNone(errors.describe_failed_check(error))
      self.assertIsNone(errors.describe_wrong_label(error))

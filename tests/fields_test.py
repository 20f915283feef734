# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks of single fields; config_checks_test has them in use."""

import math

from fedfish_tff import errors
from fedfish_tff import fields

from absl.testing import parameterized
from hypothesis import given
from hypothesis import strategies as st
import numpy as np


class FieldChecksTest(parameterized.TestCase):
  def test_sizes(self):
    for value in ([], (3, 4)):
      fields.sizes('a.sizes', value)
    for value, message in (
      (3, 'a.sizes must be a sequence of positive integers, got 3.'),
      ('34', "a.sizes must be a sequence of positive integers, got '34'."),
      ((3, 0), 'A number of a.sizes must be a positive integer, got 0.'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        fields.sizes('a.sizes', value)

  def test_optional_values(self):
    check = fields.Optional(float, fields.share)
    for value in (None, 0.5):
      check('a.share', value)
    with self.assertRaisesRegex(errors.InputError, 'a.share must be a number'):
      check('a.share', 2.0)

  @given(st.floats(min_value=1.2e-38, max_value=1) | st.just(1))
  def test_shares(self, value):
    fields.share('a.share', value)

  @given(
    st.floats(max_value=0)
    | st.floats(min_value=1, exclude_min=True)
    | st.sampled_from((0, 2, math.nan, True, '0.5', None))
  )
  def test_what_is_no_share(self, value):
    with self.assertRaises(errors.InputError) as raised:
      fields.share('a.share', value)
    self.assertEqual(
      str(raised.exception),
      f'a.share must be a number above 0 and at most 1, got {value!r}.',
    )

  @given(
    st.floats(1e-323, float(np.finfo(np.float32).tiny), exclude_max=True)
    | st.floats(float(np.finfo(np.float32).max) * 1.001, 1e308)
  )
  def test_what_float32_takes_for_0_or_infinity(self, value):
    for check in (
      fields.number(positive=True),
      fields.number(positive=False),
      lambda name, value: fields.numbers(name, [value]),
      fields.share,
    ):
      with self.assertRaises(errors.InputError):
        check('a.rate', value)

  @parameterized.parameters(fields.between_0_and_1, fields.below_1)
  def test_what_float32_takes_for_1(self, check):
    for value in (1 - 2**-24, 1 - 1e-6):
      check('a.decay must be .*got 0.99999999', value)
      self.assertLess(np.float32(value), 1)
    with self.assertRaisesRegex(
      errors.InputError, 'a.decay must be .*got 0.99999999'
    ):
      check('a.decay must be .*got 0.99999999', 1 - 1e-9)

  def test_a_misspelt_choice_gets_a_suggestion(self):
    with self.assertRaisesRegex(
      errors.InputError, r"a.b must be one of adam, sgd, got 'Adam'. .* adam\?$"
    ):
      fields.one_of('adam', 'sgd')('a.b', 'Adam')

  def test_fields_that_change_nothing(self):
    some = {
      'kind': fields.Field('a', fields.one_of('a', 'b'), 'A choice.'),
      'size': fields.Field(
        1, fields.integer(1), 'Of b.', goes_with={'kind': ('b',)}
      ),
    }
    for block in ({'kind': 'a', 'size': 1}, {'kind': 'b', 'size': 2}):
      fields.check_block('x.', block, some)
    with self.assertRaisesRegex(
      errors.InputError, 'x.size .*it changes nothing .*2'
    ):
      fields.check_block('x.', {'kind': 'a', 'size': 2}, some)

  @parameterized.parameters(
    ({}, 'no field a.b, which x needs; a variant that names x has it'),
    ({'b': 1, 'c': 2}, 'field a.c does not exist for x; there are: b.$'),
    (
      {'b': 1, 'B': 2},
      'field a.B does not exist for x; there are: b. Did you mean b[?]$',
    ),
    ({'b': 0}, 'a.b must be .*got 0'),
  )
  def test_blocks(self, block, message):
    some = fields.of_checks({'b': fields.integer(1)})
    fields.check_block('a.', {'b': 1}, some)
    with self.assertRaisesRegex(errors.InputError, message):
      fields.check_block('a.', block, some, owner='x')

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks of single fields; config_checks_test has them in use."""

import math

from fedfish_tff import errors
from launch.methods import fields

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import given
from hypothesis import strategies as st


class FieldChecksTest(parameterized.TestCase):
  @given(st.floats(min_value=0, max_value=1, exclude_min=True) | st.just(1))
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
      f'a.share is {value!r}; a number above 0 and at most 1 was expected.',
    )

  @parameterized.parameters(
    ({}, 'The config has no field a.b.'),
    ({'b': 1, 'c': 2}, 'field a.c does not exist for x; there are: b.'),
    ({'b': 0}, 'a.b is 0; a positive integer was expected.'),
  )
  def test_blocks(self, block, message):
    checks = {'b': fields.integer(1)}
    fields.check_fields('a.', {'b': 1}, checks)
    with self.assertRaisesRegex(errors.InputError, message):
      fields.check_fields('a.', block, checks, owner='x')


if __name__ == '__main__':
  absltest.main()

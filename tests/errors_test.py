# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The input error is caught by code that knows only the standard library."""

from fedfish_tff import errors

from absl.testing import absltest


class InputErrorTest(absltest.TestCase):
  def test_is_a_value_error_with_its_sentence(self):
    with self.assertRaisesRegex(ValueError, '^rounds must be positive$'):
      raise errors.InputError('rounds must be positive')


if __name__ == '__main__':
  absltest.main()

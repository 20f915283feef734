# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0

from fedfish_tff import errors

from absl.testing import absltest


class InputErrorTest(absltest.TestCase):
  def test_is_a_value_error_with_its_message(self):
    with self.assertRaisesRegex(ValueError, '^client "a": no examples$'):
      raise errors.InputError('client "a": no examples')


if __name__ == '__main__':
  absltest.main()

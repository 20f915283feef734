# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of JSON objects with a checksum."""

import json
import pathlib

from fedfish_tff import errors
from fedfish_tff.simulation import checked_json

from absl.testing import absltest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

_CONTENT = {'rounds': 3, 'final': {'a': 0.1, 'b': None}, 'names': ['x', 'y']}


class CheckedJsonTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path, 'a.json')

  def test_comes_back_from_a_file(self):
    text = json.dumps(checked_json.add_checksum(_CONTENT), indent=2)
    self.path.write_text(text)
    self.assertEqual(checked_json.read(self.path, {}), _CONTENT)

  @given(st.data())
  @settings(max_examples=200)
  def test_no_flipped_bit_goes_unnoticed(self, data):
    content = json.dumps(checked_json.add_checksum(_CONTENT)).encode()
    bit = data.draw(st.integers(0, 8 * len(content) - 1))
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << bit % 8
    self.path.write_bytes(damaged)
    try:
      found = checked_json.read(self.path, {})
    except errors.InputError:
      return
    self.assertEqual(found, _CONTENT)

  def test_without_a_checksum(self):
    self.path.write_text(json.dumps(_CONTENT))
    with self.assertRaisesRegex(errors.InputError, 'checksum .*None'):
      checked_json.read(self.path, {})

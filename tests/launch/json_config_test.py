# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of configs from config.json; train_test has a run of one."""

import json

from fedfish_tff import errors
from launch import json_config
from launch.configs import digits

from absl.testing import parameterized


class JsonConfigTest(parameterized.TestCase):
  def test_it_is_the_config_that_was_written(self):
    config = digits.get_config('fed_fish').to_dict()
    path = self.create_tempfile('config.json', json.dumps(config)).full_path
    self.assertEqual(json_config.get_config(path).to_dict(), config)

  @parameterized.parameters(
    'a.py', 'a.py:x', 'a.py:x.json', 'a.json', 'a.JSON', 'a:b/c.json'
  )
  def test_found_by_its_name(self, source):
    self.assertEqual(json_config.find(source), source)

  @parameterized.parameters(
    '', 'a', ':a.py', 'a.json:x', 'a.JSON:x.py', 'a.json.bak', 'a.pyc', 'a.so'
  )
  def test_other_names_are_refused(self, source):
    with self.assertRaisesRegex(
      errors.InputError, f'^A config must be .*, got {source}[.]$'
    ):
      json_config.find(source)

  @parameterized.parameters(
    ('{', 'not valid JSON'), ('[1]', 'an object'), (None, 'Cannot read')
  )
  def test_bad_files(self, content, message):
    path = self.create_tempdir().full_path + '/config.json'
    if content is not None:
      with open(path, 'w') as file:
        file.write(content)
    with self.assertRaisesRegex(errors.InputError, message):
      json_config.get_config(path)

  def test_flatten_names_fields_by_their_place(self):
    self.assertEqual(
      json_config.flatten(
        {'a': 1, 'b': {'c': (2,), 'd': {'e': None}, 'f': {}}}
      ),
      {'a': 1, 'b.c': (2,), 'b.d.e': None, 'b.f': {}},
    )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of configs from config.json; train_test has a run of one."""

import json

from fedfish_tff import errors
from launch import json_config
from launch.configs import digits

from absl.testing import absltest
from absl.testing import parameterized


class JsonConfigTest(parameterized.TestCase):
  def test_it_is_the_config_that_was_written(self):
    config = digits.get_config('fed_fish').to_dict()
    path = self.create_tempfile('config.json', json.dumps(config)).full_path
    self.assertEqual(json_config.get_config(path).to_dict(), config)

  @parameterized.parameters(
    (['--config=a.json'], ['--config={}:a.json']),
    (['--config', 'a.json'], ['--config', '{}:a.json']),
    (['--config=a.py:x', '--data_dir', 'a.json'], None),
    (['--config.task.images=a.json'], None),
  )
  def test_only_the_config_is_redirected(self, arguments, expected):
    self.assertEqual(
      json_config.is_data(['program', *arguments]), expected is not None
    )
    self.assertEqual(
      json_config.redirect(['program', *arguments]),
      [
        'program',
        *(a.format(json_config.__file__) for a in expected or arguments),
      ],
    )

  @parameterized.parameters(
    ('{', 'not valid JSON'), ('[1]', 'no config'), (None, 'Cannot read')
  )
  def test_bad_files(self, content, message):
    path = self.create_tempdir().full_path + '/config.json'
    if content is not None:
      with open(path, 'w') as file:
        file.write(content)
    with self.assertRaisesRegex(errors.InputError, message):
      json_config.get_config(path)


if __name__ == '__main__':
  absltest.main()

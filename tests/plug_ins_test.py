# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of how somebody else's methods and tasks are found."""

import importlib.metadata
import os
import sys
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import plug_ins
from fedfish_tff import trust

from absl.testing import absltest


def _load(name, group='the.group'):
  return plug_ins.load(
    name,
    field='the.field',
    trust=trust.PYTHON,
    group=group,
    known=lambda: ['ours'],
    is_one=callable,
    expected='a function',
  )


class PlugInsTest(absltest.TestCase):
  def test_by_where_it_is(self):
    self.assertEqual(_load('math:floor')(1.5), 1)

  def test_an_installed_package_announces_some(self):
    point = importlib.metadata.EntryPoint('theirs', 'math:floor', 'the.group')
    with mock.patch.object(
      importlib.metadata, 'entry_points', autospec=True, return_value=[point]
    ) as entry_points:
      self.assertEqual(_load('theirs')(1.5), 1)
      with self.assertRaisesRegex(errors.InputError, 'one of ours, theirs,'):
        _load('others')
    entry_points.assert_called_with(group='the.group')

  def test_without_a_group_only_by_where_it_is(self):
    self.assertEqual(_load('math:floor', None)(1.5), 1)
    with self.assertRaisesRegex(
      errors.InputError, "the.field must be package.module:NAME, got 'ours'"
    ):
      _load('ours', None)

  def test_refuses_what_it_is_not(self):
    file = self.create_tempfile('not_python.py', 'x = (').full_path
    self.enter_context(
      mock.patch.object(sys, 'path', [os.path.dirname(file), *sys.path])
    )
    for name, message in (
      (
        'nowhere_at_all:NAME',
        "the.field is .*No module named 'nowhere_at_all'",
      ),
      ('math:nothing', "no attribute 'nothing'"),
      ('math:', "the.field must be package.module:NAME, got 'math:'"),
      ('.math:pi', "be package.module:NAME, got '.math:pi'"),
      ('a b:NAME', "be package.module:NAME, got 'a b:NAME'"),
      ('a:b:NAME', "be package.module:NAME, got 'a:b:NAME'"),
      ('not_python:NAME', 'imported: SyntaxError: .*not_python.py, line 1'),
      ('math:pi', 'a function, got .*a float'),
      (None, 'the.field must be one of ours, .* got None'),
      (['ours'], r"the.field must be one of ours, .* got \['ours'\]"),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        _load(name)

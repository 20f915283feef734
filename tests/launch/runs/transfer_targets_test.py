# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what --targets and --at mean."""

from fedfish_tff import errors
from launch.runs import transfer_targets

from absl.testing import parameterized


class TransferTargetsTest(parameterized.TestCase):
  def test_names_and_folders(self):
    self.assertEqual(
      transfer_targets.parse_targets(
        ['c4', 'cc_news=a/b', 'stackoverflow=x=y']
      ),
      {'c4': None, 'cc_news': 'a/b', 'stackoverflow': 'x=y'},
    )

  @parameterized.parameters(
    ([], 'is empty'),
    (['=a'], "holds '=a'; NAME or NAME=FOLDER"),
    (['c4='], "holds 'c4='"),
    (['c4', 'c4=a'], 'names c4 twice'),
  )
  def test_bad_targets(self, values, message):
    with self.assertRaisesRegex(errors.InputError, message):
      transfer_targets.parse_targets(values)

  def test_real_text_has_no_made_up_target(self):
    targets = {'c4': None, 'cc_news': None}
    transfer_targets.check_folders(targets, 'c4', None)
    transfer_targets.check_folders({'c4': None, 'cc_news': 'n'}, 'c4', 'd')
    with self.assertRaisesRegex(errors.InputError, 'cc_news=FOLDER was expect'):
      transfer_targets.check_folders(targets, 'c4', 'd')

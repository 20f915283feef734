# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of reading metrics.csv; those of its writer read what it wrote."""

import pathlib

from fedfish_tff import errors
from fedfish_tff.simulation import metrics_rows

from absl.testing import absltest


class MetricsRowsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / 'metrics.csv'

  def test_empty_cells_and_a_torn_row_are_left_out(self):
    self.path.write_text('round,a,b\n0,1.5,\n2,,3\n4,1')
    self.assertEqual(
      metrics_rows.read_rows(self.path),
      [{'round': 0, 'a': 1.5}, {'round': 2, 'b': 3}],
    )

  def test_a_missing_file_cannot_be_read(self):
    with self.assertRaisesRegex(errors.InputError, 'No such file'):
      metrics_rows.read_rows(self.path)


if __name__ == '__main__':
  absltest.main()

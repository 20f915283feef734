# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of runs of examples."""

import collections
import pathlib
import tempfile

from fedfish_tff.datasets.grouping import spilled_runs

from absl.testing import absltest
from hypothesis import given
from hypothesis import strategies as st

_EXAMPLES = st.builds(
  spilled_runs.SpilledExample,
  client_id=st.binary(max_size=5),
  order=st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)),
  words=st.integers(0, 2**64 - 1),
  serialized=st.binary(max_size=20),
)


class SpilledRunsTest(absltest.TestCase):
  @given(
    st.lists(st.tuples(st.integers(0, 4), _EXAMPLES), max_size=20),
    st.integers(1, 200),
  )
  def test_buckets_have_what_was_added(self, added, max_bytes):
    with tempfile.TemporaryDirectory() as folder:
      writer = spilled_runs.RunWriter(
        folder, num_buckets=5, max_bytes=max_bytes
      )
      expected = collections.defaultdict(list)
      for bucket, example in added:
        writer.add(bucket, example)
        expected[bucket].append(example)
      writer.flush()
      writer.flush()
      paths = [pathlib.Path(folder, name) for name in writer.names]
      self.assertEqual(set(paths), set(pathlib.Path(folder).iterdir()))
      for bucket in range(5):
        found = spilled_runs.read_bucket(paths, bucket, num_buckets=5)
        self.assertEqual(list(found), expected[bucket])

  def test_memory_is_bounded(self):
    folder = self.create_tempdir().full_path
    writer = spilled_runs.RunWriter(folder, num_buckets=1, max_bytes=1000)
    for i in range(100):
      writer.add(0, spilled_runs.SpilledExample(b'a', (0, i), 1, bytes(100)))
    for path in pathlib.Path(folder).iterdir():
      self.assertLess(path.stat().st_size, 1200)
    self.assertGreater(len(writer.names), 9)

  def test_a_run_that_is_not_whole(self):
    folder = self.create_tempdir().full_path
    writer = spilled_runs.RunWriter(folder, num_buckets=1, max_bytes=1000)
    writer.add(0, spilled_runs.SpilledExample(b'a', (0, 1), 1, bytes(100)))
    writer.flush()
    path = pathlib.Path(folder, writer.names[0])
    content = path.read_bytes()
    path.write_bytes(content[:10] + content[-16:])
    with self.assertRaisesRegex(OSError, 'not whole'):
      list(spilled_runs.read_bucket([path], 0, num_buckets=1))


if __name__ == '__main__':
  absltest.main()

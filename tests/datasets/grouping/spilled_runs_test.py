# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of runs of examples."""

import collections
import pathlib
import tempfile
from unittest import mock

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


def _sorted(clients):
  """Returns id, words and bytes of clients as `Bucket` should have them."""
  found = []
  for client_id, examples in sorted(clients.items()):
    examples = sorted(examples, key=lambda example: example.order)
    found.append(
      (
        client_id,
        [example.words for example in examples],
        [example.serialized for example in examples],
      )
    )
  return found


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
      expected = collections.defaultdict(lambda: collections.defaultdict(list))
      names = []
      for bucket, example in added:
        writer.add(bucket, example)
        expected[bucket][example.client_id].append(example)
        if writer.is_full:
          names.append(writer.flush())
      names += filter(None, [writer.flush(), writer.flush()])
      paths = [pathlib.Path(folder, name) for name in names]
      self.assertEqual(set(paths), set(pathlib.Path(folder).iterdir()))
      for bucket in range(5):
        with (
          # Fewer than there are runs.
          mock.patch.object(spilled_runs, '_MOST_OPEN_FILES', 2),
          spilled_runs.Bucket(paths, bucket, num_buckets=5) as found,
        ):
          clients = [
            (client_id, rows['words'].tolist(), list(found.read(rows)))
            for client_id, rows in found.clients()
          ]
        self.assertEqual(clients, _sorted(expected[bucket]))

  def test_memory_is_bounded(self):
    folder = self.create_tempdir().full_path
    writer = spilled_runs.RunWriter(folder, num_buckets=1, max_bytes=1000)
    names = []
    for i in range(100):
      writer.add(0, spilled_runs.SpilledExample(b'a', (0, i), 1, bytes(100)))
      if writer.is_full:
        names.append(writer.flush())
    for path in pathlib.Path(folder).iterdir():
      self.assertLess(path.stat().st_size, 1200)
    self.assertGreater(len(names), 9)

  def test_a_run_that_is_not_whole(self):
    folder = self.create_tempdir().full_path
    writer = spilled_runs.RunWriter(folder, num_buckets=1, max_bytes=1000)
    writer.add(0, spilled_runs.SpilledExample(b'a', (0, 1), 1, bytes(100)))
    path = pathlib.Path(folder, writer.flush())
    content = path.read_bytes()
    path.write_bytes(content[:10] + content[-16:])
    with self.assertRaisesRegex(OSError, 'not whole'):
      spilled_runs.Bucket([path], 0, num_buckets=1)

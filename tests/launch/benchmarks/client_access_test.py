# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the benchmark of clients measures."""

import contextlib
import dataclasses
import io
import json
import pathlib
import time
from unittest import mock

from fedfish_tff import datasets
from fedfish_tff import simulation
from launch.benchmarks import client_access
from launch.benchmarks import generated_folder
from launch.benchmarks import process_memory

from absl.testing import absltest
import pytest


class ClientAccessTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = str(pathlib.Path(self.create_tempdir().full_path) / 'd')
    generated_folder.generate(self._folder, 50)
    # A clock of our own.
    self._now = 0.0
    self._patch(time, 'perf_counter', lambda: self._now)
    memory = iter([100, 350])
    self._patch(process_memory, 'resident_bytes', lambda: next(memory))

  def _patch(self, owner, name, replacement):
    self.enter_context(
      mock.patch.object(owner, name, autospec=True, side_effect=replacement)
    )

  def _request(self, **changes):
    return client_access.Request(
      **{'folder': self._folder, 'cohort_size': 7, 'cohorts': 3, **changes}
    )

  def test_by_id(self):
    load_client = datasets.ClientIndex.load_client
    forget_files = client_access._forget_files
    uniform_participation = simulation.uniform_participation
    in_memory = set()
    seconds_from_disk = iter([9.0, 6.0, 5.0])
    seconds_of_client = 0.0

    def forget(folder):
      nonlocal seconds_of_client
      seconds_of_client = next(seconds_from_disk)
      in_memory.clear()
      forget_files(folder)

    def load(index, split, rows, place, **kwargs):
      self._now += 1.0 if place in in_memory else seconds_of_client
      in_memory.add(place)
      return load_client(index, split, rows, place, **kwargs)

    def draw_in_two_seconds(*args, **kwargs):
      draw = uniform_participation(*args, **kwargs)
      self._now += 4.0

      def participation(round_number):
        self._now += 2.0
        return draw(round_number)

      return participation

    self._patch(client_access, '_forget_files', forget)
    self._patch(datasets.ClientIndex, 'load_client', load)
    self._patch(simulation, 'uniform_participation', draw_in_two_seconds)
    data = datasets.GroupedClientData(self._folder, generated_folder.SPLIT)
    self.assertEqual(
      client_access.measure(self._request()),
      client_access.Result(
        open_seconds=4.0,
        draw_seconds=2.0,
        first_seconds=7 * 9.0,
        cold_seconds=7 * 6.0,
        warm_seconds=7 * 1.0,
        index_bytes=data.index_bytes,
        resident_bytes=250,
      ),
    )
    self.assertGreater(data.index_bytes, 50 * 30)

  def test_stream_answers_in_json(self):
    cohorts = datasets.StreamedClients.cohorts
    # From disk, then the same cohort from memory.
    seconds = iter([9.0, 1.0, 6.0, 1.0, 5.0, 2.0])
    read = []

    def read_cohorts(stream, cohort_size):
      for cohort in cohorts(stream, cohort_size):
        read.append([client_id for client_id, _ in cohort])
        self._now += next(seconds)
        yield cohort

    self._patch(datasets.StreamedClients, 'cohorts', read_cohorts)
    request = json.dumps(dataclasses.asdict(self._request(window=20)))
    with contextlib.redirect_stdout(io.StringIO()) as output:
      client_access.main(['client_access', request])
    self.assertEqual(
      client_access.Result(**json.loads(output.getvalue())),
      client_access.Result(
        open_seconds=0.0,
        draw_seconds=None,
        first_seconds=9.0,
        cold_seconds=6.0,
        warm_seconds=1.0,
        index_bytes=None,
        resident_bytes=250,
      ),
    )
    self.assertEqual(read[::2], read[1::2])
    self.assertLen(set(sum(read, [])), 3 * 7)

  @pytest.mark.thorough
  def test_failure_of_the_process(self):
    with self.assertRaisesRegex(RuntimeError, 'cohort_size is 51'):
      client_access.measure_in_child(self._request(cohort_size=51))


if __name__ == '__main__':
  absltest.main()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the benchmark of clients measures."""

import pathlib
import time
from unittest import mock

from fedfish_tff import datasets
from fedfish_tff import simulation
from launch.benchmarks import client_access
from launch.benchmarks import generated_text

from absl.testing import absltest
import pytest


class ClientAccessTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = str(pathlib.Path(self.create_tempdir().full_path) / 'd')
    generated_text.write_clients(self._folder, 50)
    # A clock of our own.
    self._now = 0.0
    self._patch(time, 'perf_counter', lambda: self._now)
    memory = iter([10**6, 35 * 10**5])
    self._patch(client_access, 'resident_bytes', lambda: next(memory))

  def _patch(self, owner, name, replacement):
    self.enter_context(
      mock.patch.object(owner, name, autospec=True, side_effect=replacement)
    )

  def test_by_id(self):
    load_client = datasets.ClientIndex.load_client
    uniform_participation = simulation.uniform_participation
    in_memory = set()

    def load(index, split, rows, place, **kwargs):
      self._now += 1.0 if place in in_memory else 9.0
      in_memory.add(place)
      return load_client(index, split, rows, place, **kwargs)

    def draw_in_two_seconds(*args, **kwargs):
      draw = uniform_participation(*args, **kwargs)
      self._now += 4.0

      def participation(round_number):
        self._now += 2.0
        return draw(round_number)

      return participation

    self._patch(datasets.ClientIndex, 'load_client', load)
    self._patch(simulation, 'uniform_participation', draw_in_two_seconds)
    data = datasets.GroupedClientData(self._folder, generated_text.SPLIT)
    self.assertEqual(
      client_access.measure_by_id(self._folder, cohort_size=7, cohorts=3),
      {
        'index in memory, MB': data.index_bytes / 1e6,
        'by id: open the data set, ms': 4000.0,
        'by id: draw a cohort, ms': 2000.0,
        'by id: load it, ms': 7000.0,
        'by id: resident memory, MB': 2.5,
      },
    )
    self.assertGreater(data.index_bytes, 50 * 30)

  def test_stream(self):
    cohorts = datasets.StreamedClients.cohorts
    seconds = iter([9.0, 2.0, 5.0])
    read = []

    def read_cohorts(stream, cohort_size):
      for cohort in cohorts(stream, cohort_size):
        read.extend(client_id for client_id, _ in cohort)
        self._now += next(seconds)
        yield cohort

    self._patch(datasets.StreamedClients, 'cohorts', read_cohorts)
    self.assertEqual(
      client_access.measure_stream(
        self._folder, cohort_size=7, cohorts=3, window=20
      ),
      {
        'stream: open the data set, ms': 0.0,
        'stream: first cohort, ms': 9000.0,
        'stream: next cohort, ms': 5000.0,
        'stream: resident memory, MB': 2.5,
      },
    )
    self.assertLen(set(read), 3 * 7)

  @pytest.mark.thorough
  def test_failure_of_the_process(self):
    with self.assertRaisesRegex(RuntimeError, 'cohort_size is 51'):
      client_access.measure_in_child(
        self._folder, cohort_size=51, cohorts=1, window=20
      )

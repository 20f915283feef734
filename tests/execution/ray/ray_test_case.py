# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ray, which tests of its context need; `make ray` installs it, as CI does."""

from collections.abc import Iterator
import contextlib
import importlib.util
import os
import tempfile
from typing import Any
from unittest import mock

from fedfish_tff.execution.ray import ray_cluster

from absl.testing import absltest


class TestCase(absltest.TestCase):
  """Tests that need Ray."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    if not importlib.util.find_spec('ray'):
      raise absltest.SkipTest('make ray was not run')


@contextlib.contextmanager
def two_nodes() -> Iterator[Any]:
  """Gives a cluster of two nodes on this machine, of one processor each."""
  ray_cluster.import_ray(is_local=True)
  from ray import cluster_utils  # pylint: disable=g-import-not-at-top

  with (
    tempfile.TemporaryDirectory(prefix='ray_nodes_', dir='/tmp') as folder,
    mock.patch.dict(os.environ, RAY_TMPDIR=folder),
  ):
    where = os.path.join(folder, 'ray')
    os.mkdir(where)
    cluster = cluster_utils.Cluster(
      initialize_head=True,
      head_node_args=dict(num_cpus=1, temp_dir=where, include_dashboard=False),
    )
    try:
      cluster.add_node(num_cpus=1)
      yield cluster
    finally:
      cluster.shutdown()

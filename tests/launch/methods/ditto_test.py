# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of Ditto as configs build it."""

from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff.execution import contexts
from launch.methods import exchange
from launch.methods import registry
from launch.runs import experiment
from tests.launch import small_configs

from absl.testing import absltest


def setUpModule():
  contexts.set_default_context()


class DittoTest(absltest.TestCase):
  def test_takes_its_strength_and_counts_both_trainings(self):
    config = small_configs.read_config(
      'ditto', **{'algorithm.personal_strength': 0.25, 'local_epochs': 3}
    )
    with mock.patch.object(
      algorithms, 'build_ditto', wraps=algorithms.build_ditto
    ) as build:
      built = registry.build_method(
        config,
        experiment.create_task(config),
      )
    self.assertEqual(build.call_args.kwargs['personal_strength'], 0.25)
    self.assertEqual(built.process.extra_passes, 3)
    self.assertTrue(exchange.clients_keep_models(config))

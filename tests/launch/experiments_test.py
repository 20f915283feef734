# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of runs in a notebook."""

import csv
import dataclasses

from examples import clipped_fed_avg
from fedfish_tff import errors
from fedfish_tff import execution
from launch import experiments
from tasks.images import digits
from tests import temporary_folders

import numpy as np
import pytest
import tensorflow_federated as tff

MINE = dataclasses.replace(clipped_fed_avg.METHOD, title='Mine')


class ExperimentsTest(temporary_folders.TestCase):
  @pytest.mark.thorough
  def test_a_context_that_was_set_stays(self):
    context = execution.create_context()
    default = tff.framework.get_context_stack().current
    tff.framework.set_default_context(context)
    self.addCleanup(tff.framework.set_default_context, default)
    experiments.train('digits:fed_avg', workdir=self.folder / 'run', rounds=1)
    self.assertIs(tff.framework.get_context_stack().current, context)

  @pytest.mark.thorough
  def test_a_run_of_ones_own_task_and_method_has_frames(self):
    task = digits.create_task(seed=0, num_clients=10)
    workdir = self.folder / 'run'

    def train():
      return experiments.train(
        'digits',
        task=task,
        method=MINE,
        workdir=workdir,
        rounds=2,
        evaluate_every=1,
        local_epochs=1,
        fields={'algorithm.clipping_norm': 0.0001},
      )

    run = train()
    self.assertEqual(repr(run), f'<Run of Mine: 2 rounds, {workdir}>')
    with open(workdir / 'metrics.csv', encoding='utf-8') as file:
      rows = list(csv.DictReader(file))
    self.assertEqual(
      list(run.rounds['eval/global/accuracy']),
      [float(row['eval/global/accuracy']) for row in rows],
    )
    self.assertEmpty(run.clients)
    before = task.create_model().initial_weights[0]
    moved = [a - b for a, b in zip(run.weights.trainable, before, strict=True)]
    length = np.sqrt(sum(np.sum(np.square(tensor)) for tensor in moved))
    self.assertBetween(length, 1e-6, 2e-4)

    clients = run.evaluate()
    self.assertCountEqual(clients.index, task.test.client_ids)
    sizes = clients['num_examples']
    self.assertAlmostEqual(
      np.average(clients['global/accuracy'], weights=sizes),
      run.summary['test/global/accuracy'].item(),
      places=6,
    )
    picture = run.plot('train/loss')._repr_png_()
    self.assertStartsWith(picture, b'\x89PNG')
    # The same call finds the finished run.
    self.assertLen(train().clients, len(clients))

  def test_a_method_has_a_name(self):
    nameless = dataclasses.replace(MINE, title='Nameless')
    with self.assertRaisesRegex(errors.InputError, 'must have a name in its'):
      experiments.train('digits', method=nameless, workdir=self.folder / 'a')
    with self.assertRaisesRegex(errors.InputError, 'Did you mean rounds'):
      experiments.train('digits:fed_avg', workdir=self.folder / 'a', round=5)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of somebody's own managers of metrics."""

from unittest import mock

from fedfish_tff import errors
from fedfish_tff import simulation
from launch.runs import metrics_managers
from tests.launch import small_configs

from absl.testing import parameterized
import tensorflow_federated as tff

_HERE = 'tests.launch.runs.metrics_managers_test'
# By run's folder, what its manager was given.
RELEASED = {}


class Collecting(tff.program.ReleaseManager):
  """Collects rows, and spoils its own copies of them."""

  def __init__(self, workdir):
    self._rows = RELEASED[workdir.path] = {}

  async def release(self, value, key):
    self._rows[key] = dict(value)
    value.clear()


class Failing(tff.program.ReleaseManager):
  def __init__(self, workdir):
    del workdir

  async def release(self, value, key):
    if key == 1:
      raise KeyError('no such\ncolumn')


class Leaving(Failing):
  async def release(self, value, key):
    raise SystemExit('It left.')


class Interrupting(Failing):
  async def release(self, value, key):
    if key == 1:
      raise KeyboardInterrupt


def create_nothing(workdir):
  del workdir
  return 3


def fail(workdir):
  raise OSError(f'no room in {workdir.path}')


class MetricsManagersTest(small_configs.TestCase):
  def _train(self, name):
    config = small_configs.make_config('fed_avg', rounds=2, evaluate_every=2)
    small_configs.train(
      config, self.workdir, metrics_managers=[f'{_HERE}:{name}']
    )

  def test_they_get_each_row(self):
    self._train('Collecting')
    # Of the module by its name, which is not this one where it is a script.
    released = __import__(_HERE, fromlist=['RELEASED']).RELEASED[self.workdir]
    rows = simulation.read_rows(self.workdir / 'metrics.csv')
    self.assertEqual(list(released), [row['round'] for row in rows])
    for row in rows:
      numbers = {
        name: simulation.to_number(value)
        for name, value in released[row['round']].items()
      }
      self.assertEqual({'round': row['round'], **numbers}, row)

  @parameterized.parameters(
    ('Failing', r"Failing', which has failed in round 1: KeyError: 'no such"),
    ('Leaving', r"Leaving', which has failed in round 0: SystemExit: It left"),
    ('create_nothing', 'which returns a int'),
    ('fail', "fail', which cannot be created: OSError: no room in .*w .line"),
    ('RELEASED', 'got .*dict'),
    ('Missing', "Missing', which cannot be imported"),
  )
  def test_one_sentence_says_what_is_wrong(self, name, message):
    with self.assertRaisesRegex(errors.InputError, message) as caught:
      self._train(name)
    self.assertNotIn('\n', str(caught.exception))
    # What is wrong from the beginning on leaves no folder behind.
    if name in ('RELEASED', 'Missing'):
      self.assertFalse(self.workdir.exists())

  def test_an_interrupt_of_theirs_is_one_of_the_run(self):
    with self.assertRaisesRegex(KeyboardInterrupt, 'checkpoint .* round 0'):
      self._train('Interrupting')

  def test_ours_says_itself_what_it_lacks(self):
    managers = metrics_managers.load(['wandb'])
    self.assertEqual(managers, {'wandb': simulation.WandbManager})
    with (
      mock.patch.dict('sys.modules', {'wandb': None}),
      self.assertRaisesRegex(errors.InputError, '^wandb cannot be imported'),
    ):
      metrics_managers.NamedManager(
        'wandb', managers['wandb'], simulation.Workdir(self.workdir)
      )

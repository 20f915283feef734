# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Damages files of workdirs, and reads, evaluates and resumes what is left."""

import collections
import shutil

from fedfish_tff import errors
from fedfish_tff.execution import contexts
from launch.methods import config_checks
from launch.results import run_reader
from launch.runs import evaluation_run
from launch.runs import experiment as experiment_lib
from launch.runs import trained_run
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

_DAMAGES = ('flipped', 'cut', 'zeros', 'doubled', 'removed', 'exchanged')


def _configs():
  return {
    'client states': small_configs.make_client_states_config(
      rounds=6, evaluate_every=2
    ),
    'fine-tuning': small_configs.make_config(
      'fed_avg,fine_tuning=ft_lp,start=fed3r'
    ),
  }


def _damage(path, kind, rng, others):
  """Damages a file; `others` are those it may be exchanged with."""
  content = bytearray(path.read_bytes())
  if kind == 'flipped':
    bit = int(rng.integers(8 * len(content)))
    content[bit // 8] ^= 1 << bit % 8
  elif kind == 'cut':
    del content[int(rng.integers(len(content))) :]
  elif kind == 'zeros':
    start = int(rng.integers(len(content)))
    content[start : start + 512] = bytes(len(content[start : start + 512]))
  elif kind == 'doubled':
    lines = bytes(content).splitlines(keepends=True)
    lines.insert(int(rng.integers(len(lines))), lines[-1])
    content = b''.join(lines)
  elif kind == 'exchanged':
    other = others[int(rng.integers(len(others)))]
    content = other.read_bytes()
  if kind == 'removed':
    path.unlink()
  else:
    path.write_bytes(content)


def _without_times(columns):
  return {
    name: values
    for name, values in columns.items()
    if not name.startswith('time/') and 'seconds' not in name
  }


class DamageTest(small_configs.TestCase):
  def setUp(self):
    super().setUp()
    contexts.set_default_context()

  def _read(self, workdir):
    """Returns the contents of plots and tables."""
    run = run_reader.read_run(workdir)
    about = _without_times(run.about)
    # Where it is.
    del about['workdir'], about['run']
    return (
      {name: str(value) for name, value in about.items()},
      _without_times(run.rounds.to_dict('list')),
      run.clients.to_dict(),
    )

  def _load(self, workdir):
    """Returns the scores of launch.evaluate."""
    with trained_run.open_run(workdir) as (experiment, folder):
      result = trained_run.load_result(experiment, folder)
      return result.round_number, [
        np.asarray(leaf).tobytes() for leaf in tf.nest.flatten(result.state)
      ]

  def _train(self, config, workdir):
    task = experiment_lib.create_task(config_checks.read(config))
    small_configs.train_task(config, task, workdir)

  def _resume(self, config):
    def resume(workdir):
      self._train(config, workdir)
      return self._read(workdir)

    return resume

  def _count(self, kind, num_trials):
    """Returns how trials end, by file: right, refused or silently wrong."""
    config = _configs()[kind]
    whole = self.folder / 'whole'
    self._train(config, whole)
    evaluation_run.evaluate(whole)
    # To exchange files with: another seed's.
    other = self.folder / 'other'
    self._train(config | {'seed': 1}, other)
    evaluation_run.evaluate(other)
    uses = {
      'read': self._read,
      'load': self._load,
      'resume': self._resume(config),
    }
    expected = {name: repr(use(whole)) for name, use in uses.items()}
    names = [
      path.relative_to(whole)
      for path in sorted(whole.rglob('*'))
      if path.is_file()
      and path.stat().st_size
      and path.relative_to(whole).parts[0] not in ('plots', 'tensorboard')
    ]
    rng = np.random.default_rng(7)
    counts = collections.defaultdict(collections.Counter)
    for _ in range(num_trials):
      name = names[rng.integers(len(names))]
      damage = _DAMAGES[rng.integers(len(_DAMAGES))]
      others = [
        path
        for path in (other / name, *(whole / n for n in names))
        if path.exists() and path.suffix == name.suffix
      ]
      for use in uses:
        workdir = self.folder / 'damaged'
        shutil.copytree(whole, workdir)
        _damage(workdir / name, damage, np.random.default_rng(rng), others)
        try:
          found = repr(uses[use](workdir))
          outcome = 'right' if found == expected[use] else 'wrong'
          if outcome == 'wrong' and damage == 'removed':
            # What is not there is not shown; training makes no evaluation.
            if use == 'read' or name.parts[0] == 'evaluation':
              outcome = 'less'
        except errors.InputError as error:
          self.assertIn(str(workdir), str(error))
          outcome = 'refused'
        counts[use][outcome] += 1
        if outcome == 'wrong':
          counts[use][f'{damage} {name}'] += 1
        shutil.rmtree(workdir)
    print(f'{kind}: ' + '; '.join(f'{u} {dict(c)}' for u, c in counts.items()))
    return counts

  def _check(self, kind, num_trials):
    counts = self._count(kind, num_trials)
    for use, counter in counts.items():
      self.assertNotIn('wrong', counter, use)
      self.assertGreater(counter['refused'], 0)
      self.assertGreater(counter['right'], 0)

  @parameterized.parameters('client states', 'fine-tuning')
  @pytest.mark.thorough
  def test_no_damage_is_silent(self, kind):
    self._check(kind, 12)

  @parameterized.parameters('client states', 'fine-tuning')
  @pytest.mark.slow
  @pytest.mark.timeout(0)
  def test_no_damage_of_a_thousand_is_silent(self, kind):
    self._check(kind, 1000)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the transfer of a workdir's model to other tasks."""

import contextlib
import functools
import io
import pathlib
import shutil
import tempfile
from unittest import mock

from fedfish_tff import datasets
from fedfish_tff import errors
from launch.configs import digits
from launch.results import run_reader
from launch.runs import experiment as experiment_lib
from launch.runs import held_out_evaluation
from launch.runs import transfer_run
from tasks import registry
from tests.evaluation import softmax_regression
from tests.launch import run_files
from tests.launch import small_configs
from tests.launch import trained_runs

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest

_TASK = {
  'name': 'c4',
  'size': 'tiny',
  'sequence_length': 32,
  'eval_sequence_length': 16,
  'num_generated_domains': 30,
}

_OWN = 'generated pages, task c4'
_OTHER = 'generated pages, task cc_news'


def _make_config(task):
  config = digits.get_config('fed_avg').to_dict()
  config.update(
    rounds=3,
    cohort_size=2,
    local_epochs=1,
    batch_size=4,
    max_examples_per_client=4,
    client_learning_rate=0.1,
    evaluate_every=3,
    checkpoint_every=3,
    task=task,
  )
  config['evaluation'].update(
    personalization_epochs=1, barrier=False, half_way_checkpoint=True
  )
  return config


def _evaluate(workdir, targets, **options):
  """Returns the paths and what is printed."""
  out = io.StringIO()
  with contextlib.redirect_stdout(out):
    paths = transfer_run.evaluate_transfer(workdir, targets, **options)
  return paths, out.getvalue()


class OwnTaskTest(small_configs.TestCase):
  def test_a_model_of_another_kind_has_its_own_task_only(self):
    workdir = trained_runs.fed_fish_on_digits().copy_to(self.workdir)
    with (
      self.assertRaisesRegex(errors.InputError, "'digits' cannot be applied"),
      # Before anything is traced.
      mock.patch.object(
        experiment_lib, 'build_experiment_of', autospec=True
      ) as build,
    ):
      _evaluate(workdir, {'c4': None})
    build.assert_not_called()
    paths, printed = _evaluate(workdir, {'digits': None})
    self.assertContainsSubset([workdir / run_reader.TRANSFER_CSV], paths)
    self.assertIn('digits: model of round 1 of 2', printed)
    scores = run_reader.read_run(workdir).transfer
    self.assertEqual(set(scores['round']), {1, 2})

  def test_real_text_has_no_made_up_target(self):
    own = registry.create_task(seed=0, **_TASK)
    create = functools.partial(transfer_run.create_target_tasks, own, seed=0)
    targets = {'c4': None, 'cc_news': None}
    self.assertEqual(list(create(targets, data_dir=None)), list(targets))
    with self.assertRaisesRegex(errors.InputError, 'cc_news=FOLDER'):
      create(targets, data_dir='d')


_SIZES = {'a': 9, 'b': 12, 'c': 3, 'd': 1, 'e': 4}
_COLUMNS = ('before', 'few_shot_25', 'after')


def _clients():
  return datasets.InMemoryClientData(
    {
      name: softmax_regression.draw_examples(size, seed)
      for seed, (name, size) in enumerate(_SIZES.items())
    }
  )


def _select(**options):
  return transfer_run.select_clients('news', _clients(), seed=0, **options)


class SelectClientsTest(absltest.TestCase):
  def test_small_clients_are_counted(self):
    data, num_too_small = _select()
    self.assertEqual(list(data.client_ids), ['a', 'b', 'e'])
    self.assertEqual(num_too_small, 2)

  def test_some_are_drawn(self):
    data, num_too_small = _select(max_clients=4)
    self.assertEqual(len(data.client_ids) + num_too_small, 4)
    again, _ = _select(max_clients=4)
    self.assertEqual(list(data.client_ids), list(again.client_ids))
    self.assertLen(_select(max_clients=5)[0].client_ids, 3)

  def test_a_target_of_small_clients_only(self):
    with self.assertRaisesRegex(
      errors.InputError, 'None of the 2 held-out clients of target news has the'
    ):
      transfer_run.select_clients('news', _clients().select(['c', 'd']), seed=0)


class TablesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    nan = float('nan')
    self._scores = held_out_evaluation.Scores(
      rows={
        client_id: {'num_unseen': 3}
        | {f'{column}/loss': value for column, value in zip(_COLUMNS, values)}
        for client_id, values in {
          'a': (1.0, 2.0, 3.0),
          'b,': (2.0, 4.0, nan),
        }.items()
      },
      totals={column: {'loss': 7.5} for column in _COLUMNS},
    )
    self._found = transfer_run.summarize(
      self._scores,
      {'loss': False},
      target='news',
      round_number=6,
      split='test',
      num_too_small=4,
    )

  def test_a_row_a_share(self):
    self.assertEqual([s.percent for s in self._found], [0, 25, 50])
    self.assertEqual([s.mean for s in self._found], [1.5, 3.0, 3.0])
    self.assertEqual([s.num_diverged for s in self._found], [0, 0, 1])
    for score in self._found:
      self.assertEqual((score.num_clients, score.num_too_small), (2, 4))
      self.assertEqual(score.all_tokens, 7.5)
      # Two clients have no interval.
      np.testing.assert_equal((score.low, score.high), (np.nan, np.nan))

  def test_csv(self):
    content = transfer_run.clients_to_csv(
      {('news', 6): self._scores}, ['loss'], split='test'
    ).decode()
    self.assertEqual(
      content.splitlines(),
      [
        'target,client_id,round,split,percent,num_unseen,loss',
        'news,a,6,test,0,3,1.0',
        'news,a,6,test,25,3,2.0',
        'news,a,6,test,50,3,3.0',
        'news,"b,",6,test,0,3,2.0',
        'news,"b,",6,test,25,3,4.0',
        'news,"b,",6,test,50,3,nan',
      ],
    )

  def test_text(self):
    # A count is no score.
    found = [*self._found, self._found[0]._replace(metric='num_tokens')]
    head, line = transfer_run.format_scores(found).splitlines()
    self.assertEqual(
      head.split(),
      ['target', 'round', 'metric', 'clients', '0', '%', '25', '%', '50', '%'],
    )
    self.assertIn('2 (4 too small)', line)
    self.assertIn('1.5, all 7.5', line)
    self.assertIn('3, all 7.5 (diverged: 1)', line)


@pytest.mark.thorough
class TransferRunTest(small_configs.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = cls.enterClassContext(tempfile.TemporaryDirectory())
    cls._trained = pathlib.Path(folder) / 'trained'
    small_configs.train(_make_config(_TASK), cls._trained)

  def setUp(self):
    super().setUp()
    shutil.copytree(self._trained, self.workdir)

  def test_synthetic_pages_of_two_tasks(self):
    paths, printed = _evaluate(self.workdir, {'c4': None, 'cc_news': None})
    metrics = ['accuracy', 'accuracy_without_oov_and_eos', 'loss', 'perplexity']
    self.assertCountEqual(
      [path.relative_to(self.workdir).as_posix() for path in paths],
      [
        run_reader.TRANSFER_CSV,
        run_reader.TRANSFER_CLIENTS_CSV,
        *(f'plots/transfer_{metric}.png' for metric in metrics),
      ],
    )
    scores = list(run_reader.read_run(self.workdir).transfer.itertuples())
    self.assertLen(scores, 2 * 2 * 3 * 5)
    self.assertEqual({score.round for score in scores}, {1, 3})
    self.assertEqual({score.percent for score in scores}, {0, 25, 50})
    own = registry.create_task(seed=0, **_TASK)
    sizes = [len(own.test.load_client(c)[0]) for c in own.test.client_ids]
    self.assertEqual({score.target for score in scores}, {_OWN, _OTHER})
    for score in scores:
      if score.target == _OWN:
        self.assertEqual(score.num_clients, sum(n >= 4 for n in sizes))
        self.assertEqual(score.num_too_small, sum(n < 4 for n in sizes))
    rows = run_files.read_table(self.workdir / run_reader.TRANSFER_CLIENTS_CSV)
    by_target = {s.target: s.num_clients for s in scores}
    self.assertLen(rows, 6 * sum(by_target.values()))
    # The halves are the same at all shares and rounds.
    tokens = {}
    for row in rows:
      key = (row['target'], row['client_id'])
      tokens.setdefault(key, set()).add((row['num_unseen'], row['num_tokens']))
    self.assertEqual({len(found) for found in tokens.values()}, {1})
    # Another model has another score.
    means = {
      (s.round, s.percent): s.mean
      for s in scores
      if (s.target, s.metric) == (_OTHER, 'loss')
    }
    self.assertLen(set(means.values()), 6)
    self.assertIn(f'{_OTHER}: model of round 1 of 3', printed)
    self.assertIn('too small)', printed)

  def test_validation_clients_and_one_round(self):
    paths, _ = _evaluate(
      self.workdir, {'c4': None}, at=('last',), split='validation'
    )
    self.assertContainsSubset(
      ['validation_transfer.csv', 'validation_transfer_loss.png'],
      [path.name for path in paths],
    )
    rows = run_files.read_table(
      self.workdir / 'evaluation' / 'validation_transfer.csv'
    )
    self.assertEqual(
      {(row['round'], row['split']) for row in rows}, {('3', 'validation')}
    )
    self.assertEmpty(run_reader.read_run(self.workdir).transfer)

  def test_without_the_checkpoint_half_way(self):
    (self.workdir / 'checkpoints' / 'program_state_1.npz').unlink()
    with self.assertRaisesRegex(
      errors.InputError, 'no checkpoint of round 1, half-way to round 3'
    ):
      _evaluate(self.workdir, {'c4': None})
    self.assertFalse((self.workdir / 'evaluation').exists())

  @parameterized.parameters(
    ({'news': None}, "task.name must be one of .* got 'news'"),
    ({'digits': None}, "applied to task 'digits': it has no option"),
    ({'cc_news': '/no/such'}, '/no/such'),
    ({'stackoverflow': '/no/such'}, '/no/such'),
  )
  def test_bad_targets(self, targets, message):
    with self.assertRaisesRegex(errors.InputError, message):
      _evaluate(self.workdir, targets)
    self.assertFalse((self.workdir / 'evaluation').exists())

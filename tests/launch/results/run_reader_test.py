# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of reading and grouping runs."""

import dataclasses
import json
import os

from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.simulation import checked_json
from launch.results import frames
from launch.results import run_reader
from tests import temporary_folders
from tests.launch.results import fake_runs

from absl.testing import parameterized
import numpy as np
import pandas as pd

_HEAD = 'client_id,round,split'
_SCORE = ','.join(run_reader.TransferScore._fields)


class ReadRunTest(temporary_folders.TestCase):
  def test_it_reads_what_a_run_wrote(self):
    workdir = fake_runs.write_workdir(
      self.folder / 'w', 'fed_fish', 3, evaluated=True
    )
    run = run_reader.read_run(workdir)
    expected = fake_runs.to_run(
      fake_runs.make_run('fed_fish', 3, evaluated=True)
    )
    for name in ('title', 'algorithm', 'task', 'seed', 'length', 'judged_by'):
      self.assertEqual(run.about[name], expected.about[name])
    pd.testing.assert_frame_equal(run.rounds, expected.rounds)
    pd.testing.assert_frame_equal(run.clients, expected.clients)

  def test_nothing_of_a_diverged_run_is_a_result(self):
    run = dataclasses.replace(
      fake_runs.make_run(),
      values={'test/global/accuracy': 0.5},
      diverged_round=fake_runs.ROUNDS[1],
    )
    (run,) = fake_runs.with_transfer([run])
    workdir = fake_runs.write_run(run, self.folder / 'w')
    fake_runs.write_clients(
      workdir, fake_runs.make_clients(), fake_runs.ROUNDS[-1]
    )
    found = run_reader.read_run(workdir)
    self.assertEqual(found.about['status'], 'diverged')
    self.assertEqual(found.about['diverged_round'], fake_runs.ROUNDS[1])
    self.assertTrue(found.about['is_finished'])
    # The last round of a run that ends early is not evaluated.
    for split in ('test', 'validation'):
      self.assertEqual(found.about[f'{split}/global/accuracy'], np.inf)
    self.assertNotEmpty(found.clients)
    self.assertFalse(np.isfinite(found.clients).any(axis=None))
    self.assertLen(found.transfer, len(run.transfer))
    self.assertFalse(np.isfinite(found.transfer['mean']).any())
    self.assertTrue(np.isfinite(found.transfer['num_diverged']).all())
    scores = found.rounds['eval/global/accuracy']
    self.assertEqual(list(np.isfinite(scores)), [True, False, False])
    self.assertEqual(list(found.rounds['round']), list(fake_runs.ROUNDS))

  def test_a_model_before_the_divergence_is_a_result(self):
    first, best, last = fake_runs.ROUNDS
    run = dataclasses.replace(
      fake_runs.make_run(),
      values={'test/global/accuracy': 0.5},
      diverged_round=last,
    )
    workdir = fake_runs.write_run(run, self.folder / 'w')
    path = workdir / 'summary.json'
    summary = json.loads(path.read_text())
    del summary['checksum']
    for model_round in (best, last):
      summary['model_round'] = model_round
      path.write_text(json.dumps(checked_json.add_checksum(summary)))
      fake_runs.write_clients(workdir, fake_runs.make_clients(), model_round)
      found = run_reader.read_run(workdir)
      is_result = model_round == best
      self.assertEqual(found.about['status'], 'diverged')
      self.assertEqual(
        found.about['test/global/accuracy'], 0.5 if is_result else np.inf
      )
      self.assertEqual(
        np.isfinite(found.clients).any(axis=None), is_result, model_round
      )
      scores = found.rounds['eval/global/accuracy']
      self.assertEqual(list(np.isfinite(scores)), [True, True, False])

  def test_runs_without_notes_keep_apart(self):
    workdirs = []
    for epochs in (2, 3):
      run = fake_runs.make_run()
      run.config['local_epochs'] = epochs
      run = dataclasses.replace(run, is_finished=False)
      workdirs.append(fake_runs.write_run(run, self.folder / str(epochs)))
      data = {'data_dir': None, 'synthetic': None}
      (workdirs[-1] / 'data.json').write_text(
        json.dumps(checked_json.add_checksum(data))
      )
    labels = list(frames.read(workdirs).groups())
    self.assertEqual(
      labels, ['fed_avg, 2 local epochs', 'fed_avg, 3 local epochs']
    )

  def test_an_evaluation_of_an_earlier_round_is_not_used(self):
    workdir = fake_runs.write_workdir(
      self.folder / 'w', evaluated=True, finished=False
    )
    with open(workdir / 'metrics.csv', 'a', encoding='utf-8') as file:
      file.write('8,0.25,0.9,0.3,800,8e6\n')
    with self.assertLogs(level='WARNING') as logs:
      run = run_reader.read_run(workdir)
    self.assertEmpty(run.clients)
    (line,) = logs.output
    self.assertRegex(line, f'{workdir}.* is of round 6, .* that of round 8')

  def test_the_best_model_may_be_the_initial_one(self):
    run = dataclasses.replace(
      fake_runs.make_run(), values={'test/global/accuracy': 0.5}
    )
    workdir = fake_runs.write_run(run, self.folder / 'w')
    (workdir / 'evaluation').mkdir()
    fake_runs.write_clients(workdir, fake_runs.make_clients(), 0)
    folder = simulation.Workdir(workdir)
    folder.write_summary(folder.read_summary() | {'model_round': 0})
    self.assertNotEmpty(run_reader.read_run(workdir).clients)

  def test_cells_without_a_finite_value_are_told_apart_and_not_drawn(self):
    workdir = fake_runs.write_workdir(self.folder / 'w', finished=False)
    # The last row is being written.
    (workdir / 'metrics.csv').write_text(
      'round,a,b\n1,0.5,\n2,,1\n3,nan,1\n4,inf,1\n5,0.25,7\n6,0.1'
    )
    found = frames.read([workdir])
    values = found.column('a')
    self.assertEqual(list(values.index), [(0, n) for n in (1, 3, 4, 5)])
    np.testing.assert_array_equal(values, [0.5, np.inf, np.inf, 0.25])
    np.testing.assert_array_equal(found.drawn('a', 'b'), [[0.25, 7]])
    # There is no column c.
    self.assertEmpty(found.column('c'))
    self.assertEmpty(found.drawn('c'))
    self.assertIsNone(frames.points(found, 'round', 'c'))

  @parameterized.parameters(
    ('metrics.csv', None, 'metrics.csv: No such file'),
    ('metrics.csv', 'loss\n1\n', "begin with 'round'"),
    ('metrics.csv', 'round,loss\n', 'no round yet'),
    ('metrics.csv', 'round,loss\n1,x\n2,1\n', 'Line 2'),
    ('config.json', None, 'is not a workdir, since there is no '),
    ('config.json', '{', 'not valid JSON'),
    ('config.json', '{"seed": 1}', 'rounds must be an integer'),
    ('evaluation/clients.csv', 'name\n', 'columns client_id,round,split'),
    ('evaluation/clients.csv', f'{_HEAD},a\nx,6,test,1,2\n', 'Line 2'),
    ('evaluation/clients.csv', f'{_HEAD},a\nx,6,test,z\n', 'Line 2'),
    ('evaluation/transfer.csv', 'a,b\n', 'columns target,round'),
    ('evaluation/transfer.csv', f'{_SCORE}\nc4,half\n', 'Line 2 .* damaged'),
  )
  def test_damaged_files_are_named(self, name, content, message):
    workdir = fake_runs.write_workdir(
      self.folder / 'w', evaluated=True, finished=False
    )
    if content is None:
      (workdir / name).unlink()
    else:
      (workdir / name).write_text(content)
    with self.assertRaisesRegex(errors.InputError, message) as caught:
      run_reader.read_run(workdir)
    self.assertIn(str(workdir / name), str(caught.exception))

  @parameterized.parameters('config.json', 'metrics.csv')
  def test_a_pipe_is_not_waited_for(self, name):
    workdir = fake_runs.write_workdir(self.folder / 'w', finished=False)
    (workdir / name).unlink(missing_ok=True)
    os.mkfifo(workdir / name)
    with self.assertRaisesRegex(errors.InputError, name):
      run_reader.read_run(workdir)


class TransferTest(temporary_folders.TestCase):
  def test_scores_and_those_without_an_interval(self):
    run = fake_runs.make_setting_run()
    scores = fake_runs.make_transfer_scores(run)
    folder = self.folder / 'w'
    fake_runs.write_run(dataclasses.replace(run, transfer=scores), folder)
    found = run_reader.read_run(folder).transfer
    self.assertEqual(tuple(found.itertuples(index=False, name=None)), scores)
    path = folder / run_reader.TRANSFER_CSV
    head, line, *_ = path.read_text().splitlines()
    cells = line.split(',')
    cells[9:11] = '', ''
    path.write_text(f'{head}\n{",".join(cells)}\n')
    (score,) = run_reader.read_run(folder).transfer.itertuples()
    self.assertTrue(np.isnan(score.low) and np.isnan(score.high))
    self.assertEqual(score.mean, scores[0].mean)


class SummaryTest(temporary_folders.TestCase):
  def test_the_test_clients_are_in_the_summary(self):
    workdir = fake_runs.write_run(
      fake_runs.make_setting_run(finished=False), self.folder / 'w'
    )
    self.assertFalse(run_reader.read_run(workdir).about['is_finished'])
    simulation.Workdir(workdir).write_summary(
      {
        'rounds': 1,
        'status': 'finished',
        'model_round': 1,
        'label': fake_runs.make_label(fake_runs.make_config('fed_fish')),
        'final': {'eval/global/mse': 0.25},
        'totals': {'local_steps': 7},
        'test': {'global/mse': 0.5, 'personalized/mse': None},
      }
    )
    about = run_reader.read_run(workdir).about
    self.assertEqual(
      {name: value for name, value in about.items() if '/' in name},
      {
        'validation/global/mse': 0.25,
        'test/global/mse': 0.5,
        # JSON has null for what has diverged.
        'test/personalized/mse': np.inf,
        'total/local_steps': 7,
      },
    )
    # That of a finished run is its own, whatever methods are called today.
    self.assertEqual(
      (about['title'], about['algorithm']), ('FedFish', 'fed_avg')
    )

  def test_a_task_named_by_its_function_has_its_own_name(self):
    run = fake_runs.make_setting_run(task='har_task:create_task')
    workdir = fake_runs.write_run(run, self.folder / 'w')
    folder = simulation.Workdir(workdir)
    summary = folder.read_summary()
    summary['label']['task'] = 'har'
    folder.write_summary(summary)
    about = run_reader.read_run(workdir).about
    self.assertEqual(about['task'], 'har')
    self.assertEqual(about['config']['task']['name'], 'har_task:create_task')

  def test_names_of_a_stranger_stand_for_nothing_else(self):
    run = fake_runs.make_setting_run()
    workdir = fake_runs.write_run(run, self.folder / 'w')
    folder = simulation.Workdir(workdir)
    summary = folder.read_summary()
    evil = {'seed': 9, 'config': 'x', 'workdir': 1}
    summary['label'] |= evil
    summary['final'] = dict.fromkeys(evil, 0.5)
    folder.write_summary(summary)
    about = run_reader.read_run(workdir).about
    self.assertEqual((about['seed'], about['workdir']), (run.seed, workdir))
    self.assertEqual(about['config']['seed'], run.seed)

  def test_a_damaged_summary_is_named(self):
    workdir = fake_runs.write_run(
      fake_runs.make_setting_run(), self.folder / 'w'
    )
    other = fake_runs.write_run(
      fake_runs.make_setting_run(seed=1), self.folder / 'other'
    )
    for content in (
      '{',
      '[]',
      '{}',
      '{"final": {}, "test": 1, "totals": {}}',
      (other / 'summary.json').read_text(),
    ):
      (workdir / 'summary.json').write_text(content)
      with self.assertRaisesRegex(errors.InputError, 'summary.json'):
        run_reader.read_run(workdir)

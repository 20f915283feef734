# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of launch.train through the binary: runs, faults and bad input."""

import gc
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from unittest import mock

from fedfish_tff.simulation import run_recorder
from launch.methods import config_checks
from launch.runs import experiment
from tests import processes
from tests import temporary_folders
from tests.launch import binary_runner
from tests.launch import run_files
from tests.launch import small_configs
from tests.launch import trained_runs

from absl.testing import parameterized
import numpy as np
import psutil
import pytest

_REPLACED = 'local_epochs is 1 instead of 16 for fed_sgd: it takes'
_CONFIGS = pathlib.Path(__file__).resolve().parents[2] / 'launch' / 'configs'
_ARRAYS = (
  f'--config={_CONFIGS / "arrays.py"}:fed_avg',
  '--config.rounds=1',
  '--config.cohort_size=4',
)


def _weights(workdir, version):
  """The bytes of all tensors of a checkpoint, read by NumPy alone."""
  folder = pathlib.Path(workdir) / 'checkpoints'
  with np.load(folder / f'program_state_{version}.npz') as arrays:
    return {
      name: array.tobytes()
      for name, array in arrays.items()
      if name != 'manifest'
    }


def _assert_same_runs(test, one, other, version):
  test.assertEqual(run_files.read_columns(one), run_files.read_columns(other))
  one, other = _weights(one, version), _weights(other, version)
  test.assertEqual(one.keys(), other.keys())
  differing = [name for name in one if one[name] != other[name]]
  # One tensor holds the seconds.
  test.assertLessEqual(len(differing), 1)
  for name in differing:
    test.assertLen(one[name], 8)


def _disk_space(path):
  """Bytes that a file or folder takes in whole pages."""
  paths = [path, *path.rglob('*')]
  return sum(4096 * -(-p.stat().st_size // 4096) for p in paths if p.is_file())


def _write_clients(folder):
  folder.mkdir()
  rng = np.random.default_rng(1)
  for index in range(8):
    arrays = {
      'x': rng.normal(size=(12, 3)).astype(np.float32),
      'y': np.arange(12) % 2,
    }
    np.savez(folder / f'client{index}.npz', **arrays)


class TrainTest(temporary_folders.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # A run that is whole, to compare with and to damage copies of.
    cls.finished = trained_runs.fed_fish_on_digits().workdir

  def setUp(self):
    super().setUp()
    self.workdir = self.folder / 'workdir'

  def _assert_refused(self, outcome, *parts):
    self.assertEqual(outcome.code, 2, outcome.stderr)
    self.assertLen(outcome.problems, 1, outcome.stderr)
    self.assertNotIn('Traceback', outcome.stderr)
    for part in parts:
      self.assertIn(str(part), outcome.stderr)

  def _copy_finished(self):
    shutil.copytree(self.finished, self.workdir)

  def _run_tiny(self, *arguments):
    return trained_runs.run_train(f'--workdir={self.workdir}', *arguments)

  def _run(self, *arguments):
    return binary_runner.run_here(
      'launch.train', f'--workdir={self.workdir}', *arguments
    )

  @pytest.mark.thorough
  def test_the_config_of_a_run_is_one_for_others(self):
    self._copy_finished()
    config = self.workdir / 'config.json'
    metrics = (self.workdir / 'metrics.csv').read_bytes()
    # It is the run's own: there is nothing left to do.
    outcome = self._run(f'--config={config}')
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertEqual((self.workdir / 'metrics.csv').read_bytes(), metrics)
    self._assert_refused(
      self._run('--config', str(config), '--config.seed=1'), 'seed (0 there'
    )
    config.write_text('{"seed": tru}')
    self._assert_refused(self._run(f'--config={config}'), 'not valid JSON')

  def test_writes_what_a_workdir_holds(self):
    outcome = trained_runs.fed_fish_on_digits().outcome
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self._copy_finished()
    self.assertEqual(outcome.stdout.count('\n'), 1)
    self.assertIn('summary.json', outcome.stdout)
    self.assertEqual(
      [line.split(':')[0] for line in outcome.problems],
      ['round 0/2', 'round 1/2', 'round 2/2'],
    )
    self.assertContainsSubset(
      ['config.json', 'metrics.csv', 'summary.json', 'plots', 'tensorboard'],
      os.listdir(self.workdir),
    )
    rows = run_files.read_columns(self.workdir)
    self.assertEqual([row['round'] for row in rows], ['0', '1', '2'])
    for name in (
      'train/loss',
      'train/num_examples',
      'train/excluded_clients',
      'eval/global/accuracy',
      'eval/personalized/accuracy',
      'csb/accuracy',
      'csb/accuracy_by_examples',
      'communication/wire_bytes',
      'communication/wire_bytes_total',
      'compute/local_steps',
      'compute/local_steps_total',
      'aggregator/zero_denominator_share',
    ):
      self.assertTrue(rows[2][name], name)
    self.assertEqual(next(iter(rows[0])), 'round')
    config = json.loads((self.workdir / 'config.json').read_text())
    self.assertEqual(config['task']['hidden_units'], [8])
    with small_configs.built_once():
      built = experiment.build_experiment(config_checks.read(config))
    for row in rows[1:]:
      sizes = [
        len(built.task.train.load_client(client_id)[1])
        for client_id in built.participation(int(row['round']))
      ]
      self.assertLen(sizes, trained_runs.COHORT_SIZE)
      # One epoch and the Fisher pass.
      steps = 2 * sum(math.ceil(n / config['batch_size']) for n in sizes)
      self.assertEqual(row['compute/local_steps'], str(steps))
      self.assertEqual(row['train/num_examples'], str(sum(sizes)))
    summary = json.loads((self.workdir / 'summary.json').read_text())
    self.assertEqual(summary['rounds'], 2)
    self.assertEqual(
      str(summary['totals']['local_steps']),
      rows[2]['compute/local_steps_total'],
    )
    self.assertEqual(summary['totals']['excluded_clients'], 0)
    # Clients that send all of their weights choose nothing.
    self.assertNotIn('payload_bytes', summary['totals'])
    self.assertEqual(
      summary['final']['eval/global/accuracy'],
      float(rows[2]['eval/global/accuracy']),
    )
    # Test clients are others than those of validation.
    self.assertNotEqual(
      summary['test']['global/accuracy'],
      summary['final']['eval/global/accuracy'],
    )
    best = max(rows, key=lambda row: float(row['eval/global/accuracy']))
    self.assertEqual(str(summary['best_validation']['round']), best['round'])
    self.assertNotEmpty(list((self.workdir / 'plots').glob('*.png')))
    self.assertNotEmpty(list((self.workdir / 'tensorboard').iterdir()))

  @pytest.mark.thorough
  def test_a_damaged_checkpoint_is_passed_over_and_said_so(self):
    self._copy_finished()
    path = self.workdir / 'checkpoints' / 'program_state_2.npz'
    path.write_bytes(path.read_bytes()[:-100])
    outcome = self._run_tiny()
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertIn('program_state_2.npz is damaged', outcome.stderr)
    self.assertIn('resumed after round 1', outcome.stderr)
    _assert_same_runs(self, self.finished, self.workdir, 2)

  def test_refuses_a_workdir_whose_checkpoints_are_all_damaged(self):
    self._copy_finished()
    for path in self.workdir.rglob('program_state_*'):
      path.write_bytes(b'')
    self._assert_refused_quietly(self._run_tiny(), 'No checkpoint in')

  def _assert_refused_quietly(self, outcome, part):
    """As _assert_refused, after warnings that name the files."""
    self.assertEqual(outcome.code, 2, outcome.stderr)
    self.assertIn(part, outcome.stderr.splitlines()[-1])
    self.assertNotIn('Traceback', outcome.stderr)

  def test_a_workdir_of_another_config(self):
    self._copy_finished()
    before = run_files.read_columns(self.workdir)
    self._assert_refused(
      self._run_tiny('--config.seed=1', '--config.algorithm.damping=0.5'),
      self.workdir,
      'seed (0 there, 1 asked for)',
      'algorithm.damping (0.0 there, 0.5 asked for)',
    )
    self.assertEqual(run_files.read_columns(self.workdir), before)
    outcome = self._run_tiny('--config.rounds=1', '--overwrite')
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertEqual(run_files.read_columns(self.workdir), before[:2])

  @parameterized.parameters(
    ('--config.algorithm.dampin=1', 'Did you mean damping?'),
    ('--data_dir=/tmp', 'reads no files'),
    ('--workdir=', '--config and --workdir are needed'),
    ('--workdir=/proc/nothing', 'Cannot write /proc/nothing'),
    (f'--workdir={__file__}/w', f'Cannot write {__file__}/w: Not a directory'),
  )
  def test_bad_input(self, argument, message):
    self._assert_refused(self._run_tiny(argument), message)
    self.assertFalse(self.workdir.exists())

  @pytest.mark.thorough
  def test_sums_without_a_solution(self):
    """Fewer examples than features, and nothing that regularises."""
    self._assert_refused_quietly(
      self._run(
        f'--config={_CONFIGS / "fed3r_digits.py"}:fed3r',
        '--config.algorithm.regularization=0.0',
        '--config.cohort_size=1',
        '--config.rounds=1',
        '--config.task.hidden_units=(300,)',
      ),
      'the sums of the features have no ridge solution',
    )

  @pytest.mark.thorough
  def test_trains_on_a_folder_of_arrays(self):
    data_dir = self.folder / 'data'
    _write_clients(data_dir)
    outcome = self._run(*_ARRAYS, f'--data_dir={data_dir}')
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertIn('train/accuracy', run_files.read_columns(self.workdir)[1])
    # The finished run knows its data, wherever they are.
    before = {p: p.read_bytes() for p in self.workdir.glob('*.*')}
    other_dir = self.folder / 'other'
    shutil.copytree(data_dir, other_dir)
    moved = self._run(*_ARRAYS, f'--data_dir={other_dir}')
    self.assertEqual(moved.code, 0, moved.stderr)
    with np.load(other_dir / 'client0.npz') as arrays:
      x, y = arrays['x'], arrays['y']
    np.savez(other_dir / 'client0.npz', x=-x, y=y)
    self._assert_refused(
      self._run(*_ARRAYS, f'--data_dir={other_dir}'),
      self.workdir,
      'data_fingerprint of',
      'another --data_dir?',
    )
    for name in ('config.json', 'data_fingerprint.json', 'metrics.csv'):
      path = self.workdir / name
      self.assertEqual(path.read_bytes(), before[path])

  @pytest.mark.thorough
  def test_a_full_disk_keeps_the_checkpoints(self):
    self.workdir.mkdir()
    # Room for one checkpoint, and for what is beside it while metrics.csv is
    # written anew; of the next checkpoint, a part.
    checkpoint = _disk_space(
      self.finished / 'checkpoints' / 'program_state_1.npz'
    )
    beside = sum(
      _disk_space(self.finished / name)
      for name in (
        'config.json',
        'data_fingerprint.json',
        'data.json',
        'metrics.csv',
        'metrics.csv',
      )
    )
    beside += sum(map(_disk_space, self.finished.glob('tensorboard/*.rows')))
    size = beside + checkpoint
    if os.geteuid() or subprocess.call(
      ['mount', '-t', 'tmpfs', '-o', f'size={size}', 'tmpfs', self.workdir],
      timeout=processes.HANG_SECONDS,
    ):
      self.skipTest('A small file system can only be mounted by root.')
    self.addCleanup(
      subprocess.check_call,
      ['umount', self.workdir],
      timeout=processes.HANG_SECONDS,
    )
    # TensorFlow closes the file of a writer that is garbage.
    self.addCleanup(gc.collect)
    outcome = self._run_tiny()
    self.assertEqual(outcome.code, 2, outcome.stderr)
    last = outcome.stderr.splitlines()[-1]
    self.assertRegex(last, f'Cannot write {self.workdir}.*No space left')
    self.assertNotIn('Traceback', outcome.stderr)
    subprocess.check_call(
      ['mount', '-o', 'remount,size=10m', 'tmpfs', self.workdir],
      timeout=processes.HANG_SECONDS,
    )
    outcome = self._run_tiny()
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertIn('resumed after round 1', outcome.stderr)
    _assert_same_runs(self, self.finished, self.workdir, 2)


class KillTest(temporary_folders.TestCase):
  """Real processes: `python -m launch.train`, killed and resumed."""

  # Clients and a server optimizer that have states, and little else to trace.
  _VARIANT = 'fed_per,server=adam'
  # So many rounds that a process is stopped before them, however busy the
  # machine is.
  _ROUNDS = 300
  _FLAGS = (
    '--config.local_epochs=2',
    '--config.task.num_examples=30',
    '--config.evaluation.barrier=False',
    '--config.evaluation.personalization_epochs=0',
    f'--config.rounds={_ROUNDS}',
    '--config.cohort_size=1',
    '--config.evaluate_every=4',
    '--config.checkpoint_every=5',
  )

  def _arguments(self, workdir):
    return (
      f'--config={_CONFIGS / "toy_regression.py"}:{self._VARIANT}',
      *self._FLAGS,
      f'--workdir={workdir}',
    )

  def _start(self, workdir):
    with processes.interruptible_children():
      return subprocess.Popen(
        [sys.executable, '-m', 'launch.train', *self._arguments(workdir)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=binary_runner.environment(),
        # A process group of its own, to be interrupted as from a terminal.
        start_new_session=True,
      )

  def _run_here(self, workdir):
    with small_configs.built_once():
      outcome = binary_runner.run_here(
        'launch.train', *self._arguments(workdir)
      )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    return outcome

  def _assert_whole_lines(self, output):
    """Checks what a pipe has got: no bar, and nothing that failed at the end."""
    for unwanted in ('\r', '\x1b', 'Exception ignored', 'Traceback'):
      self.assertNotIn(unwanted, output)
    self.assertEndsWith(output, '\n')

  def _stop_after(self, process, workdir, round_number, signal_number):
    """Sends the signal once the round's row is there; returns stderr."""
    path = workdir / 'metrics.csv'
    give_up = time.monotonic() + processes.HANG_SECONDS
    while not path.exists() or not any(
      line.startswith(f'{round_number},')
      for line in path.read_text().splitlines()
    ):
      self.assertIsNone(process.poll(), 'It ended too early.')
      self.assertLess(time.monotonic(), give_up)
      time.sleep(0.02)
    self.assertEmpty(psutil.Process(process.pid).children(recursive=True))
    if signal_number == signal.SIGINT:
      # Ctrl-C reaches every process of the group.
      os.killpg(process.pid, signal_number)
    else:
      process.send_signal(signal_number)
    with processes.killed_if_hanging(process):
      _, stderr = process.communicate()
    # As text, a carriage return would be a line's end.
    return stderr.decode()

  @pytest.mark.thorough
  def test_a_killed_run_equals_one_never_stopped(self):
    whole, workdir = self.folder / 'whole', self.folder / 'killed'
    done = self._run_here(whole).stdout
    self.assertIn(f'Done: {self._ROUNDS} rounds', done)

    process = self._start(workdir)
    self._stop_after(process, workdir, 12, signal.SIGKILL)
    self.assertEqual(process.returncode, -signal.SIGKILL)
    self.assertFalse((workdir / 'summary.json').exists())
    # As if it had been killed in the middle of a row.
    with open(workdir / 'metrics.csv', 'ab') as file:
      file.write(b'299,0.1')

    process = self._start(workdir)
    stderr = self._stop_after(process, workdir, 22, signal.SIGINT)
    self.assertEqual(process.returncode, 130, stderr)
    self.assertRegex(stderr, r'resumed after round \d+\n')
    last = stderr.splitlines()[-1]
    self.assertRegex(last, r'checkpoint is that of round \d+\. The same comm')
    self._assert_whole_lines(stderr)

    self._run_here(workdir)
    _assert_same_runs(self, whole, workdir, self._ROUNDS)

  @pytest.mark.thorough
  def test_a_pipe_gets_whole_lines(self):
    workdir = self.folder / 'run'
    # The second run is refused.
    for rounds, code in ((30, 0), (29, 2)):
      result = subprocess.run(
        [sys.executable, '-m', 'launch.train', *self._arguments(workdir)]
        + [f'--config.rounds={rounds}'],
        capture_output=True,
        env=binary_runner.environment(),
        timeout=processes.HANG_SECONDS,
      )
      self.assertEqual(result.returncode, code, result.stderr)
      self._assert_whole_lines(result.stderr.decode())
      self.assertEqual(bool(result.stdout), not code)

  def test_sigterm_saves_the_last_round(self):
    workdir = self.folder / 'run'
    # Without a handler of the binary's, the tests would not survive it.
    self.addCleanup(
      signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, print)
    )
    release = run_recorder.RunRecorder.release

    def release_and_raise(recorder, round_number, row):
      release(recorder, round_number, row)
      if round_number == 3:
        signal.raise_signal(signal.SIGTERM)

    with (
      mock.patch.object(run_recorder.RunRecorder, 'release', release_and_raise),
      small_configs.built_once(),
    ):
      outcome = binary_runner.run_here(
        'launch.train', *self._arguments(workdir)
      )
    self.assertEqual(outcome.code, 130, outcome.stderr)
    # Not the third, whose row was not yet behind it.
    self.assertEqual(
      [path.name for path in (workdir / 'checkpoints').iterdir()],
      ['program_state_2.npz'],
    )

  def test_lists_configs_and_variants(self):
    outcome = binary_runner.run_here('launch.train', '--list')
    self.assertEqual(outcome.code, 0)
    self.assertRegex(outcome.stdout, r'(?m)^  digits +Handwritten digits')
    self.assertNotRegex(outcome.stdout, r'(?m)^  sweeps ')
    self.assertRegex(outcome.stdout, r'(?m)^Variants: .*fed_avg.*damped')

  def test_a_printed_config_is_one_for_a_run(self):
    file = self.folder / 'mine.json'
    printed = []
    for source in ('digits:fed_fish,exchange=partial', file):
      outcome = binary_runner.run_here(
        'launch.train',
        f'--config={source}',
        '--config.cohort_size=3',
        '--print_config',
      )
      self.assertEqual(outcome.code, 0, outcome.stderr)
      printed.append(json.loads(outcome.stdout))
      file.write_text(outcome.stdout)
    self.assertEqual(printed[0], printed[1])
    self.assertEqual(printed[0]['cohort_size'], 3)
    self.assertIn('exchange', printed[0])

  def test_tells_what_rules_replace(self):
    outcome = binary_runner.run_here(
      'launch.train', '--config=digits:fed_sgd', '--print_config'
    )
    self.assertIn(_REPLACED, outcome.stderr)

  def test_a_dry_run_prints_a_plan_and_writes_nothing(self):
    workdir = self.folder / 'run'
    outcome = binary_runner.run_here(
      'launch.train',
      '--config=digits:fed_sgd',
      f'--workdir={workdir}',
      '--config.rounds=300',
      '--config.evaluate_every=4',
      '--dry_run',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertRegex(outcome.stdout, r'(?m)^rounds +300; evaluated every 4 ')
    self.assertIn(_REPLACED, outcome.stdout)
    self.assertFalse(workdir.exists())

  def test_tells_its_version(self):
    outcome = binary_runner.run_here('launch.train', '--version')
    self.assertRegex(outcome.stdout, r'^FedFish-TFF \d+\.\d+\.\d+\n$')

  @parameterized.parameters(
    ('digits:fed_agv', 'fed_avg'),
    ('digit:fed_avg', 'digits'),
    ('digits:fed_avg,servr=adam', 'server'),
    ('digits:fed_avg,server=adan', 'adam'),
  )
  def test_a_misspelt_name_is_guessed(self, source, meant):
    outcome = binary_runner.run_here(
      'launch.train', f'--config={source}', '--workdir=unused'
    )
    self.assertEqual(outcome.code, 2)
    self.assertIn(f'Did you mean {meant}?', outcome.problems[0])

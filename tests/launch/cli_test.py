# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of how binaries start and end, in processes of their own."""

import ast
import logging as standard_logging
import pathlib
import re
import subprocess
import sys
import tempfile
from unittest import mock

from launch import installed
from tests import processes
from tests import repository
from tests.launch import binary_runner

from absl.testing import parameterized
import pytest
import tensorflow as tf

_PROGRAM = r'''
"""A binary for a test.

  Example: --config=path
"""
import errno
import os
import signal
import sys
from absl import flags
from absl import logging
from fedfish_tff import errors
from launch import cli
from launch import json_config

_CONFIG = json_config.define_flag('The config.')
_FAULT = flags.DEFINE_string('fault', '', 'What to raise.')
_SIGNAL = flags.DEFINE_string('signal', '', 'What to send to itself.')
_IGNORED = flags.DEFINE_bool('ignored', False, 'Whether it is ignored.')

_FAULTS = {
  'input': errors.InputError('Client c\nis bad.'),
  'interrupt': KeyboardInterrupt(),
  'interrupt, told': KeyboardInterrupt('Saved.'),
  'full': OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), '/a/b'),
  'read-only': OSError(errno.EROFS, os.strerror(errno.EROFS)),
  'files': OSError(errno.EMFILE, os.strerror(errno.EMFILE)),
  'memory': MemoryError('Unable to allocate 8 TiB'),
  'check': RuntimeError(
    'Graph execution error: node x\n2 root error(s) found.\n'
    'assertion failed: [There is no] [model yet.]\n\t [[{{node x}}]]'),
  'label': RuntimeError(
    'Received a label value of 12 which is outside the valid range of [0, 10).'
  ),
  'missing': FileNotFoundError(errno.ENOENT, 'No such file', '/a/b'),
  'defect': ZeroDivisionError('a defect'),
}

def main(argv):
  cli.check_no_arguments(argv)
  if _FAULT.value:
    raise _FAULTS[_FAULT.value]
  if _SIGNAL.value:
    signal.raise_signal(signal.Signals[_SIGNAL.value])
  logging.info('not for users')
  logging.warning('for users')
  print(_CONFIG.value.to_dict() if _CONFIG.value else 'no config')

if __name__ == '__main__':
  if '--ignored' in sys.argv:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
  cli.run(main)
'''

_PRINTING_PROGRAM = r"""
import sys
import pathlib
from absl import logging
from launch import cli
import tqdm

def main(argv):
  read = sys.stdin.readline()
  print('0.5 \u00b1 0.1 \x1b[31m\u2026', read, end='')
  logging.warning('a warning of \x1b[31m')
  for _ in tqdm.tqdm(range(2), desc='bar'):
    pass
  pathlib.Path(argv[1]).write_text('the work is done')
  print('done')

cli.run(main)
"""

_CONFIG = """

import ml_collections

def get_config(variant='a'):
  if variant != 'a':
    raise ValueError(f'there is no variant {variant!r}')
  return ml_collections.ConfigDict({
    'seed': 1, 'rate': 0.5, 'task': {'name': 'x', 'sizes': (1, 2)}})
"""


_DIGITS = '--config=launch/configs/digits.py:fed_avg'
_GROUPED = '--format=c4 --input=a --output_dir=d'
_PARTITION = '--dataset=mnist --output_dir=d'
_SWEEP = '--config=launch/configs/digits.py:seeds --sweep_dir=/nowhere'
_TUNED = (
  '--config=digits --sweep_dir=/nowhere --methods=fed_avg --tune=rounds:1,2'
)
# By binary, flags and the message that refuses them.
_BAD_FLAGS = {
  'compile': {
    '': '--config is needed',
    f'{_DIGITS} --platform=cuda': '--platform=cuda',
    f'{_DIGITS} --platfrom=cpu': 'platfrom',
    f'{_DIGITS} x': "Unexpected argument 'x'",
    f'{_DIGITS} --config.batch_size=0': 'batch_size',
  },
  'demo': {'x': "Unexpected argument 'x'"},
  'evaluate': {
    '': '--workdir is needed',
    '--workdir=w --split=train': '--split=train',
    '--workdir=w x': "Unexpected argument 'x'",
    '--workdir=w --at=half,last': '--at=half,last is for',
    '--workdir=w --max_clients=3': '--max_clients is for',
    '--workdir=w --targets=c4 --export': '--export is for',
    '--workdir=w --targets=c4=': "got 'c4='",
    '--workdir=w --targets==a': 'NAME or NAME=FOLDER, such',
    '--workdir=w --targets=c4,c4=a': 'got c4 twice',
    '--workdir=w --targets=': '--targets must name one',
    '--workdir=w --targets=c4 --at=first': 'half,last,best, got first',
    '--workdir=/no/such/workdir': 'There is no workdir /no/such/workdir',
  },
  'group_dataset': {
    '--input=a --output_dir=d': '--format is needed',
    '--format=c4 --output_dir=d': '--input is needed',
    '--format=c4 --input=a': '--output_dir is needed',
    '--format=c5': 'c5',
    f'{_GROUPED} --key=': '--key must be',
    '--min_examples=few': "--min_examples must be an integer, got 'few'",
    f'{_GROUPED} --split=train': '--split does not belong to --format=c4',
    f'{_GROUPED} --nodownload': '--download does not belong to --format=c4',
    f'{_GROUPED} --keep_www --key=domain': '--keep_www does not belong to',
    'stray --format=c4': "Unexpected argument 'stray'",
    '--format c4 --input a --output_dir d --runner No': '--runner=No cannot be',
    f'{_GROUPED} --min_example=2': "has a flag '--min_example=2'",
  },
  'new': {
    '': 'must be the only argument',
    'a b': 'must be the only argument',
    'not-a-package': "Python package, got 'not-a-package'",
    'class': "Python package, got 'class'",
    'json': "no other package, got 'json'",
    'tasks': 'must be a new folder, since nothing is overwritten',
    '~no_such_user/x': 'there is no user no_such_user',
  },
  'partition_dataset': {
    '--output_dir=d': '--dataset is needed',
    '--dataset=mnist': '--output_dir is needed',
    f'{_PARTITION} --alpha=1': 'needs --num_clients',
    f'{_PARTITION} --num_clients=1': '--partition=dirichlet needs --alpha',
    f'{_PARTITION} --partition=key': '--partition=key needs --key',
    f'{_PARTITION} --partition=pachinko --num_clients=1': 'needs --coarse_lab',
    f'{_PARTITION} --num_clients=1 --alpha=1 --beta=1': '; --num_clients, ',
    f'{_PARTITION} --partition=key --key=a --seed=1': '--seed does not belong',
    f'{_PARTITION} --partition=shards --num_clients=1 --key=a': '--key does',
  },
  'sweep': {
    '': '--config and --sweep_dir are needed',
    f'{_SWEEP} --config.sed=1': 'Did you mean seed',
    f'{_SWEEP} --sed=1': "flag 'sed'",
    f'{_SWEEP} seed': "Unexpected argument 'seed'",
    f'{_SWEEP} --num_processes=0': '=0 is neither auto nor a positive number',
    f'{_SWEEP} --ray_address=localhost:6379': '--ray_address is for --on=ray',
    f'{_TUNED} --tuned_by=other': 'and runs that tune both choose values',
    f'{_SWEEP} --tuned_metric=loss': 'rates of --tuned_by or --tune, which is',
    '--config=digits --sweep_dir=/nowhere --seeds=2': 'named by --methods, or',
  },
  'plot': {'--format=gif': '--format=gif'},
  'train_tokenizer': {
    '': '--input is needed',
    '--input=i --kind=morse': 'word_piece',
  },
}


class CliTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
    cls.program, cls.config = folder / 'prog.py', folder / 'config.py'
    cls.program.write_text(_PROGRAM.lstrip())
    cls.config.write_text(_CONFIG)
    with (
      mock.patch.object(sys, 'path', [str(folder), *sys.path]),
      processes.interruptible_children(),
    ):
      runner = binary_runner.BinaryRunner('prog')
    cls.addClassCleanup(runner.close)
    cls._run = staticmethod(runner.run)

  def _start(self, *arguments):
    return subprocess.run(
      [sys.executable, str(self.program), *arguments],
      capture_output=True,
      env=binary_runner.environment(),
      text=True,
      timeout=processes.HANG_SECONDS,
    )

  def _assert_fails(self, outcome, code, line):
    self.assertEqual(outcome.stderr, f'prog.py: {line}\n')
    self.assertEqual(outcome.code, code)
    self.assertEmpty(outcome.stdout)

  def test_help_is_the_docstring_with_the_flags(self):
    for argument in ('--help', '-h', '--helpshort'):
      outcome = self._start(argument, '--nothing')
      self.assertEqual(outcome.returncode, 0)
      self.assertIn('Example: --config=path', outcome.stdout)
      self.assertIn('--fault: What to raise.', outcome.stdout)
      self.assertEmpty(outcome.stderr)

  def test_parses_overrides(self):
    outcome = self._run(
      f'--config={self.config}', '--config.seed=2', '--config.task.sizes=3,4'
    )
    self.assertEqual(
      ast.literal_eval(outcome.stdout),
      {'seed': 2, 'rate': 0.5, 'task': {'name': 'x', 'sizes': (3, 4)}},
    )
    again = self._run('--config', str(self.config), '--config.seed=2')
    self.assertEqual(ast.literal_eval(again.stdout)['seed'], 2)
    self.assertIn('for users', outcome.stderr)
    self.assertNotIn('not for users', outcome.stderr)
    self.assertIn('not for users', self._run('--verbosity=0').stderr)

  @parameterized.parameters(
    ('input', 2, 'Client c is bad.'),
    ('interrupt', 130, 'Interrupted.'),
    ('interrupt, told', 130, 'Saved.'),
    ('full', 2, 'Cannot read or write /a/b: No space left on device.'),
    ('read-only', 2, 'Cannot read or write: Read-only file system.'),
    ('files', 2, 'Cannot read or write: Too many open files.'),
    ('memory', 2, 'There is not enough memory: Unable to allocate 8 TiB.'),
    ('check', 2, 'There is no model yet.'),
    ('label', 2, 'Labels must be from 0 to 9, got 12.'),
  )
  def test_faults_of_main(self, fault, code, line):
    self._assert_fails(self._run(f'--fault={fault}'), code, line)

  def test_very_long_values_are_shortened(self):
    value = 10**5 * 'x'
    outcome = self._run(value)
    self.assertRegex(
      outcome.stderr,
      r"^prog.py: Unexpected argument 'x+ \[98,\d+ characters\] x+'; flags "
      r'begin with --\.\n$',
    )
    self.assertLess(len(outcome.stderr), 2100)

  @parameterized.parameters(
    *('SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGXCPU')
  )
  def test_signals_interrupt(self, name):
    self._assert_fails(self._run(f'--signal={name}'), 130, 'Interrupted.')

  def test_what_nohup_ignores_stays_ignored(self):
    outcome = self._start('--signal=SIGHUP', '--ignored')
    self.assertEqual(outcome.stdout, 'no config\n')
    self.assertEqual(outcome.returncode, 0)

  @parameterized.parameters('missing', 'defect')
  def test_defects_keep_their_traceback(self, fault):
    outcome = self._run(f'--fault={fault}')
    self.assertEqual(outcome.code, 1)
    self.assertIn('Traceback', outcome.stderr)

  @parameterized.parameters(
    (
      ('--config.sed=1',),
      'The config has no field sed; there are rate, seed, task. Did you '
      'mean seed?',
    ),
    (
      ('--config.task.zzz=1',),
      'The config has no field task.zzz; there are name, sizes.',
    ),
    (
      ('--config.seed.zzz=1',),
      'The config has no field seed.zzz; there are none.',
    ),
    (
      ('--config.sizes=1',),
      'The config has no field sizes; there are rate, seed, task. Did you mean '
      'task.sizes?',
    ),
    (
      ('--config.task.na-me=1',),
      'The config has no field task.na-me; there are name, sizes. Did you mean '
      'name?',
    ),
    (
      ('--config.=1',),
      "The config has no field ''; there are rate, seed, task.",
    ),
    (
      ('--noconfig..seed=1',),
      "The config has no field ''; there are rate, seed, task.",
    ),
    (('x',), "Unexpected argument 'x'; flags begin with --."),
  )
  def test_wrong_arguments(self, arguments, line):
    outcome = self._run(f'--config={self.config}', *arguments)
    self._assert_fails(outcome, 2, line)

  @parameterized.parameters(
    ('--nothing', 'nothing'),
    ('--config.seed=x', "--config.seed must be an integer, got 'x'."),
    ('--config.seed=1.5', "--config.seed must be an integer, got '1.5'."),
    ('--config.rate=a: b', "--config.rate must be a number, got 'a: b'."),
    ('--config.task=1', "--config.task must be a block of fields, got '1'."),
    ('--ignored=maybe', "--ignored must be true or false, got 'maybe'."),
    ('--fault', 'Missing value'),
  )
  def test_messages_of_absl_in_one_line(self, argument, part):
    outcome = self._run(f'--config={self.config}', argument)
    self.assertEqual(outcome.code, 2)
    self.assertEqual(outcome.stderr.count('\n'), 1)
    self.assertIn(part, outcome.stderr)

  def test_config_files(self):
    outcome = self._run(f'--config={self.config}:b')
    self._assert_fails(
      outcome, 2, f"--config={self.config}:b: there is no variant 'b'."
    )
    for path, found in (
      ('/missing.py', 'none'),
      (self.create_tempdir('folder.py').full_path, 'a folder'),
    ):
      for more in ((), ('--config.seed=1',)):
        self._assert_fails(
          self._run(f'--config={path}', *more),
          2,
          f'--config must name a file, got {found} at {path}.',
        )

  @parameterized.parameters(
    ('x = 1', 'must have a function get_config, got none; see launch/'),
    (
      '\nx = y',
      "cannot be loaded: line 2: NameError: name 'y' is not defined.",
    ),
    ('def get_config():\n  return 5', 'must return an .*ConfigDict, got 5.'),
    ('def get_config(): pass', 'must return an .*ConfigDict, got None.'),
    (
      'def get_config():\n  return {}["a"]',
      "get_config fails: line 2: KeyError: 'a'.",
    ),
  )
  def test_config_files_that_are_none(self, content, message):
    path = self.create_tempfile('other.py', content).full_path
    outcome = self._run(f'--config={path}', '--config.seed=1')
    self.assertRegex(outcome.stderr, f'^prog.py: .*{path}.* {message}')
    self.assertEqual(outcome.stderr.count('\n'), 1)
    self.assertEqual(outcome.code, 2)

  def test_a_sweep_is_no_variant(self):
    content = _CONFIG + '\ndef sweep(name):\n  return [name]\n'
    path = self.create_tempfile('swept.py', content).full_path
    self._assert_fails(
      self._run(f'--config={path}:seeds'),
      2,
      f"--config={path}:seeds: there is no variant 'seeds'. seeds is a sweep, for "
      'launch.sweep.',
    )

  # path_flags_test has more names.
  @parameterized.parameters('{}.json:variant', '{}.PY')
  def test_files_of_other_names_are_neither_run_nor_read(self, name):
    path = self.create_tempfile(name.format('a').partition(':')[0]).full_path
    pathlib.Path(path).write_text(_CONFIG + 'print("run")')
    source = str(pathlib.Path(path).with_name(name.format('a')))
    flag_file = self.create_tempfile('flags', f'--config={source}').full_path
    for arguments in (
      (f'--config={source}',),
      ('-config', source),
      (f'--flagfile={flag_file}',),
    ):
      self._assert_fails(
        self._run(*arguments),
        2,
        'A config must be <file>.py, with :<variant> '
        'at its end or without, <file>.json, or one of '
        f'{", ".join(installed.config_names())}, got {source}.',
      )

  def test_a_flag_file_that_cannot_be_read(self):
    self._assert_fails(
      self._run('--flagfile=/no/file'),
      2,
      'ERROR:: Unable to open flagfile: [Errno 2] No such file or directory: '
      "'/no/file'",
    )
    no_text = self.create_tempfile('flags', b'\xff', mode='wb').full_path
    outcome = self._run(f'--flagfile={no_text}')
    self.assertStartsWith(
      outcome.stderr, 'prog.py: A --flagfile must be text in UTF-8: '
    )
    self.assertEqual(outcome.code, 2)

  def test_json_is_data(self):
    path = self.create_tempfile('a:b.json', '{"seed": 1}').full_path
    flag_file = self.create_tempfile('flags', f'--config={path}').full_path
    for argument in (f'--config={path}', f'--flagfile={flag_file}'):
      outcome = self._run(argument)
      self.assertEqual(outcome.stdout, "{'seed': 1}\n", outcome.stderr)
    self._assert_fails(
      self._run(f'--flagfile={flag_file}', '--config.sed=2'),
      2,
      'The config has no field sed; there are seed. Did you mean seed?',
    )
    pathlib.Path(path).write_text(_CONFIG)
    outcome = self._run(f'--config={path}')
    self.assertIn(f'{path} cannot be used: it is not', outcome.stderr)
    self.assertEqual(outcome.code, 2)

  def test_a_config_that_is_no_python(self):
    path = self.create_tempfile('wrong.py', 'x = 1\nx = (').full_path
    self._assert_fails(
      self._run(f'--config={path}'),
      2,
      f"The config file {path} is not valid Python: line 2: '(' was never "
      'closed.',
    )

  def test_traces_of_many_models_are_no_warning(self):
    traced = tf.function(lambda number: number)
    logger = standard_logging.getLogger('tensorflow')
    with self.assertLogs(logger) as logs:
      for number in range(9):
        traced(number)
      logger.warning('Another one.')
    self.assertLen(logs.records, 1)

  def test_ctrl_c_while_modules_are_imported(self):
    # A module that Python finds in the place of one that the binary imports.
    folder = self.create_tempdir().full_path
    pathlib.Path(folder, 'absl').mkdir()
    pathlib.Path(folder, 'absl', '__init__.py').write_text(
      'import signal\nsignal.raise_signal(signal.SIGINT)\n'
    )
    environment = binary_runner.environment()
    environment['PYTHONPATH'] = f'{folder}:{environment["PYTHONPATH"]}'
    with processes.interruptible_children():
      outcome = subprocess.run(
        [sys.executable, '-m', 'launch.new', 'x'],
        capture_output=True,
        env=environment,
        text=True,
        timeout=processes.HANG_SECONDS,
      )
    self.assertEqual(outcome.stderr, 'new.py: Interrupted.\n')
    self.assertEqual(outcome.returncode, 130)


class StreamsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.enter_context(tempfile.TemporaryDirectory()))
    self.program, self.work = folder / 'program.py', folder / 'work'
    self.program.write_text(_PRINTING_PROGRAM)

  def _run(self, redirection, **variables):
    outcome = subprocess.run(
      f'echo "gr\u00fcn" | {{ {sys.executable} {self.program} {self.work} '
      f'{redirection}; }}; exit ${{PIPESTATUS[1]}}',
      shell=True,
      executable='/bin/bash',
      capture_output=True,
      env={**binary_runner.environment(), **variables},
      encoding='latin-1',
      timeout=processes.HANG_SECONDS,
    )
    self.assertNotIn('Traceback', outcome.stderr)
    self.assertNotIn('\x1b[31m', outcome.stdout + outcome.stderr)
    return outcome

  def test_what_cannot_be_printed_is_escaped(self):
    outcome = self._run('', PYTHONIOENCODING='latin-1')
    self.assertStartsWith(outcome.stdout, r'0.5 ± 0.1 \x1b[31m\u2026 gr')
    self.assertIn(r'a warning of \x1b[31m', outcome.stderr)
    self.assertIn('bar: 100%|####', outcome.stderr)
    self.assertEqual(outcome.returncode, 0)

  @parameterized.parameters('>&-', '2>&-', '<&- >&- 2>&-', '2>/dev/full')
  def test_the_work_is_done_without_a_stream(self, redirection):
    outcome = self._run(redirection)
    self.assertEqual(outcome.returncode, 0)
    self.assertEqual(self.work.read_text(), 'the work is done')

  def test_a_reader_of_stderr_that_leaves(self):
    outcome = self._run('2> >(true)')
    self.assertEqual(outcome.returncode, 0)
    self.assertEndsWith(outcome.stdout, 'done\n')

  def test_a_full_disk_is_told(self):
    outcome = self._run('>/dev/full')
    self.assertEqual(outcome.returncode, 2)
    self.assertIn('Cannot read or write: No space left', outcome.stderr)

  def test_a_reader_of_stdout_that_leaves(self):
    self._run('| true')


class BinariesTest(parameterized.TestCase):
  def test_help_of_a_binary(self):
    self._check_help('train')

  @parameterized.parameters(
    'evaluate',
    'sweep',
    'plot',
    'group_dataset',
    'partition_dataset',
    'train_tokenizer',
  )
  @pytest.mark.thorough
  def test_help_of_another_binary(self, binary):
    self._check_help(binary)

  def _check_help(self, binary):
    """Its docstring and the names of its flags, without a warning."""
    source = (repository.ROOT / 'launch' / f'{binary}.py').read_text()
    outcome = subprocess.run(
      [sys.executable, '-m', f'launch.{binary}', '--help'],
      capture_output=True,
      env=binary_runner.environment(),
      text=True,
      timeout=processes.HANG_SECONDS,
    )
    self.assertEqual((outcome.returncode, outcome.stderr), (0, ''))
    for line in ast.get_docstring(ast.parse(source)).splitlines():
      self.assertIn(line.strip(), outcome.stdout)
    flags = re.findall(r"^_\w+ = flags\.DEFINE_\w+\(\s*'(\w+)'", source, re.M)
    for flag in flags:
      self.assertRegex(outcome.stdout, rf'--(\[no\])?{flag}\b')

  @parameterized.parameters(
    (binary, text, message)
    for binary, cases in _BAD_FLAGS.items()
    for text, message in cases.items()
  )
  def test_bad_flags_get_one_line_and_exit_code_two(
    self, binary, text, message
  ):
    refused = binary_runner.run_here(f'launch.{binary}', *text.split())
    self.assertEqual((refused.code, refused.stdout), (2, ''))
    self.assertIn(message, refused.stderr)
    self.assertLen(refused.problems, 1)

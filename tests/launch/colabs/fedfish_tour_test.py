# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the notebook: it runs from start to end, without a network."""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import platform
import sys
import tempfile
from unittest import mock

from launch import cli
from tests import notebooks
from tests import temporary_folders

from absl.testing import absltest
import nbformat
import pytest

_ROOT = pathlib.Path(cli.__file__).resolve().parents[1]
_NOTEBOOK = _ROOT / 'launch' / 'colabs' / 'fedfish_tour.ipynb'


def _read() -> nbformat.NotebookNode:
  return nbformat.read(_NOTEBOOK, as_version=4)


def _code_cells() -> list[nbformat.NotebookNode]:
  return [cell for cell in _read().cells if cell.cell_type == 'code']


class FormatTest(absltest.TestCase):
  def test_it_is_valid_and_shows_what_a_run_has_shown(self):
    notebook = _read()
    nbformat.validate(notebook)
    outputs = [o for cell in _code_cells() for o in cell.outputs]
    images = [o for o in outputs if 'image/png' in o.get('data', {})]
    self.assertLen(images, 5)  # As in ExecutionTest.
    self.assertNotIn('error', [o.output_type for o in outputs])

  def test_lines_of_code_fit(self):
    for cell in _code_cells():
      for line in cell.source.splitlines():
        self.assertLessEqual(len(line), 80, line)


_VERSION = '{}.{}'.format(*sys.version_info)


class InstallCellTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self._source = _code_cells()[0].source
    # A checkout with an environment of this Python.
    self._root = self.folder / 'checkout'
    self._packages = self._root / f'.venv/lib/python{_VERSION}/site-packages'
    self._packages.mkdir(parents=True)
    (self._root / 'launch').mkdir()
    (self._root / 'launch' / 'train.py').touch()
    self.enter_context(contextlib.chdir(self.folder))

  def _run(
    self,
    *,
    found: bool,
    installed: bool = False,
    version: str = f'{_VERSION}.9',
    path=(),
    **values,
  ):
    """Runs the cell where TFF is found or not; returns what it prints."""
    real = importlib.util.find_spec
    spec = importlib.machinery.ModuleSpec('tensorflow_federated', None)

    def find_spec(name, *args):
      if name != 'tensorflow_federated':
        return real(name, *args)
      return spec if found else None

    source = self._source
    for name, value in values.items():
      source = source.replace(f"{name} = ''", f'{name} = {value!r}')
    out = io.StringIO()
    with (
      mock.patch.object(
        importlib.util, 'find_spec', autospec=True, side_effect=find_spec
      ),
      mock.patch.object(
        platform, 'python_version', autospec=True, return_value=version
      ),
      mock.patch.object(
        sys, 'version_info', tuple(map(int, version.split('.')))
      ),
      mock.patch.object(sys, 'path', list(path)),
      mock.patch('subprocess.run', autospec=True) as self._commands,
      contextlib.redirect_stdout(out),
    ):
      self._commands.return_value.returncode = 0 if installed else 1
      exec(compile(source, 'cell', 'exec'), {})
      self._path = list(sys.path)
    return out.getvalue()

  def test_where_all_is_there_it_runs_no_command(self):
    out = self._run(found=True, path=[str(self._root)])
    self.assertIn(f'FedFish-TFF in {self._root}, Python {_VERSION}.9', out)
    self._commands.assert_not_called()

  def test_without_the_repository_it_says_what_to_set(self):
    with self.assertRaisesRegex(RuntimeError, 'set REPOSITORY'):
      self._run(found=True)

  def test_it_clones_the_repository(self):
    self._run(found=True, REPOSITORY='somewhere')
    ((command,), _) = self._commands.call_args
    self.assertEqual(command[:2], ['git', 'clone'])
    self.assertEqual(
      command[3:], ['somewhere', pathlib.Path.cwd() / 'fedfish-tff']
    )
    self.assertIn(str(pathlib.Path.cwd() / 'fedfish-tff'), self._path)

  def test_another_python_is_refused(self):
    with self.assertRaisesRegex(RuntimeError, '3.11, 3.12 or 3.13, got 3.14'):
      self._run(found=False, version='3.14.0', path=[str(self._root)])
    self._commands.assert_not_called()

  def test_an_environment_of_another_python_gets_a_kernel(self):
    other = '3.11.9' if _VERSION != '3.11' else '3.12.1'
    with self.assertRaisesRegex(
      RuntimeError, 'of another Python: run .*ipyker'
    ):
      self._run(
        found=False, installed=True, version=other, path=[str(self._root)]
      )

  def test_it_installs_the_lock_beside_what_the_runtime_has(self):
    with mock.patch.dict(sys.modules):
      for name in ('numpy', 'tensorflow'):
        sys.modules.pop(name, None)
      self._run(found=False, path=[str(self._root)])
    check, install = self._commands.call_args_list
    self.assertEqual(check.args[0][1:], ['.ci/set_up.py', '--check'])
    self.assertEqual(
      install,
      mock.call(
        ['make', 'install', f'PYTHONS={_VERSION}'], cwd=self._root, check=True
      ),
    )
    self.assertEqual(self._path[0], str(self._packages))

  def test_what_is_installed_is_not_installed_again(self):
    with mock.patch.dict(sys.modules):
      for name in ('numpy', 'tensorflow'):
        sys.modules.pop(name, None)
      self._run(found=False, installed=True, path=[str(self._root)])
    self._commands.assert_called_once()
    self.assertEqual(self._path[0], str(self._packages))

  def test_what_was_imported_before_needs_a_restart(self):
    with mock.patch.dict(sys.modules, {'numpy': mock.Mock()}):
      with self.assertRaisesRegex(RuntimeError, 'its own numpy: restart'):
        self._run(found=False, path=[str(self._root)])

  def test_where_a_restart_has_not_helped_a_kernel_is_advised(self):
    with mock.patch.dict(sys.modules, {'numpy': mock.Mock()}):
      with self.assertRaisesRegex(RuntimeError, 'does not help; run .*ipyker'):
        self._run(found=False, installed=True, path=[str(self._root)])


@pytest.mark.slow
class ExecutionTest(absltest.TestCase):
  def _outputs(
    self, notebook: nbformat.NotebookNode
  ) -> list[nbformat.NotebookNode]:
    """Runs a notebook without a network; returns what its cells show."""
    # Paths of sockets are short.
    with tempfile.TemporaryDirectory(prefix='tour') as folder:
      notebook = notebooks.execute(notebook, pathlib.Path(folder))
    return [
      output
      for cell in notebook.cells
      if cell.cell_type == 'code'
      for output in cell.outputs
    ]

  def test_it_runs_from_start_to_end_without_a_network(self):
    outputs = self._outputs(_read())
    images = [
      output for output in outputs if 'image/png' in output.get('data', {})
    ]
    self.assertLen(images, 5)  # The toy, the clients, and three of curves.
    noise = [
      output.text
      for output in outputs
      if output.output_type == 'stream' and output.name == 'stderr'
    ]
    # A progress bar draws itself there; nothing complains.
    for text in noise:
      for word in ('Error', 'ERROR', 'WARNING', 'Traceback'):
        self.assertNotIn(word, text)

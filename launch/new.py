# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Starts a project of your own: a table, a model, a method, a comparison, a test.

  python -m launch.new mine

writes to the folder mine, which must be new or empty: data.csv and task.py
(clients, a Keras model and a config with a comparison), method.py (FedAvg with
one change), method_test.py, notebook.ipynb and README.md, with commands that run
at once. Edit the files freely: nothing else depends on them.
"""

from collections.abc import Sequence
import importlib.util
import json
import keyword
import pathlib
import re

from fedfish_tff import errors
from launch import cli
from launch import installed
from launch import path_flags

_EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / 'examples'
# The example that each file is copied from.
_FILES = {
  'data.csv': 'cellars.csv',
  'task.py': 'cellars.py',
  'method.py': 'clipped_fed_avg.py',
  'method_test.py': 'clipped_fed_avg_limits.py',
}
_METHOD = 'clipped_fed_avg'
_CONFTEST = '''"""Lets tests import launch and tasks beside a wheel."""

import fedfish_tff.programs  # noqa: F401
'''
# The cells of the notebook.
_CELLS = (
  """import os
import sys

# The folder that holds {name}.
os.chdir('..')
sys.path.insert(0, os.getcwd())
import fedfish_tff.programs
from launch import experiments""",
  """run = experiments.train(
  '{name}/task.py:{name}.method:METHOD', workdir='runs/notebook'
)
run.plot()""",
  """run.evaluate().filter(like='accuracy')""",
)
_README = """# {name}

Run these in the folder that holds `{name}`:

```sh
python -m launch.train --config={name}/task.py:fed_avg --workdir=runs/fed_avg
python -m launch.train --config={name}/task.py:{name}.method:METHOD --workdir=runs/mine
python -m launch.plot --workdirs=runs/fed_avg,runs/mine --output_dir=runs/plots
python -m launch.sweep --config={name}/task.py:comparison --sweep_dir=runs/comparison
python -m pytest {name}
```

- `data.csv`: a line for each example, with its client, its features and its label.
- `task.py`: `create_task` makes clients of the table and names model and metric,
  `get_config` has the numbers of a run. `sweep` compares three methods: each is tuned on
  validation clients, and eight seeds judge it on test clients.
- `method.py`: FedAvg with one change, that of `build_{name}`. `METHOD` declares its
  fields and what it supports.
- `method_test.py`: what the method must equal in limits that are known. `conftest.py`
  lets it import `launch` beside the wheel, as does the first cell of `notebook.ipynb`.
"""


def main(argv: Sequence[str]) -> None:
  """Writes the project."""
  if len(argv) != 2:
    raise errors.InputError(
      'The folder of the project must be the only argument, as in '
      '`python -m launch.new mine`.'
    )
  try:
    folder = pathlib.Path(path_flags.expand(argv[1])).absolute()
  except ValueError as error:
    raise errors.InputError(
      f'The folder cannot be {argv[1]}: {error}.'
    ) from error
  _check_name(folder.name)
  # Imported late, so that bad input is reported at once.
  from launch.data import client_folder  # pylint: disable=g-import-not-at-top

  client_folder.check_is_free(str(folder))
  _check_is_no_package(folder.name)
  with client_folder.new_folder(str(folder)) as new:
    for name, example in _FILES.items():
      source = (_EXAMPLES / example).read_text(encoding='utf-8')
      text = installed.name_commands(_rename(source, folder.name))
      (new / name).write_text(text, encoding='utf-8')
    (new / '__init__.py').write_text(f'"""The experiment {folder.name}."""\n')
    (new / 'conftest.py').write_text(_CONFTEST)
    (new / 'notebook.ipynb').write_text(_create_notebook(folder.name))
    readme = installed.name_commands(_README.format(name=folder.name))
    (new / 'README.md').write_text(readme)
  print(f'{folder}: see README.md there for the commands.')


def _check_name(name: str) -> None:
  """Raises InputError unless the folder can be a new Python package."""
  if not name.isidentifier() or keyword.iskeyword(name):
    valid = re.sub(r'\W', '_', name)
    suggestion = f' Did you mean {valid}?' if valid.isidentifier() else ''
    raise errors.InputError(
      f'The name of the folder must be one of a Python package, got {name!r}.'
      f'{suggestion}'
    )


def _check_is_no_package(name: str) -> None:
  """Raises InputError if Python finds another package of this name."""
  if importlib.util.find_spec(name) is not None:
    raise errors.InputError(
      f'The name of the folder must be that of no other package, got {name!r}, '
      'which is installed or in the working directory.'
    )


def _create_notebook(name: str) -> str:
  """Returns a notebook that trains and evaluates the project's method."""
  cells = [
    {
      'cell_type': 'code',
      'id': f'cell-{number}',
      'metadata': {},
      'execution_count': None,
      'outputs': [],
      'source': source.format(name=name),
    }
    for number, source in enumerate(_CELLS)
  ]
  kernel = {'display_name': 'Python 3', 'language': 'python', 'name': 'python3'}
  content = {
    'cells': cells,
    'metadata': {'kernelspec': kernel},
    'nbformat': 4,
    'nbformat_minor': 5,
  }
  return f'{json.dumps(content, indent=1)}\n'


def _rename(source: str, name: str) -> str:
  """Returns an example's text with the project's names, without our licence."""
  title = name.replace('_', ' ').strip().capitalize() or name
  # What follows `from` is a module, and what stands alone the method's name.
  renamed = {
    r'(# Copyright.*\n# SPDX.*\n)': '',
    r'from examples import cellars': f'from {name} import task',
    rf'from examples import {_METHOD}': f'from {name} import method',
    r'examples([./])cellars': rf'{name}\1task',
    rf'examples([./]){_METHOD}': rf'{name}\1method',
    r'cellars\.csv': 'data.csv',
    r'\bcellars\.create_task': 'task.create_task',
    r'\bcellars\b': name,
    rf'\b{_METHOD}\.': 'method.',
    rf'{_METHOD}': name,
    r'Clipped FedAvg': title,
  }
  for pattern, new in renamed.items():
    source = re.sub(pattern, new, source)
  return source


if __name__ == '__main__':
  cli.run(main)

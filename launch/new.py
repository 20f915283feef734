# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Starts a project of your own: a task, a method, a config, a sweep, a test.

  python -m launch.new mine

writes to the folder mine, which must be new or empty: task.py (clients, a model
and a config with a sweep), method.py (a method with client state),
method_test.py and README.md, with commands that run at once. Edit the files
freely: nothing else depends on them.
"""

from collections.abc import Sequence
import importlib.util
import keyword
import pathlib

from fedfish_tff import errors
from launch import cli
from launch import installed
from launch import path_flags

_EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / 'examples'
# The example that each file is copied from.
_FILES = {
  'task.py': 'wine.py',
  'method.py': 'error_feedback.py',
  'method_test.py': 'error_feedback_limits.py',
}
_README = """# {name}

Run these in the folder that holds `{name}`:

```sh
python -m launch.train --config={name}/task.py:fed_avg --workdir=runs/fed_avg
python -m launch.train --config={name}/task.py:{name}.method:METHOD --workdir=runs/mine
python -m launch.plot --workdirs=runs/fed_avg,runs/mine --output_dir=runs/plots
python -m launch.sweep --config={name}/task.py:seeds --sweep_dir=runs/seeds
python -m pytest {name}
```

- `task.py`: `create_task` divides data among clients and names model and metric,
  `get_config` has the numbers of a run, `sweep` the runs of an experiment.
- `method.py`: `METHOD` declares the method: its fields, what it supports, how it is
  built. Here clients send the largest coordinates of their updates and keep the rest.
- `method_test.py`: what the method must equal in limits that are known.
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
      (new / name).write_text(_rename(source, folder.name), encoding='utf-8')
    (new / '__init__.py').write_text('"""An experiment on FedFish-TFF."""\n')
    readme = installed.name_commands(_README.format(name=folder.name))
    (new / 'README.md').write_text(readme)
  print(f'{folder}: see README.md there for the commands.')


def _check_name(name: str) -> None:
  """Raises InputError unless the folder can be a new Python package."""
  if not name.isidentifier() or keyword.iskeyword(name):
    raise errors.InputError(
      f'The name of the folder must be one of a Python package, got {name!r}.'
    )


def _check_is_no_package(name: str) -> None:
  """Raises InputError if Python finds another package of this name."""
  if importlib.util.find_spec(name) is not None:
    raise errors.InputError(
      f'The name of the folder must be that of no other package, got {name!r}, '
      'which is installed or in the working directory.'
    )


def _rename(source: str, name: str) -> str:
  """Returns an example's source with the module names of the project."""
  for file, example in _FILES.items():
    old, new = example.removesuffix('.py'), file.removesuffix('.py')
    source = source.replace(f'examples.{old}', f'{name}.{new}')
    source = source.replace(f'examples/{old}', f'{name}/{new}')
    source = source.replace(
      f'from examples import {old}', f'from {name} import {new} as {old}'
    )
  return source


if __name__ == '__main__':
  cli.run(main)

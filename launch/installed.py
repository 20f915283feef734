# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binaries as commands of a wheel: fedfish-train for launch.train.

launch and tasks are names that others have, too, so a wheel holds these folders
inside of fedfish_tff_programs, where nobody else's import meets them. A command
is the binary, started with that folder on the path of Python modules: of its
process and of those it starts, which all import launch and tasks as in a
checkout. The standard library alone, since commands and setup.py import this.
"""

import os
import pathlib
import re
import sys
from typing import NoReturn

# The binary of each command.
COMMANDS = {
  'fedfish-compile': 'compile',
  'fedfish-demo': 'demo',
  'fedfish-evaluate': 'evaluate',
  'fedfish-group': 'group_dataset',
  'fedfish-keyboard-table': 'studies.keyboard_table',
  'fedfish-linear-representation-figure': (
    'studies.linear_representation_figure'
  ),
  'fedfish-new': 'new',
  'fedfish-partition': 'partition_dataset',
  'fedfish-plot': 'plot',
  'fedfish-predict-words': 'studies.predict_words',
  'fedfish-sweep': 'sweep',
  'fedfish-toy-figure': 'studies.toy_figure',
  'fedfish-train': 'train',
  'fedfish-train-tokenizer': 'train_tokenizer',
}
# In a wheel; beside launch in a checkout is nothing of that name.
_FOLDER = 'fedfish_tff_programs'
_ROOT = pathlib.Path(__file__).resolve().parents[1]
_BINARY = re.compile(r'(?:python -m )?(?<![\w./])launch\.([\w.]*\w)')


def main() -> NoReturn:
  """Becomes the binary of the command as which this was started."""
  # The working directory comes second, for methods and tasks of the user's own:
  # a folder there that is called tasks hides none of ours.
  paths = [str(_ROOT), os.getcwd(), os.environ.get('PYTHONPATH')]
  os.environ['PYTHONPATH'] = os.pathsep.join(filter(None, paths))
  # Python would put it first.
  os.environ['PYTHONSAFEPATH'] = '1'
  module = f'launch.{COMMANDS[pathlib.Path(sys.argv[0]).name]}'
  os.execv(sys.executable, [sys.executable, '-m', module, *sys.argv[1:]])


def find_config(source: str) -> str:
  """Returns a config with the file that is meant, which may be one of ours.

  Args:
    source: <file>[:<variant>], which may begin with ~. A file that is not there
      is looked for beside launch, and in launch/configs by its name alone:
      digits:fed_fish.

  Returns:
    The same with a file that is there, or as it was.
  """
  source = os.path.expanduser(source)
  path, colon, variant = source.partition(':')
  if not pathlib.Path(path).is_file():
    for file in (_ROOT / path, _ROOT / 'launch' / 'configs' / f'{path}.py'):
      if file.is_file():
        return f'{file}{colon}{variant}'
  return source


def name_commands(text: str) -> str:
  """Returns a text in which binaries are called as the user can start them.

  Args:
    text: For example 'python -m launch.train --help', or 'launch.train'.
  """
  if _ROOT.name != _FOLDER:
    return text
  commands = {binary: command for command, binary in COMMANDS.items()}
  return _BINARY.sub(lambda match: commands.get(match[1], match[0]), text)

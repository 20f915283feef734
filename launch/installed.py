# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binaries as commands of a wheel: fedfish-train for launch.train.

Other packages may also be called launch and tasks, so a wheel holds these
folders inside fedfish_tff_programs, where they hide no other package. A command
starts the binary with that folder on the path of Python modules, for its own
process and its children, which all import launch and tasks as in a checkout.
fedfish lists the commands, and `eval "$(fedfish --completion)"` completes their
flags and the names of configs in bash and zsh. This module imports only the
standard library, because setup.py imports it.
"""

import ast
import os
import pathlib
import re
import sys
from typing import NoReturn

# The command that lists the others.
LIST = 'fedfish'
# The binary of each command.
COMMANDS = {
  'fedfish-compile': 'compile',
  'fedfish-demo': 'demo',
  'fedfish-evaluate': 'evaluate',
  'fedfish-group': 'group_dataset',
  'fedfish-new': 'new',
  'fedfish-partition': 'partition_dataset',
  'fedfish-plot': 'plot',
  'fedfish-sweep': 'sweep',
  'fedfish-toy-figure': 'toy_figure',
  'fedfish-train': 'train',
  'fedfish-train-tokenizer': 'train_tokenizer',
}
# The parent folder of launch in a wheel; a checkout has another one.
_FOLDER = 'fedfish_tff_programs'
_ROOT = pathlib.Path(__file__).resolve().parents[1]
# Completes flags by the help of a command, which bash asks for once in a shell
# and zsh each time. Words that begin with no dash are files.
_COMPLETION = """[ -n "$ZSH_VERSION" ] && autoload -U +X compinit bashcompinit && \\
  compinit && bashcompinit
_fedfish() {
  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
  local name="_FEDFISH_${1##*/}" flags
  name="${name//-/_}"
  [ "$before" = = ] && before="${COMP_WORDS[COMP_CWORD-2]}"
  case "$word" in
    # Bash takes --config=x for three words, zsh for one.
    --config=*) COMPREPLY=($(compgen -P --config= -W "@CONFIGS@" -- "${word#*=}")) ;;
    --*=*) ;;
    --*)
      eval "flags=\\$$name"
      if [ -z "$flags" ]; then
        flags=$("$1" --help 2>/dev/null | \\
          sed -n 's/^ *--\\(\\[no\\]\\)\\{0,1\\}\\([a-z_]*\\):.*/--\\2/p')
        eval "$name=\\$flags"
      fi
      COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
    *)
      [ "$before" = --config ] || return
      COMPREPLY=($(compgen -W "@CONFIGS@" -- "${word#=}")) ;;
  esac
}
complete -o default -F _fedfish @COMMANDS@
# Zsh looks for no file after the = of a word.
_fedfish_zsh() {
  _bash_complete -o default -F _fedfish && return
  compset -P '*=' && _files
}
[ -z "$ZSH_VERSION" ] || compdef _fedfish_zsh @COMMANDS@
"""
_BINARY = re.compile(r'(?:python -m )?(?<![\w./])launch\.([\w.]*\w)')


def main() -> None:
  """Replaces this process by the binary of the command that started it."""
  if pathlib.Path(sys.argv[0]).name == LIST:
    list_commands()
    return
  # The working directory comes second, for the user's own methods and tasks: a
  # folder called tasks there does not hide ours.
  paths = [str(_ROOT), os.getcwd(), os.environ.get('PYTHONPATH')]
  os.environ['PYTHONPATH'] = os.pathsep.join(filter(None, paths))
  # Without this, Python would put the working directory first.
  os.environ['PYTHONSAFEPATH'] = '1'
  module = f'launch.{COMMANDS[pathlib.Path(sys.argv[0]).name]}'
  os.execv(sys.executable, [sys.executable, '-m', module, *sys.argv[1:]])


def list_commands() -> None:
  """Prints a line for each program, or with --completion the shells' script."""
  if sys.argv[1:] == ['--completion']:
    script = _COMPLETION.replace('@COMMANDS@', ' '.join(COMMANDS))
    print(script.replace('@CONFIGS@', ' '.join(config_names())), end='')
    return
  rows = {
    name_commands(f'python -m launch.{binary}'): _read_title(
      f'launch/{binary}.py'
    )
    for binary in COMMANDS.values()
  }
  width = max(map(len, rows))
  for command, title in rows.items():
    print(f'{command:{width}}  {name_commands(title)}')
  print('\nEach has --help.')


def _read_title(path: str) -> str:
  """Returns the first line of a module's docstring."""
  source = (_ROOT / path).read_text('utf-8')
  return ast.get_docstring(ast.parse(source)).splitlines()[0]


def leave(*_: object) -> NoReturn:
  """Ends a binary that imports its modules, as a handler of Ctrl-C."""
  os.write(2, f'{program_name()}: Interrupted.\n'.encode())
  os._exit(130)


def program_name() -> str:
  """Returns the name of the running program: fedfish-train, or train.py."""
  name = os.path.basename(sys.argv[0])
  command = name_commands(f'launch.{name.removesuffix(".py")}')
  return command if command in COMMANDS else name


def find_config(source: str) -> str:
  """Returns a config with the path of its file, which may be one of ours.

  Args:
    source: <file>[:<variant>], which may begin with ~. A missing file is looked
      for beside launch, and in launch/configs by its name alone:
      digits:fed_fish.

  Returns:
    The config with an existing file, or unchanged if there is none.
  """
  source = os.path.expanduser(source)
  path, colon, variant = source.partition(':')
  if not pathlib.Path(path).is_file():
    for file in (_ROOT / path, _ROOT / 'launch' / 'configs' / f'{path}.py'):
      if file.is_file():
        return f'{file}{colon}{variant}'
  return source


def config_names() -> list[str]:
  """Returns the names of the package's own configs."""
  files = (_ROOT / 'launch' / 'configs').glob('*.py')
  return sorted(
    file.stem for file in files if 'def get_config(' in file.read_text('utf-8')
  )


def describe_config(name: str) -> str:
  """Returns the first line of a config's docstring, by its name."""
  return _read_title(f'launch/configs/{name}.py')


def name_commands(text: str) -> str:
  """Returns a text with binaries named by the commands of the installation.

  Args:
    text: A text such as 'python -m launch.train --help' or 'launch.train'.
  """
  if _ROOT.name != _FOLDER:
    return text
  commands = {binary: command for command, binary in COMMANDS.items()}
  return _BINARY.sub(lambda match: commands.get(match[1], match[0]), text)

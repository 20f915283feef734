# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Start and end of every binary, with one clear line for bad input.

Exit codes are 0; 1 for a run that has diverged or a sweep with a failed run; 2
for input that cannot be used, with one line on stderr; and 130 for Ctrl-C and
the other `SIGNALS`, which all let a run save its state. Any other error is a
defect and keeps its traceback.
"""

import atexit
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import errno
import gc
import io
import logging as standard_logging
import os
import re
import signal
import sys
from typing import Any
from typing import NoReturn

from fedfish_tff import errors
from fedfish_tff import simulation
from launch import installed
from launch import plain_text
from launch import process_settings

from absl import app
from absl import flags
from absl import logging

# The signals that end a binary as Ctrl-C does: those of shells and, before a
# time limit, of schedulers such as Slurm.
SIGNALS = (
  signal.SIGTERM,
  signal.SIGHUP,
  signal.SIGUSR1,
  signal.SIGUSR2,
  signal.SIGXCPU,
)
_BAD_INPUT = 2
_INTERRUPTED = 130
# The length of each end of a message of which the middle is left out.
_END_LENGTH = 1000
# The start of a progress bar, which moves back in its line, or up to it.
_OF_A_BAR = re.compile(r'(?:[\r\n]|\x1b\[A)*')
_HELP_ARGUMENTS = frozenset(('--help', '-help', '--helpshort', '-h', '-?'))
# The errors of a full or failing disk, of missing permissions, and of the limit
# of open files.
_UNUSABLE = frozenset(
  (
    errno.EACCES,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.EISDIR,
    errno.EMFILE,
    errno.ENAMETOOLONG,
    errno.ENFILE,
    errno.ENOSPC,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
  )
)

# What a flag must be, by the message of its parser in Python's words.
_EXPECTED = {
  r'invalid literal for int\(\) with base 10: (.*)': 'an integer',
  r'could not convert string to float: (.*)': 'a number',
  r"\('Non-boolean argument to boolean flag', (.*)\)": 'true or false',
  r'Failed to parse (.*) as a ConfigDict: .*': 'a block of fields',
}

# Each method traces the functions of its model, as intended, but TensorFlow
# warns from the fifth one on.
standard_logging.getLogger('tensorflow').addFilter(
  lambda record: 'triggered tf.function retracing' not in record.getMessage()
)

Main = Callable[[Sequence[str]], None]
FlagsParser = Callable[[Sequence[str]], list[str]]


def run(main: Main, *, flags_parser: FlagsParser | None = None) -> NoReturn:
  """Runs a binary; its module docstring is its help.

  Args:
    main: A function of the arguments that are not flags, the program's name
      first.
    flags_parser: A function that parses all arguments and returns those for
      `main`; None for `parse_flags`.
  """
  open_streams()
  if _HELP_ARGUMENTS & set(sys.argv[1:]):
    with contextlib.redirect_stdout(io.StringIO()) as text:
      app.usage(shorthelp=True, writeto_stdout=True)
    told = installed.name_commands(text.getvalue())
    call(lambda _: print(told, end=''), sys.argv)
    sys.exit(0)
  # Imports and traces leave hundreds of thousands of permanent objects; their
  # garbage collection took a fifth of a short run.
  gc.set_threshold(100_000, 20, 20)
  atexit.register(process_settings.end_quietly)
  app.run(
    lambda argv: call(main, argv), flags_parser=flags_parser or parse_flags
  )


def open_streams() -> None:
  """Reopens stdin, stdout and stderr, for any terminal, file or reader.

  A closed stream reads and writes nothing. Characters outside the encoding and
  control characters of terminals are escaped. Only stdout raises errors, such
  as BrokenPipeError once its reader has closed it.
  """
  for number, name in enumerate(('stdin', 'stdout', 'stderr')):
    stream = getattr(sys, name)
    if stream is None:
      # Otherwise the next opened file would receive the output of libraries.
      _open_nothing_as(number)
    encoding = stream.encoding if stream else 'utf-8'
    if not number:
      sys.stdin = open(
        number, encoding=encoding, errors='replace', closefd=False
      )
      continue
    if stream:
      stream.flush()
    opened = _Stream(
      open(number, 'wb', closefd=False),
      encoding=encoding,
      errors='backslashreplace',
      line_buffering=True,
    )
    setattr(sys, name, opened)
  logging.get_absl_handler().python_handler.stream = sys.stderr


class _Stream(io.TextIOWrapper):
  """A stream of `open_streams`; after an error, it writes nothing more."""

  def write(self, text: str) -> int:
    bar = _OF_A_BAR.match(text).end() if self.fileno() == 2 else 0
    self._unless_gone(super().write, text[:bar] + plain_text.lines(text[bar:]))
    return len(text)

  def flush(self) -> None:
    self._unless_gone(super().flush)

  def _unless_gone(self, call: Callable[..., Any], *arguments: str) -> None:
    try:
      call(*arguments)
    except OSError as error:
      _open_nothing_as(self.fileno())
      # Errors of stderr and of a closed terminal do not end the work.
      if self.fileno() == 1 and error.errno != errno.EIO:
        raise


def _open_nothing_as(number: int) -> None:
  nothing = os.open(os.devnull, os.O_RDWR)
  if nothing != number:
    os.dup2(nothing, number)
    os.close(nothing)
  os.set_inheritable(number, True)


def report_import() -> None:
  """Reports and imports TensorFlow Federated, which takes seconds.

  Ctrl-C ends the process at once: where it comes in a callback of an import,
  Python prints a KeyboardInterrupt and goes on.
  """
  simulation.report_step('Importing TensorFlow Federated')
  previous = signal.getsignal(signal.SIGINT)
  if previous != signal.SIG_IGN:
    signal.signal(signal.SIGINT, installed.leave)
  import tensorflow_federated  # noqa: F401  pylint: disable=g-import-not-at-top

  signal.signal(signal.SIGINT, previous)


def check_no_arguments(argv: Sequence[str]) -> None:
  """Raises InputError if there are arguments other than flags."""
  if len(argv) > 1:
    raise errors.InputError(
      f'Unexpected argument {argv[1]!r}; flags begin with --.'
    )


def check_given(*needed: flags.FlagHolder) -> None:
  """Raises InputError unless flags have values, naming those without."""
  missing = [f'--{flag.name}' for flag in needed if not flag.value]
  if missing:
    *first, last = missing
    names = f'{", ".join(first)} and {last} are' if first else f'{last} is'
    raise errors.InputError(f'{names} needed; --help shows an example.')


def parse_flags(argv: Sequence[str]) -> list[str]:
  """Parses flags as absl does, but reports wrong ones in one line."""
  try:
    argv = [argv[0], *flags.FLAGS.read_flags_from_files(argv[1:], False)]
    return flags.FLAGS(argv)
  except flags.Error as error:
    _fail(describe_flag_error(error))
  except UnicodeDecodeError as error:
    _fail(f'A --flagfile must be text in UTF-8: {error}.')


def call(main: Main, argv: Sequence[str]) -> None:
  """Calls a binary's main; bad input and signals end the process."""
  if not flags.FLAGS['verbosity'].present:
    # TensorFlow and TFF log many messages at INFO that do not help the user.
    logging.set_verbosity(logging.WARNING)
  try:
    with _signals_as_interrupts():
      main(argv)
      sys.stdout.flush()
  except errors.InputError as error:
    _fail(str(error))
  except KeyboardInterrupt as error:
    _say(str(error) or 'Interrupted.')
    sys.exit(_INTERRUPTED)
  except BrokenPipeError:
    # The reader of the output, such as head, has closed it: no error.
    sys.exit(1)
  except MemoryError as error:
    _fail(f'There is not enough memory: {error}.')
  except OSError as error:
    if error.errno not in _UNUSABLE:
      raise
    where = f' {error.filename}' if error.filename else ''
    _fail(f'Cannot read or write{where}: {error.strerror}.')
  except Exception as error:
    # Computations cannot raise InputError, so that others stand in for it.
    text = errors.describe_bad_input(error)
    if text is None:
      raise
    _fail(text)


@contextlib.contextmanager
def _signals_as_interrupts() -> Iterator[None]:
  """Lets Ctrl-C and `SIGNALS` raise KeyboardInterrupt.

  Ignored signals stay ignored, so that nohup still protects from SIGHUP.
  """
  previous = {
    number: signal.signal(number, signal.default_int_handler)
    for number in (signal.SIGINT, *SIGNALS)
    if signal.getsignal(number) != signal.SIG_IGN
  }
  try:
    yield
  finally:
    for number, handler in previous.items():
      signal.signal(number, handler)


def _fail(message: str) -> NoReturn:
  _say(message)
  sys.exit(_BAD_INPUT)


def _say(message: str) -> None:
  """Writes a message to stderr as one line, shortened if it is very long."""
  line = installed.name_commands(' '.join(message.split()))
  if (left_out := len(line) - 2 * _END_LENGTH) > _END_LENGTH:
    line = (
      f'{line[:_END_LENGTH]} [{left_out:,} characters] {line[-_END_LENGTH:]}'
    )
  print(f'{installed.program_name()}: {line}', file=sys.stderr, flush=True)


def describe_flag_error(error: flags.Error) -> str:
  """Returns the message of an error of flags, without Python's wording."""
  for told, expected in _EXPECTED.items():
    match = re.fullmatch(f'flag (--[^=]+)=.*?: {told}', str(error), re.DOTALL)
    if match:
      return f'{match[1]} must be {expected}, got {match[2]}.'
  return str(error)

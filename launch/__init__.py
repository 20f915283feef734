# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binaries, which define the flags; the folders hold their code."""

import os
import signal
import sys
from typing import NoReturn


def _leave(*_) -> NoReturn:
  """Ends a binary that imports its modules, with the exit code of Ctrl-C."""
  program = os.path.basename(sys.argv[0])
  os.write(2, f'{program}: Interrupted.\n'.encode())
  os._exit(130)


# Python imports this first for `python -m launch.train`, while '-m' stands for
# the program's name. `cli.call` lets Ctrl-C raise KeyboardInterrupt later.
if sys.argv[:1] == ['-m'] and signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
  signal.signal(signal.SIGINT, _leave)

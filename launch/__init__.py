# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binaries, which define the flags; the folders hold their code.

Configs, workdirs and files that cannot be used, read or written raise
`errors.InputError`, which binaries print as one line.
"""

import signal
import sys

# Python imports this first for `python -m launch.train`, while '-m' stands for
# the program's name. `cli.call` lets Ctrl-C raise KeyboardInterrupt later.
if sys.argv[:1] == ['-m'] and signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
  # Imported here, since a wheel's commands find no package called launch.
  from launch import installed  # pylint: disable=g-import-not-at-top

  signal.signal(signal.SIGINT, installed.leave)

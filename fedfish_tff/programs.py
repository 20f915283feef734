# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes launch, tasks and examples importable beside a wheel.

  import fedfish_tff.programs

A wheel holds them in fedfish_tff_programs, where they hide no other package.
This import puts that folder first on the path of this process and of those that
it starts, as the commands do. In a checkout it changes nothing.
"""

import os
import pathlib
import sys

_FOLDER = pathlib.Path(__file__).resolve().parents[1] / 'fedfish_tff_programs'


def _add(folder: str) -> None:
  """Puts a folder first on the path of modules, here and in children."""
  if folder not in sys.path:
    sys.path.insert(0, folder)
  inherited = os.environ.get('PYTHONPATH', '').split(os.pathsep)
  if folder not in inherited:
    paths = filter(None, [folder, *inherited])
    os.environ['PYTHONPATH'] = os.pathsep.join(paths)


if _FOLDER.is_dir():
  _add(str(_FOLDER))

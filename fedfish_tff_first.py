# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Says that fedfish_tff must be imported first, where TFF cannot be without it.

A .pth file in site-packages imports this module when Python starts. What TFF
needs, and why, stands in fedfish_tff/import_setup.py.
"""

import sys


class _Finder:
  """Finds TFF, with a loader that refuses to load it too early."""

  @staticmethod
  def find_spec(name, path=None, target=None):  # noqa: ANN001, ANN205
    """Returns a spec of TFF; None of any other module."""
    if name != 'tensorflow_federated' or 'fedfish_tff' in sys.modules:
      return None
    from importlib import machinery  # Now: Python starts faster without it.

    spec = machinery.PathFinder.find_spec(name)
    if spec and not machinery.PathFinder.find_spec('tensorflow_estimator'):
      spec.loader.exec_module = _refuse
      return spec
    return None


def _refuse(module) -> None:  # noqa: ANN001
  raise ImportError(
    'fedfish_tff must be imported before tensorflow_federated, which cannot be '
    'imported alone with a TensorFlow after 2.15.'
  )


sys.meta_path.insert(0, _Finder)

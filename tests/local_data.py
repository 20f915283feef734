# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Samples of data sets that are not in the repository, for tests."""

from collections.abc import Iterable
import os
import pathlib
import re
import unittest

VARIABLE = 'FEDFISH_TFF_DATA'


def find_sample(name: str) -> pathlib.Path:
  """The folder of a sample; skips the test where it is absent.

  Args:
    name: Name of a folder below that of the environment variable
      FEDFISH_TFF_DATA.

  Returns:
    The folder.

  Raises:
    unittest.SkipTest: If the variable is not set or the folder is not there.
  """
  parent = os.environ.get(VARIABLE)
  if not parent:
    raise unittest.SkipTest(f'needs the sample {name}: {VARIABLE} is not set')
  folder = pathlib.Path(parent) / name
  if not folder.is_dir():
    raise unittest.SkipTest(f'needs the sample {name}: {folder} is not there')
  return folder


def explain_skips(reasons: Iterable[str]) -> str:
  """Returns how to get the samples that tests were skipped for, or nothing."""
  names = re.findall(r'needs the sample (\w+)', '\n'.join(reasons))
  if not names:
    return ''
  return (
    f'{len(names)} tests were skipped for want of samples: '
    f'{", ".join(sorted(set(names)))}.\n'
    f'Set {VARIABLE} to the folder that holds them; CONTRIBUTING.md says where '
    'they come from.'
  )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests as if on several processors, once for each setting below.

Libraries choose instructions by what the processor has, and so round otherwise
on another one. Here they are told to make do with less, or to choose as for
another one; what this processor lacks stays unused whatever they are told.

  python .ci/test_processors.py [ARGUMENTS OF PYTEST]
"""

from collections.abc import Sequence
import os
import subprocess
import sys

# Of names that the processor lacks, NumPy warns.
_AVX512 = 'AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL'
# TensorFlow with oneDNN, NumPy and OpenBLAS choose by themselves: a run can set
# all three.
SETTINGS = (
  {
    'TF_ENABLE_ONEDNN_OPTS': '0',
    'OPENBLAS_CORETYPE': 'Haswell',
  },
  {
    'TF_ENABLE_ONEDNN_OPTS': '1',
    'ONEDNN_MAX_CPU_ISA': 'SSE41',
    'NPY_DISABLE_CPU_FEATURES': f'AVX2 FMA3 {_AVX512}',
    'OPENBLAS_CORETYPE': 'Haswell',
  },
  {
    'TF_ENABLE_ONEDNN_OPTS': '1',
    'ONEDNN_MAX_CPU_ISA': 'AVX2',
    'NPY_DISABLE_CPU_FEATURES': _AVX512,
    'OPENBLAS_CORETYPE': 'Zen',
  },
  {
    'TF_ENABLE_ONEDNN_OPTS': '1',
    'ONEDNN_MAX_CPU_ISA': 'AVX512_CORE',
    'OPENBLAS_CORETYPE': 'SkylakeX',
  },
)


def main(arguments: Sequence[str]) -> int:
  """Returns 1 if a run failed; all are made."""
  command = [sys.executable, '-m', 'pytest', '-n', '2', '--dist', 'loadfile']
  # TensorFlow asks the processor whether it knows bfloat16, and oneDNN, told not
  # to use that, ends the process.
  command += ['--max-worker-restart', '0', '-k', 'not bfloat16']
  command += ['-m', 'not slow', *arguments]
  table = []
  for setting in SETTINGS:
    text = ' '.join(f"{name}='{value}'" for name, value in setting.items())
    print(f'\n{text}', flush=True)
    failed = subprocess.run(command, env={**os.environ, **setting}).returncode
    table.append(('FAILED' if failed else 'passed', text))
  print('\nThe tests, by setting:')
  for result, text in table:
    print(result, text)
  return int(any(result == 'FAILED' for result, _ in table))


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))

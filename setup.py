# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Packages fedfish_tff, and what is run with it below fedfish_tff_programs.

launch/installed.py says why, and what the commands are.
"""

import pathlib
import re
import runpy

import setuptools

_ROOT = pathlib.Path(__file__).resolve().parent


def _read_version() -> str:
  """The version as written in the package, which need not be importable."""
  source = (_ROOT / 'fedfish_tff' / '__init__.py').read_text(encoding='utf-8')
  return re.search(r"^__version__ = '([^']+)'$", source, re.MULTILINE)[1]


def _read_address() -> str | None:
  """The repository's address as CITATION.cff has it, once it is published."""
  source = (_ROOT / 'CITATION.cff').read_text(encoding='utf-8')
  found = re.search(r'^repository-code: "(.+)"$', source, re.MULTILINE)
  return found and found[1]


# The programs' packages as they are called in a wheel, with their folders here.
_PROGRAMS = {
  f'fedfish_tff_programs.{package}': package.replace('.', '/')
  for package in [
    *setuptools.find_packages(
      include=['launch', 'launch.*', 'tasks', 'tasks.*']
    ),
    # Of which fedfish-new makes a project.
    'examples',
  ]
}
_COMMANDS = runpy.run_path(str(_ROOT / 'launch' / 'installed.py'))['COMMANDS']

setuptools.setup(
  name='fedfish-tff',
  version=_read_version(),
  description='FedFish, FedAvg and kin on TensorFlow Federated',
  long_description=(_ROOT / 'README.md').read_text(encoding='utf-8'),
  long_description_content_type='text/markdown',
  author='The FedFish-TFF Authors',
  license='Apache-2.0',
  url=_read_address(),
  license_files=['LICENSE'],
  packages=[
    *setuptools.find_packages(include=['fedfish_tff', 'fedfish_tff.*']),
    *_PROGRAMS,
  ],
  package_dir=_PROGRAMS,
  package_data={'fedfish_tff': ['py.typed']},
  entry_points={
    'console_scripts': [
      f'{command} = fedfish_tff_programs.launch.installed:main'
      for command in _COMMANDS
    ]
  },
  python_requires='~=3.11.0',
  # What the library and the programs import. TFF 0.87.0 pins versions that are
  # no longer published: docs/install.md says how to install all the same.
  install_requires=[
    'absl-py>=1.0',
    'cachetools>=5.3',
    'dp-accounting>=0.4.3,<0.5',
    'google-crc32c>=1.5',
    'grpcio>=1.62',
    'h5py>=3.9',
    'matplotlib>=3.8',
    'ml-collections>=0.1.1',
    'numpy>=1.25,<2',
    'pandas>=2.1,<3',
    'protobuf>=3.20.3,<5',
    'psutil>=5.9',
    'pyarrow>=10',
    'scikit-learn>=1.3',
    'scipy>=1.9.3',
    'tensorboard>=2.14,<2.15',
    'tensorflow>=2.14,<2.15',
    'tensorflow-federated==0.87.0',
    'tensorflow-privacy>=0.9,<0.10',
    'tensorflow-probability>=0.22,<0.23',
    'tokenizers>=0.20',
    'tqdm>=4.60',
  ],
  extras_require={
    # What fedfish_tff.datasets.grouping, datasets.GroupedWriter and launch.data
    # import besides.
    'grouping': [
      'apache-beam>=2.60,<2.65',
      'dataset-grouper==0.3.0',
      'fsspec>=2023.1',
      'pillow>=10',
      'publicsuffixlist>=0.10',
      'tensorflow-datasets>=4.9.4,<4.9.8',
      'zstandard>=0.18',
    ],
    # Of fedfish_tff.execution.ray.
    'ray': ['ray>=2.50,<3'],
    # Of tasks.text.roberta_checkpoint.
    'roberta': ['safetensors>=0.4', 'transformers>=4.57,<5'],
    # Of fedfish_tff.simulation.wandb_manager; 0.19 and later need a newer
    # typing_extensions than TFF's.
    'wandb': ['wandb>=0.18,<0.19'],
  },
  classifiers=[
    'Intended Audience :: Science/Research',
    'License :: OSI Approved :: Apache Software License',
    'Operating System :: POSIX :: Linux',
    'Programming Language :: Python :: 3.11',
    'Topic :: Scientific/Engineering :: Artificial Intelligence',
  ],
)

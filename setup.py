# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Packages fedfish_tff, and what is run with it below fedfish_tff_programs.

launch/installed.py says why, and what the commands are.
"""

import pathlib
import re
import runpy

import setuptools
from setuptools.command import build_py

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
_INSTALLED = runpy.run_path(str(_ROOT / 'launch' / 'installed.py'))

# Says that fedfish_tff comes before TFF, from site-packages when Python starts.
_FIRST = 'fedfish_tff_first'


class _BuildWithPathFile(build_py.build_py):
  """Builds the packages and a .pth file beside them."""

  @property
  def _path_file(self) -> pathlib.Path:
    return pathlib.Path(self.build_lib, f'{_FIRST}.pth')

  def run(self) -> None:
    super().run()
    self._path_file.write_text(f'import {_FIRST}\n', encoding='ascii')

  def get_outputs(self, include_bytecode: bool = True) -> list[str]:
    return [*super().get_outputs(include_bytecode), str(self._path_file)]


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
  py_modules=[_FIRST],
  cmdclass={'build_py': _BuildWithPathFile},
  package_data={
    'fedfish_tff': ['py.typed'],
    'fedfish_tff_programs.examples': ['*.csv'],
  },
  entry_points={
    'console_scripts': [
      f'{command} = fedfish_tff_programs.launch.installed:main'
      for command in (_INSTALLED['LIST'], *_INSTALLED['COMMANDS'])
    ]
  },
  python_requires='>=3.11,<3.14',
  # What the library and the programs import, and what TFF does, on today's
  # stack. TFF itself, its DP library and Vizier are not among them: pip takes
  # their pins literally, and those cannot be met. docs/install.md has the line
  # that installs them.
  install_requires=[
    'absl-py>=1.0',
    'attrs>=23.1',
    'cachetools>=5.3',
    'dm-tree>=0.1.8',
    'dp-accounting>=0.4.3',
    'google-crc32c>=1.5',
    'googleapis-common-protos>=1.61',
    'grpcio>=1.62',
    'h5py>=3.9',
    # TFF imports jax.lib.xla_client, which later releases lack.
    'jax<0.5',
    'jaxlib<0.5',
    'matplotlib>=3.8',
    'ml-collections>=0.1.1',
    'ml-dtypes>=0.2',
    'numpy>=1.25',
    'pandas>=2.1',
    'portpicker>=1.6',
    'protobuf>=3.20.3',
    'psutil>=5.9',
    'pyarrow>=10',
    'safetensors>=0.4',
    'scikit-learn>=1.3',
    'scipy>=1.9.3',
    # google-vizier still imports pkg_resources.
    'setuptools<81',
    'tensorboard>=2.14,<2.22',
    'tensorflow>=2.14,<2.22',
    'tensorflow-model-optimization>=0.7.5',
    'tensorflow-probability>=0.22',
    # Keras 2, the one that TFF knows; TensorFlow 2.14 brings its own.
    'tf-keras<2.22',
    'tokenizers>=0.20',
    'tqdm>=4.60',
    'typing-extensions>=4.5',
  ],
  extras_require={
    # What fedfish_tff.datasets.grouping, datasets.GroupedWriter and launch.data
    # import besides; but for dataset-grouper, whose pin of TensorFlow cannot be
    # met either.
    'grouping': [
      'apache-beam>=2.60',
      'fsspec>=2023.1',
      'pillow>=10.1',
      'publicsuffixlist>=0.10',
      'tensorflow-datasets>=4.9.4',
      'zstandard>=0.18',
    ],
    # Of fedfish_tff.execution.ray.
    'ray': ['ray>=2.50,<3'],
    # Of tasks.text.roberta_checkpoint.
    'roberta': ['transformers>=4.57,<5'],
    # Of fedfish_tff.simulation.wandb_manager.
    'wandb': ['wandb>=0.18'],
  },
  classifiers=[
    'Intended Audience :: Science/Research',
    'License :: OSI Approved :: Apache Software License',
    'Operating System :: POSIX :: Linux',
    'Programming Language :: Python :: 3.11',
    'Programming Language :: Python :: 3.12',
    'Programming Language :: Python :: 3.13',
    'Topic :: Scientific/Engineering :: Artificial Intelligence',
  ],
)

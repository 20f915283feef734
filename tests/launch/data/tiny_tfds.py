# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A data set of TFDS that is generated in a moment, without a network."""

import pathlib
import tempfile

import fedfish_tff  # noqa: F401  Quiets TensorFlow, which TFDS imports.

from absl.testing import parameterized
import numpy as np
import tensorflow_datasets as tfds
from tensorflow_datasets.core.utils import gcs_utils

NUM_EXAMPLES = 240
SPECIES = ('oak', 'elm', 'ash', 'cod', 'eel')
KINDS = ('tree', 'fish')
# The kind of each species.
KIND_OF = (0, 0, 0, 1, 1)


def examples() -> dict[str, np.ndarray]:
  """Returns the examples of split train by feature, in the files' order."""
  rng = np.random.default_rng(0)
  species = rng.integers(len(SPECIES), size=NUM_EXAMPLES)
  return {
    'image': rng.integers(256, size=(NUM_EXAMPLES, 4, 3, 1), dtype=np.uint8),
    'species': species,
    'kind': np.array(KIND_OF)[species],
    'author': np.array([f'a/{i}' for i in rng.integers(7, size=NUM_EXAMPLES)]),
    'height': rng.random(NUM_EXAMPLES, np.float32),
    'sizes': rng.random((NUM_EXAMPLES, 2), np.float32),
  }


class TinyLeaves(tfds.core.GeneratorBasedBuilder):
  """Random pictures of five species."""

  VERSION = tfds.core.Version('1.0.0')
  # TFDS would look for files beside it, but the tests are no packages.
  code_path = None

  def _info(self) -> tfds.core.DatasetInfo:
    return tfds.core.DatasetInfo(
      builder=self,
      features=tfds.features.FeaturesDict(
        {
          'image': tfds.features.Image(shape=(4, 3, 1)),
          'photo': tfds.features.Image(),
          'species': tfds.features.ClassLabel(names=SPECIES),
          'kind': tfds.features.ClassLabel(names=KINDS),
          'author': tfds.features.Text(),
          'height': np.float32,
          'sizes': tfds.features.Tensor(shape=(2,), dtype=np.float32),
          'boxes': tfds.features.Sequence(np.int64),
        }
      ),
      supervised_keys=('image', 'species'),
      disable_shuffling=True,
    )

  def _split_generators(self, dl_manager):
    return {
      'train': self._generate_examples(False),
      'unlabelled': self._generate_examples(True),
    }

  def _generate_examples(self, is_unlabelled):
    arrays = examples()
    for i in range(NUM_EXAMPLES):
      example = {name: array[i] for name, array in arrays.items()}
      if is_unlabelled:
        example |= {'species': -1, 'height': np.float32(np.nan)}
      yield (
        i,
        example
        | {'photo': np.zeros((2, 2, 3), np.uint8), 'boxes': [1] * (i % 3)},
      )


def prepare(data_dir: pathlib.Path) -> None:
  """Writes the data set to a folder, as TFDS does, without asking servers."""
  was_disabled = gcs_utils._is_gcs_disabled
  gcs_utils._is_gcs_disabled = True
  try:
    TinyLeaves(data_dir=data_dir).download_and_prepare()
  finally:
    gcs_utils._is_gcs_disabled = was_disabled


class TestCase(parameterized.TestCase):
  """A test case with the data set in the folder `data_dir`."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = cls.enterClassContext(tempfile.TemporaryDirectory())
    cls.data_dir = pathlib.Path(folder)
    prepare(cls.data_dir)

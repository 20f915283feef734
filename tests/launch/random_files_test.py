# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files with a few other bytes: they are read, or an error says why not."""

import asyncio
import contextlib
import json
import pathlib

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import simulation
from launch import json_config
from launch.configs import digits
from launch.data import leaf_files
from launch.data import picture_folder
from launch.methods import config_checks
from launch.runs import run_start
from tasks import networks
from tasks.images import labelled_images as labelled_images_lib
from tasks.text import roberta_checkpoint
from tests import grouped_clients
from tests import labelled_images
from tests.tasks.networks import random_squeezenet

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
from PIL import Image
import pytest
import tensorflow_federated as tff

pytestmark = pytest.mark.thorough


def _write_npz(path):
  x, y = np.ones([3, 2], np.float32), np.arange(3)
  np.savez_compressed(path, x=x, y=y, x_test=x, y_test=y)


def _read_npz(path):
  clients = datasets.NpzFolderClientData(path.parent, skip_empty_clients=True)
  _load_all(clients)
  if clients.own_test is not None:
    _load_all(clients.own_test)


def _write_picture(path):
  pixels = np.random.default_rng(0).integers(0, 256, [9, 8, 3], np.uint8)
  Image.fromarray(pixels).save(path)


def _read_picture(path):
  picture_folder.read(
    picture_folder.PictureFolder(
      name='pictures',
      folder=path.parent.parent,
      pictures=[(path.parent.name, path.name)],
      others=(),
      empty=(),
    )
  )


def _write_start(path):
  weights = tff.learning.models.ModelWeights((np.ones([3, 2], np.float32),), ())
  run_start.save_start(path.parent, run_start.Start(weights, 2, {'a': 1}))


def _write_grouped(path):
  grouped_clients.write_folder(
    path.parent, {'train': grouped_clients.make_texts(3)}, num_shards=1
  )


def _save_checkpoint(path):
  manager = simulation.CheckpointManager(path.parent)
  asyncio.run(manager.save([np.ones([3, 2], np.float32), 'text'], 1))


def _load_checkpoint(path):
  manager = simulation.CheckpointManager(path.parent)
  asyncio.run(manager.load(1, [np.ones([3, 2], np.float32), 'text']))


def _load_all(clients):
  for client_id in clients.client_ids:
    clients.load_client(client_id)


def _check_config(path):
  config_checks.read(json_config.get_config(str(path)).to_dict())


# By the name of the file, how it is written and read.
_FILES = {
  'client.npz': (_write_npz, _read_npz),
  **{
    f'digit.{suffix}': (_write_picture, _read_picture)
    for suffix in ('bmp', 'jpg', 'png', 'tif', 'webp')
  },
  'all_data.json': (
    lambda path: path.write_text(
      json.dumps(
        {
          'users': ['a'],
          'num_samples': [2],
          'user_data': {'a': {'x': [[1, 2.5], [3, 4]], 'y': [0, 1]}},
        }
      )
    ),
    lambda path: leaf_files.read(str(path)),
  ),
  'images.npz': (
    lambda path: labelled_images.write(path.parent, num_classes=2),
    lambda path: labelled_images_lib.read_npz(path, num_classes=2),
  ),
  'start.npz': (
    _write_start,
    lambda path: run_start.load_start(path.parent),
  ),
  'program_state_1.npz': (_save_checkpoint, _load_checkpoint),
  'run.json': (
    lambda path: path.write_text(json.dumps(digits.get_config().to_dict())),
    _check_config,
  ),
  'config.json': (
    lambda path: path.write_text(
      json.dumps({'model_type': 'roberta', 'vocab_size': 9, 'hidden_size': 8})
    ),
    lambda path: roberta_checkpoint.read_config(path.parent),
  ),
  'vocabulary.json': (
    lambda path: path.write_text(
      datasets.train_vocabulary(
        ['a cat', 'a hat'], kind=datasets.VocabularyKind.WORD_PIECE, size=30
      ).to_json()
    ),
    lambda path: datasets.load_vocabulary(path).encode('a bat'),
  ),
  'speeds.csv': (
    lambda path: path.write_text('client_id,seconds\na,1.5\n"b,c",2\n'),
    lambda path: simulation.read_trace_speeds(path, ['a', 'b,c']),
  ),
  **{
    name: (
      _write_grouped,
      lambda path: _load_all(datasets.GroupedClientData(path.parent, 'train')),
    )
    for name in (
      'dataset.json',
      'clients.parquet',
      'train-00000-of-00001.tfrecord',
    )
  },
  'squeezenet.h5': (
    lambda path: random_squeezenet.write_weights(
      path, random_squeezenet.draw_weights()
    ),
    networks.load_squeezenet,
  ),
}

# A place as a share of the file, and the bytes that stand there then.
_CHANGES = st.lists(
  st.tuples(st.floats(0, 1), st.binary(max_size=3), st.integers(0, 3)),
  min_size=1,
  max_size=3,
)


class RandomFilesTest(parameterized.TestCase):
  @parameterized.parameters(*_FILES)
  def test_other_bytes(self, name):
    write, read = _FILES[name]
    path = pathlib.Path(self.create_tempdir().full_path) / name
    write(path)
    read(path)
    content = path.read_bytes()

    @hypothesis.settings(max_examples=40, derandomize=True)
    @hypothesis.given(_CHANGES, st.just(1) | st.floats(0, 1))
    def check(changes, end):
      changed = content
      for place, new, removed in changes:
        start = int(place * len(changed))
        changed = changed[:start] + new + changed[start + removed :]
      path.write_bytes(changed[: int(end * len(changed))])
      with contextlib.suppress(errors.InputError):
        read(path)

    check()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of RoBERTa from a folder, against the transformers library."""

import json
import random
import shutil

from fedfish_tff import errors
from tasks.text import roberta_checkpoint
from tests import roberta_files
from tests import temporary_folders

from absl.testing import parameterized
import h5py
import numpy as np
import transformers

_LENGTH = roberta_files.LENGTH


def _load(folder):
  """Loads a classifier of three classes."""
  config = roberta_checkpoint.read_config(folder)
  names = dict(enumerate(roberta_files.CLASS_NAMES))
  config['id2label'] = names
  config['label2id'] = {name: i for i, name in names.items()}
  return roberta_checkpoint.load_checkpoint(
    folder, config=config, sequence_length=_LENGTH
  )


class RobertaCheckpointTest(temporary_folders.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._keras_model = roberta_files.create_keras_model()

  @parameterized.parameters('h5', 'tf', 'pt')
  def test_equals_the_model_that_was_saved(self, file):
    if file == 'pt':
      roberta_files.save_torch_model(
        self.folder,
        self._keras_model.config,
        roberta_files.torch_weights(self._keras_model),
      )
    else:
      self._keras_model.save_pretrained(
        self.folder, safe_serialization=file == 'tf'
      )
    model, has_head = _load(self.folder)
    self.assertTrue(has_head)
    tokens = np.random.default_rng(0).integers(
      0, roberta_files.VOCABULARY_SIZE, [5, _LENGTH], np.int32
    )
    tokens[3:, 4:] = 1
    np.testing.assert_allclose(
      roberta_files.compute_logits(model, tokens),
      roberta_files.compute_logits(self._keras_model, tokens),
      rtol=1e-4,
      atol=1e-5,
    )

  @parameterized.parameters(False, True)
  def test_without_a_head_of_these_classes(self, is_language_model):
    if is_language_model:
      keras_model = self._keras_model
      roberta_files.save_language_model(self.folder, keras_model)
    else:
      keras_model = roberta_files.create_keras_model(num_labels=5)
      keras_model.save_pretrained(self.folder, safe_serialization=False)
    model, has_head = _load(self.folder)
    self.assertFalse(has_head)
    is_of_head = []
    for loaded, saved in zip(
      model.trainable_variables, keras_model.trainable_variables, strict=True
    ):
      is_of_head.append(roberta_checkpoint.is_head(loaded))
      if not is_of_head[-1]:
        np.testing.assert_array_equal(loaded.numpy(), saved.numpy())
    # Two layers, which are the last.
    self.assertEqual(is_of_head[-4:], [True] * 4)
    self.assertEqual(sum(is_of_head), 4)
    self.assertEqual(loaded.shape, (3,))

  def test_quiet_transformers_leaves_no_trace(self):
    log = transformers.utils.logging
    verbosity, state = log.get_verbosity(), random.getstate()
    with self.assertRaisesRegex(ValueError, 'of the caller'):
      with roberta_checkpoint.quiet_transformers() as library:
        self.assertIs(library, transformers)
        self.assertEqual(log.get_verbosity(), log.CRITICAL)
        random.random()
        raise ValueError('of the caller')
    self.assertEqual(log.get_verbosity(), verbosity)
    self.assertEqual(random.getstate(), state)

  def test_faults(self):
    whole = self.folder / 'whole'
    self._keras_model.save_pretrained(whole, safe_serialization=True)

    def write(name, content):
      return lambda folder: (folder / name).write_text(content)

    def without(name):
      return lambda folder: (folder / name).unlink()

    def pickled(folder):
      path = folder / 'model.safetensors'
      path.rename(folder / 'pytorch_model.bin')

    def configured(**values):
      def change(folder):
        path = folder / 'config.json'
        config = json.loads(path.read_text())
        path.write_text(json.dumps({**config, **values}))

      return change

    def cut(folder):
      path = folder / 'model.safetensors'
      path.write_bytes(path.read_bytes()[:-9])

    def lacking(folder):
      weights = roberta_files.torch_weights(self._keras_model)
      del weights['roberta.encoder.layer.0.output.dense.weight']
      roberta_files.save_torch_model(folder, self._keras_model.config, weights)

    def hdf5(folder):
      (folder / 'model.safetensors').unlink()
      with h5py.File(folder / 'tf_model.h5', 'w'):
        pass

    for number, (change, regex) in enumerate(
      (
        (shutil.rmtree, 'There is no folder .*that of a RoBERTa checkpoint'),
        (without('config.json'), 'config.json: No such file'),
        (write('config.json', '{'), 'config.json cannot be used'),
        (write('config.json', '[]'), 'an object'),
        (configured(model_type='bert'), "must be 'roberta', got 'bert'"),
        (
          without('model.safetensors'),
          'must have weights, model.safetensors or tf_model.h5',
        ),
        (pickled, 'got .*pytorch_model.bin, a pickle, which can run any code'),
        (cut, 'The weights .*model.safetensors cannot be read'),
        (write('model.safetensors', 'version'), 'cannot be read'),
        (hdf5, 'got none of .*|cannot be read'),
        (lacking, r'got none of 1, such as .*layer.0.output.dense.weight'),
        (
          configured(max_position_embeddings=10),
          'sequence_length must be .*got 12',
        ),
        (configured(vocab_size=270), 'got none of 1, .*word_embeddings'),
        (
          configured(hidden_size='wide'),
          "^hidden_size in .* must be a positive int.*got 'wide'",
        ),
        (configured(max_position_embeddings=None), 'embeddings in .* got None'),
        (configured(initializer_range='a'), "range in .* must be .*got 'a'"),
      )
    ):
      folder = self.folder / str(number)
      shutil.copytree(whole, folder)
      change(folder)
      with self.assertRaisesRegex(errors.InputError, regex) as raised:
        _load(folder)
      self.assertNotIn('\n', str(raised.exception))

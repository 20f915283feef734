# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of RoBERTa as a model, against the transformers library."""

import json
import pathlib
import random
import shutil
from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff.execution import cohort_context
from tasks import roberta
from tasks import roberta_checkpoint

from absl.testing import absltest
from absl.testing import parameterized
import h5py
import numpy as np
from safetensors import numpy as safetensors_numpy
from scipy import stats
import tensorflow as tf
import tensorflow_federated as tff
import transformers

_CLASSES = ('one', 'two', 'three')
_TEXTS = [
  f'{one} {two} makes {three} of it, say {two}s'
  for one in ('Wall Street', 'A team', 'Iraq', 'Software')
  for two in ('giant', 'rocket', 'court', 'planet')
  for three in ('much', 'little', 'a fortune')
]
_LENGTH = 12
_NANO = {'tiny': dict(num_layers=2, num_heads=2, hidden_size=8)}


def _create(texts=_TEXTS, **kwargs):
  with mock.patch.dict(roberta.ROBERTA_SIZES, _NANO):
    return roberta.create_roberta(
      texts,
      **{
        **dict(
          class_names=_CLASSES,
          seed=0,
          sequence_length=_LENGTH,
          vocabulary_size=300,
        ),
        **kwargs,
      },
    )


def _keras_model(num_labels=3, vocabulary_size=300, **kwargs):
  """A model of the library with weights that are not small."""
  config = transformers.RobertaConfig(
    **{
      **dict(
        vocab_size=vocabulary_size,
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=_LENGTH + 2,
        num_labels=num_labels,
        type_vocab_size=1,
      ),
      **kwargs,
    }
  )
  model = transformers.TFRobertaForSequenceClassification(config)
  model.build_in_name_scope()
  rng = np.random.default_rng(0)
  for variable in model.trainable_variables:
    variable.assign(0.5 * rng.normal(size=variable.shape))
  return model


def _torch_weights(model):
  """Returns weights by the names, and of the shapes, that PyTorch's have."""
  weights = {}
  for variable in model.trainable_variables:
    name = variable.name.partition('/')[2].removesuffix(':0')
    value = variable.numpy()
    if name.endswith('/kernel'):
      value = np.ascontiguousarray(value.T)
    *path, last = name.replace('_._', '/').split('/')
    last = {
      'kernel': 'weight',
      'embeddings': 'weight',
      'gamma': 'weight',
      'beta': 'bias',
    }.get(last, last)
    weights['.'.join([*path, last])] = value
  return weights


def _logits(model, tokens):
  return model(
    tokens, attention_mask=(tokens != 1).astype(np.int32), training=False
  ).logits.numpy()


class RobertaTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._parts = _create()
    cls._tokens = cls._parts.tokenize(_TEXTS)

  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)

  def _save_tokens(self, folder=None):
    tokenizer = json.loads(self._parts.tokens._tokenizer.to_str())
    (folder or self._folder).joinpath('tokenizer.json').write_text(
      json.dumps(tokenizer)
    )
    return tokenizer

  def _save(self, keras_model, **kwargs):
    keras_model.save_pretrained(self._folder, **kwargs)
    return self._save_tokens()

  def _assert_logits(self, expected, parts):
    model = parts.create_model()
    found = model.predict_on_batch(
      model.initial_weights, self._tokens, training=False
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)

  def test_tensors(self):
    model = self._parts.create_model()
    names = self._parts.tensor_names
    # 16 a layer, 5 of embeddings and 4 of the head.
    self.assertLen(names, 2 * 16 + 5 + 4)
    self.assertLen(set(names), len(names))
    shapes = dict(
      zip(names, (w.shape for w in model.initial_weights[0]), strict=True)
    )
    size = self._parts.tokens.size
    for name, shape in {
      'roberta/encoder/layer_1/attention/self/query/kernel': (8, 8),
      'roberta/encoder/layer_0/intermediate/dense/bias': (32,),
      'roberta/embeddings/word_embeddings/weight': (size, 8),
      'roberta/embeddings/position_embeddings/embeddings': (_LENGTH + 2, 8),
      'classifier/out_proj/kernel': (8, 3),
    }.items():
      self.assertEqual(shapes[name], shape)
    self.assertEqual(model.initial_weights[1], ())

  def test_weights_are_of_the_seed_alone(self):
    tf.random.set_seed(3)
    expected = tf.random.uniform([2]).numpy(), tf.random.uniform([2]).numpy()
    tf.random.set_seed(3)
    first = tf.random.uniform([2]).numpy()
    random_state, numpy_state = random.getstate(), np.random.get_state()
    again, other = _create(), _create(seed=1)
    self.assertEqual(random.getstate(), random_state)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_state[1])
    np.testing.assert_array_equal(
      [first, tf.random.uniform([2]).numpy()], expected
    )
    same = self._parts.create_model().initial_weights[0]
    for name, one, two, three in zip(
      self._parts.tensor_names,
      same,
      again.create_model().initial_weights[0],
      other.create_model().initial_weights[0],
      strict=True,
    ):
      np.testing.assert_array_equal(one, two)
      kind = name.rpartition('/')[-1]
      if kind in ('bias', 'beta', 'gamma'):
        np.testing.assert_array_equal(one, np.full_like(one, kind == 'gamma'))
      else:
        self.assertGreater(np.abs(one - three).max(), 0, name)
    place = self._parts.tensor_names.index(
      'roberta/embeddings/word_embeddings/weight'
    )
    self.assertGreater(
      stats.kstest(
        same[place].ravel(), stats.truncnorm(-2, 2, scale=0.02).cdf
      ).pvalue,
      1e-3,
    )

  def test_weights_are_of_the_size_of_the_library(self):
    with roberta_checkpoint.quiet_transformers():
      model = transformers.TFRobertaForSequenceClassification(
        _keras_model(vocabulary_size=self._parts.tokens.size).config
      )
      model.build_in_name_scope()
    for name, variable, weight in zip(
      self._parts.tensor_names,
      model.trainable_variables,
      self._parts.create_model().initial_weights[0],
      strict=True,
    ):
      self.assertEqual(weight.shape, variable.shape, name)
      deviation = variable.numpy().std()
      self.assertAlmostEqual(
        weight.std(), deviation, delta=0.8 * deviation, msg=name
      )

  @parameterized.parameters('h5', 'tf', 'pt')
  def test_checkpoint(self, file):
    keras_model = _keras_model()
    self._save(keras_model, safe_serialization=file == 'tf')
    if file == 'pt':
      self._folder.joinpath('tf_model.h5').unlink()
      safetensors_numpy.save_file(
        _torch_weights(keras_model),
        self._folder / 'model.safetensors',
        metadata={'format': 'pt'},
      )
    parts = _create([], checkpoint=str(self._folder))
    np.testing.assert_array_equal(parts.tokenize(_TEXTS), self._tokens)
    self._assert_logits(_logits(keras_model, self._tokens), parts)

  @parameterized.parameters(False, True)
  def test_checkpoint_of_a_language_model_gets_a_head(self, is_language_model):
    keras_model = _keras_model(num_labels=5)
    if is_language_model:
      weights = _torch_weights(keras_model)
      weights = {k: v for k, v in weights.items() if 'classifier' not in k}
      weights['lm_head.bias'] = np.zeros([300], np.float32)
      keras_model.config.save_pretrained(self._folder)
      safetensors_numpy.save_file(
        weights, self._folder / 'model.safetensors', metadata={'format': 'pt'}
      )
      self._save_tokens()
    else:
      self._save(keras_model, safe_serialization=False)
    first, again, other = (
      _create([], checkpoint=self._folder, seed=seed) for seed in (0, 0, 1)
    )
    for name, variable, *weights in zip(
      first.tensor_names,
      keras_model.trainable_variables,
      *(p.create_model().initial_weights[0] for p in (first, again, other)),
      strict=True,
    ):
      np.testing.assert_array_equal(weights[0], weights[1])
      if name.startswith('classifier/'):
        # The other seed's biases are zero, too.
        if name.endswith('kernel'):
          self.assertGreater(np.abs(weights[0] - weights[2]).max(), 0)
          self.assertLess(np.abs(weights[0]).max(), 0.05)
        else:
          np.testing.assert_array_equal(weights[0], 0 * weights[0])
      else:
        np.testing.assert_array_equal(weights[0], variable.numpy())
        np.testing.assert_array_equal(weights[2], variable.numpy())
    self.assertEqual(
      first.create_model().initial_weights[0][-1].shape, (len(_CLASSES),)
    )

  def test_tokens_equal_those_of_the_library(self):
    tokenizer = self._save(_keras_model(), safe_serialization=False)
    slow = self._folder / 'parts'
    slow.mkdir()
    (slow / 'vocab.json').write_text(json.dumps(tokenizer['model']['vocab']))
    (slow / 'merges.txt').write_text(
      '#version: 0.2\n'
      + ''.join(' '.join(m) + '\n' for m in tokenizer['model']['merges'])
    )
    library = transformers.RobertaTokenizerFast(
      str(slow / 'vocab.json'), str(slow / 'merges.txt')
    )
    self.assertEqual(library.pad_token_id, 1)
    texts = ['', 'A team', 'Ein größeres Zelt\t!', ' so  much ' * 20, '<b>']
    expected = library(
      texts, padding='max_length', truncation=True, max_length=_LENGTH
    )['input_ids']
    self.assertTrue(any(row[-1] == 2 and 1 not in row for row in expected))
    np.testing.assert_array_equal(self._parts.tokenize(texts), expected)
    # The same, read from the two files.
    (self._folder / 'tokenizer.json').unlink()
    for file in slow.iterdir():
      file.rename(self._folder / file.name)
    parts = _create([], checkpoint=self._folder)
    np.testing.assert_array_equal(parts.tokenize(texts), expected)

  def test_a_text_cannot_end_itself(self):
    (row,) = self._parts.tokenize([b'a</s><pad>b'])
    self.assertEqual((row[0], list(row).count(0)), (0, 1))
    self.assertEqual(list(row).count(2), 1)
    self.assertNotIn(1, row)

  def test_order_of_texts_does_not_matter(self):
    np.testing.assert_array_equal(
      _create(_TEXTS[::-1]).tokenize(_TEXTS), self._tokens
    )

  def test_trains_on_the_fast_path(self):
    with mock.patch.dict(_NANO['tiny'], num_layers=1):
      model = _create(dropout=0.1).create_model()
    labels = np.arange(len(_TEXTS), dtype=np.int32) % 3
    data = [
      tf.data.Dataset.from_tensor_slices(
        (self._tokens[part], labels[part])
      ).batch(4)
      for part in (slice(9), slice(9, 15))
    ]
    context = cohort_context.create_sync_cohort_execution_context()
    finals = []
    with tff.framework.get_context_stack().install(context):
      process = algorithms.build_fed_avg(
        model, tff.learning.optimizers.build_adamw(0.01)
      )
      for _ in range(2):
        state = process.initialize()
        for _ in range(2):
          state, metrics = process.next(state, data)
        finals.append(process.get_model_weights(state).trainable)
    self.assertEmpty(context.general_path_reasons)
    self.assertTrue(np.isfinite(metrics['client_work']['train']['loss']))
    self.assertIn('f1_two', metrics['client_work']['train'])
    for one, two in zip(*finals, strict=True):
      np.testing.assert_array_equal(one, two)
      self.assertTrue(np.isfinite(one).all())

  @parameterized.parameters(
    ({'sequence_length': 2}, 'sequence_length is 2; an integer of at least 3'),
    ({'vocabulary_size': 260}, 'vocabulary_size is 260; at least 261'),
    ({'size': 'huge'}, "size is 'huge'; one of tiny, small, base"),
    ({'dropout': 1.0}, 'dropout is 1.0; a share'),
    ({'texts': []}, 'There is no text'),
    ({'texts': [b'\xff']}, 'is no UTF-8'),
    ({'class_names': ('one',)}, ''),
  )
  def test_faulty_options(self, options, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      _create(**options)

  def test_faulty_checkpoints(self):
    whole = self._folder / 'whole'
    _keras_model().save_pretrained(whole, safe_serialization=True)
    self._save_tokens(whole)

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
      path = folder / 'model.safetensors'
      weights = _torch_weights(_keras_model())
      del weights['roberta.encoder.layer.1.output.dense.weight']
      safetensors_numpy.save_file(weights, path, metadata={'format': 'pt'})

    def hdf5(folder):
      (folder / 'model.safetensors').unlink()
      with h5py.File(folder / 'tf_model.h5', 'w'):
        pass

    def other_padding(folder):
      path = folder / 'tokenizer.json'
      tokenizer = json.loads(path.read_text())
      tokenizer['model']['vocab']['<pad>'] = 2
      tokenizer['model']['vocab']['</s>'] = 1
      tokenizer['added_tokens'] = []
      path.write_text(json.dumps(tokenizer))

    for number, (change, regex) in enumerate(
      (
        (shutil.rmtree, 'There is no folder .*; that of a RoBERTa checkpoint'),
        (without('config.json'), 'has no config.json; that of a RoBERTa'),
        (write('config.json', '{'), 'config.json cannot be read'),
        (write('config.json', '[]'), 'is None; .roberta. was expected'),
        (configured(model_type='bert'), "is 'bert'; 'roberta' was expected"),
        (
          without('model.safetensors'),
          'has no weights; model.safetensors or tf_model.h5 was expected',
        ),
        (pickled, 'in pytorch_model.bin, a pickle, which can run any code'),
        (without('tokenizer.json'), 'has no tokens; tokenizer.json, or vocab'),
        (write('tokenizer.json', '{}'), 'The tokens of .* cannot be read'),
        (other_padding, 'have the ids <s> 0, </s> 1, <pad> 2; RoBERTa'),
        (cut, 'The weights .*model.safetensors cannot be read'),
        (write('model.safetensors', 'version'), 'cannot be read'),
        (hdf5, 'lack .* of RoBERTa|cannot be read'),
        (lacking, r'lack 1 of RoBERTa.*layer.1.output.dense.weight; all'),
        (
          configured(max_position_embeddings=10),
          'sequence_length is 12; at most the 8 tokens that the checkpoint',
        ),
        (configured(vocab_size=270), 'tokens, and embeddings of 270|lack 1 of'),
        (configured(hidden_size='wide'), 'cannot be read'),
      )
    ):
      folder = self._folder / str(number)
      shutil.copytree(whole, folder)
      change(folder)
      with self.assertRaisesRegex(errors.InputError, regex) as raised:
        _create([], checkpoint=folder)
      self.assertNotIn('\n', str(raised.exception))


if __name__ == '__main__':
  absltest.main()

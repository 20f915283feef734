# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Small models of the transformers library and their files, for tests."""

import json
import pathlib

from tasks.text import roberta_tokens

import numpy as np
from safetensors import numpy as safetensors_numpy
import transformers

CLASS_NAMES = ('one', 'two', 'three')
TEXTS = tuple(
  f'{one} {two} makes {three} of it, say {two}s'
  for one in ('Wall Street', 'A team', 'Iraq', 'Software')
  for two in ('giant', 'rocket', 'court', 'planet')
  for three in ('much', 'little', 'a fortune')
)
LENGTH = 12
VOCABULARY_SIZE = 300
# As `tasks.text.roberta.ROBERTA_SIZES` has them.
SIZE = dict(num_layers=1, num_heads=2, hidden_size=8)


def train_tokens(texts=TEXTS):
  """Learns the tokens of texts."""
  return roberta_tokens.train_roberta_tokens(
    texts, vocabulary_size=VOCABULARY_SIZE, sequence_length=LENGTH
  )


def create_keras_model(num_labels=3, vocabulary_size=VOCABULARY_SIZE):
  """Creates a classifier with weights that are not small."""
  config = transformers.RobertaConfig(
    vocab_size=vocabulary_size,
    hidden_size=SIZE['hidden_size'],
    num_hidden_layers=SIZE['num_layers'],
    num_attention_heads=SIZE['num_heads'],
    intermediate_size=32,
    max_position_embeddings=LENGTH + 2,
    num_labels=num_labels,
    type_vocab_size=1,
  )
  model = transformers.TFRobertaForSequenceClassification(config)
  model.build_in_name_scope()
  rng = np.random.default_rng(0)
  for variable in model.trainable_variables:
    variable.assign(0.5 * rng.normal(size=variable.shape))
  return model


def compute_logits(keras_model, tokens):
  """Returns the logits of a model as the library computes them."""
  return keras_model(
    tokens, attention_mask=(tokens != 1).astype(np.int32), training=False
  ).logits.numpy()


def torch_weights(keras_model):
  """Returns weights by the names, and of the shapes, that PyTorch's have."""
  weights = {}
  for variable in keras_model.trainable_variables:
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


def save_torch_model(folder, config, weights):
  """Writes a config and weights as PyTorch's models do.

  Args:
    folder: Where to write.
    config: Of the model.
    weights: As of `torch_weights`.
  """
  config.save_pretrained(folder)
  safetensors_numpy.save_file(
    weights,
    pathlib.Path(folder) / 'model.safetensors',
    metadata={'format': 'pt'},
  )


def save_language_model(folder, keras_model):
  """Writes a language model: what a classifier has except its head."""
  weights = {
    name: weight
    for name, weight in torch_weights(keras_model).items()
    if 'classifier' not in name
  }
  weights['lm_head.bias'] = np.zeros(
    [keras_model.config.vocab_size], np.float32
  )
  save_torch_model(folder, keras_model.config, weights)


def save_tokens(folder, tokens):
  """Writes tokenizer.json and returns what is in it."""
  tokenizer = json.loads(tokens._tokenizer.to_str())
  path = pathlib.Path(folder) / 'tokenizer.json'
  path.write_text(json.dumps(tokenizer))
  return tokenizer

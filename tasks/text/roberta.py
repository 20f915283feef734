# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""RoBERTa as a classifier of texts (Liu et al. 2019, arXiv:1907.11692).

The model is TFRobertaForSequenceClassification of the transformers library,
from a checkpoint in a local folder, or of a chosen size with random weights.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import os
import pathlib
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from tasks.text import roberta_checkpoint
from tasks.text import roberta_tokens

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# The sizes of models with random weights: 'tiny' is for CPUs, 'base' is the
# size of roberta-base.
ROBERTA_SIZES: Mapping[str, Mapping[str, int]] = {
  'tiny': dict(num_layers=2, num_heads=4, hidden_size=128),
  'small': dict(num_layers=4, num_heads=4, hidden_size=256),
  'base': dict(num_layers=12, num_heads=12, hidden_size=768),
}

_FEED_FORWARD_FACTOR = 4
# The tokens that begin and end a text, and one between.
_LEAST_LENGTH = 3
# The bound of initial weights, in standard deviations.
_LARGEST = 2.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Roberta:
  """A model and the tokens that it reads.

  Attributes:
    tokens: The tokenizer of the model's texts.
    model: The model of x int32 [batch, sequence_length] and y int32 [batch].
    tensor_names: The names of its trainable tensors, in their order.
  """

  tokens: roberta_tokens.RobertaTokens
  model: tff.learning.models.FunctionalModel
  tensor_names: tuple[str, ...]

  def tokenize(self, texts: Sequence[str | bytes]) -> np.ndarray:
    """Returns the tokens of texts, int32 [texts, sequence_length]."""
    return self.tokens.encode(texts)

  def create_model(self) -> tff.learning.models.FunctionalModel:
    """Returns the model, which holds no state."""
    return self.model


def create_roberta(
  texts: Sequence[str | bytes],
  *,
  class_names: Sequence[str],
  seed: int,
  sequence_length: int = 256,
  vocabulary_size: int = 8192,
  size: str = 'tiny',
  dropout: float | None = None,
  checkpoint: str | os.PathLike[str] | None = None,
) -> Roberta:
  """Creates a classifier of texts; nothing is ever downloaded.

  Args:
    texts: The texts that tokens are learned from; ignored with a checkpoint.
    class_names: The names of the classes 0, 1, ...
    seed: The seed of the weights that are not from a checkpoint.
    sequence_length: The number of tokens per text, including those that begin
      and end it.
    vocabulary_size: The largest number of learned token ids.
    size: The size of a model without checkpoint: tiny (2 layers of 128), small
      or base.
    dropout: The dropout rate of all layers in training; None for that of the
      checkpoint, or 0 without one.
    checkpoint: A folder with config.json, model.safetensors or tf_model.h5, and
      tokenizer.json, or vocab.json and merges.txt; it may begin with ~. If it
      has no classifier of the same number of classes, that part gets random
      weights. None for random weights and tokens learned from `texts`.

  Returns:
    A model with the metrics of `models.create_class_metric_fns`. Random weights
    have the distribution of the transformers library, but another stream.
  """
  models.check_class_names(class_names)
  fields.integer(_LEAST_LENGTH)('sequence_length', sequence_length)
  fields.integer(1)('vocabulary_size', vocabulary_size)
  fields.one_of(*ROBERTA_SIZES)('size', size)
  if dropout is None and checkpoint is None:
    dropout = 0.0
  if dropout is not None:
    fields.below_1('dropout', dropout)
  options = {
    # The library derives the number of classes from the names, if given.
    'id2label': dict(enumerate(class_names)),
    'label2id': {name: i for i, name in enumerate(class_names)},
  }
  if dropout is not None:
    options |= {
      'hidden_dropout_prob': dropout,
      'attention_probs_dropout_prob': dropout,
      'classifier_dropout': dropout,
    }
  if checkpoint is None:
    tokens = roberta_tokens.train_roberta_tokens(
      texts, vocabulary_size=vocabulary_size, sequence_length=sequence_length
    )
    config = create_config(
      **ROBERTA_SIZES[size],
      vocabulary_size=tokens.size,
      sequence_length=sequence_length,
      **options,
    )
    with roberta_checkpoint.quiet_transformers() as transformers:
      keras_model = transformers.TFRobertaForSequenceClassification(config)
      # Its weights are replaced below.
      keras_model.build_in_name_scope()
    has_head = has_body = False
  else:
    folder = pathlib.Path(os.path.expanduser(checkpoint))
    config = roberta_checkpoint.read_config(folder)
    tokens = roberta_tokens.load_roberta_tokens(
      folder, sequence_length=sequence_length
    )
    keras_model, has_head = roberta_checkpoint.load_checkpoint(
      folder, config={**config, **options}, sequence_length=sequence_length
    )
    has_body = True
    if tokens.size > keras_model.config.vocab_size:
      raise errors.InputError(
        f'The checkpoint {folder} must have embeddings for all of its '
        f'{tokens.size} tokens, got {keras_model.config.vocab_size}.'
      )
  for number, variable in enumerate(keras_model.trainable_variables):
    known = has_head if roberta_checkpoint.is_head(variable) else has_body
    if not known:
      variable.assign(
        _draw(
          variable, seed, number, float(keras_model.config.initializer_range)
        )
      )

  def call(tokens: tf.Tensor, training: bool) -> tf.Tensor:
    mask = tf.cast(tf.not_equal(tokens, roberta_tokens.PADDING), tf.int32)
    return keras_model(
      tokens, attention_mask=mask, training=training, return_dict=True
    ).logits

  with roberta_checkpoint.quiet_transformers():
    return Roberta(
      tokens=tokens,
      model=models.create_keras_classifier(
        keras_model,
        call=call,
        input_spec=tf.TensorSpec([None, sequence_length], tf.int32),
        class_names=class_names,
      ),
      tensor_names=models.keras_tensor_names(keras_model),
    )


def create_config(
  *,
  num_layers: int,
  num_heads: int,
  hidden_size: int,
  vocabulary_size: int,
  sequence_length: int,
  **options: Any,
) -> Any:
  """Creates a config of the transformers library, with RoBERTa's proportions.

  Args:
    num_layers: The number of layers, each of attention and a feed-forward
      network.
    num_heads: The number of attention heads of each layer.
    hidden_size: The width of a layer.
    vocabulary_size: The number of token ids.
    sequence_length: The largest number of tokens of a text.
    **options: More arguments of `transformers.RobertaConfig`.
  """
  with roberta_checkpoint.quiet_transformers() as transformers:
    return transformers.RobertaConfig(
      vocab_size=vocabulary_size,
      num_hidden_layers=num_layers,
      num_attention_heads=num_heads,
      hidden_size=hidden_size,
      intermediate_size=_FEED_FORWARD_FACTOR * hidden_size,
      max_position_embeddings=sequence_length + roberta_tokens.PADDING + 1,
      # The value in published files; the library's default is that of BERT.
      layer_norm_eps=1e-5,
      type_vocab_size=1,
      **options,
    )


def _draw(
  variable: tf.Variable, seed: int, number: int, deviation: float
) -> np.ndarray:
  """Draws an initial weight of RoBERTa: normal, cut at two deviations."""
  kind = variable.name.rpartition('/')[-1].partition(':')[0]
  if kind in ('bias', 'beta', 'gamma'):
    return np.full(variable.shape, kind == 'gamma', np.float32)
  stream = datasets.random_generator('initial weights', seed, number)
  values = stream.standard_normal(variable.shape, np.float32)
  while (outside := np.abs(values) > _LARGEST).any():
    values[outside] = stream.standard_normal(outside.sum(), np.float32)
  return np.float32(deviation) * values

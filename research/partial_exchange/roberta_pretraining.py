# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pretraining of a RoBERTa: the prediction of masked tokens."""

from collections.abc import Iterator

from fedfish_tff import errors
from launch.data import client_folder
from launch.data import client_texts
from tasks.text import roberta
from tasks.text import roberta_checkpoint
from tasks.text import roberta_tokens

import numpy as np
import tensorflow as tf
import tqdm

_BATCH_SIZE = 64
# Liu et al. (2019, arXiv:1907.11692): section 2.2; table 9 for the weight decay
# and, nearly, the share of the steps that warm up (24,000 of 500,000).
_MASKED_SHARE = 0.15
_WEIGHT_DECAY = 0.01
_WARMUP_SHARE = 0.05
# A shorter line, such as a name or a date, says little about the language.
_LEAST_CHARACTERS = 40


def run(
  input_path: str,
  output_dir: str,
  *,
  size: str = 'tiny',
  vocabulary_size: int = 4096,
  sequence_length: int = 64,
  epochs: int = 3,
  learning_rate: float = 1e-3,
) -> None:
  """Writes a checkpoint and prints its path.

  Args:
    input_path: A folder of grouped clients with a split train.
    output_dir: The folder of the checkpoint, a new one.
    size: A key of `roberta.ROBERTA_SIZES`.
    vocabulary_size: The largest number of token ids, special ones included.
    sequence_length: The number of tokens of an example, at least 3.
    epochs: The number of epochs.
    learning_rate: The largest rate, after a warm-up and before a linear decay.

  Raises:
    errors.InputError: If the texts cannot be read or are too few, the
      vocabulary is too small, the loss becomes infinite or NaN, or the folder
      is not free or cannot be written.
  """
  with client_folder.new_folder(output_dir) as folder:
    lines = [
      line
      for text in client_texts.read_texts(input_path)
      for line in text.splitlines()
      if len(line) >= _LEAST_CHARACTERS
    ]
    if len(lines) < _BATCH_SIZE:
      raise errors.InputError(
        f'The texts of {input_path} must have at least {_BATCH_SIZE} lines of '
        f'{_LEAST_CHARACTERS} characters, got {len(lines)}.'
      )
    tokens = roberta_tokens.train_roberta_tokens(
      lines, vocabulary_size=vocabulary_size, sequence_length=sequence_length
    )
    (folder / 'tokenizer.json').write_text(tokens.to_json(), 'utf-8')
    rows = tokens.encode(lines)
    del lines
    steps = epochs * (len(rows) // _BATCH_SIZE)
    print(f'{len(rows):,} lines, {tokens.size:,} tokens, {steps:,} steps')
    config = roberta.create_config(
      **roberta.ROBERTA_SIZES[size],
      vocabulary_size=tokens.size,
      sequence_length=sequence_length,
    )
    with roberta_checkpoint.quiet_transformers() as transformers:
      tf.keras.utils.set_random_seed(0)
      model = transformers.TFRobertaForMaskedLM(config)
      model.build_in_name_scope()
      optimizer, _ = transformers.create_optimizer(
        learning_rate,
        num_train_steps=steps,
        num_warmup_steps=round(_WARMUP_SHARE * steps),
        weight_decay_rate=_WEIGHT_DECAY,
      )
      loss = _train(
        model, optimizer, masked_batches(rows, tokens.size, epochs), steps
      )
      model.save_pretrained(folder, safe_serialization=True)
  print(f'loss {loss:.3f} nats per masked token\n{output_dir}')


def _train(
  model: tf.keras.Model,
  optimizer: tf.keras.optimizers.Optimizer,
  batches: Iterator[tuple[np.ndarray, ...]],
  steps: int,
) -> float:
  """Trains on all batches and returns the mean loss of the last hundredth."""

  # The library's own loss has logits of all tokens: six times as slow.
  @tf.function(
    input_signature=[
      tf.TensorSpec([None, None], tf.int32),
      tf.TensorSpec([None], tf.int64),
      tf.TensorSpec([None], tf.int32),
    ]
  )
  def step(rows: tf.Tensor, places: tf.Tensor, tokens: tf.Tensor) -> tf.Tensor:
    mask = tf.cast(rows != roberta_tokens.PADDING, tf.int32)
    with tf.GradientTape() as tape:
      hidden = model.roberta(rows, attention_mask=mask, training=True)[0]
      flat = tf.reshape(hidden, [-1, model.config.hidden_size])
      logits = model.lm_head(tf.gather(flat, places)[tf.newaxis])[0]
      loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(tokens, logits)
      )
    weights = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss

  losses = []
  with tqdm.tqdm(total=steps, desc='pretrain', disable=None) as bar:
    for batch in batches:
      losses.append(float(step(*batch)))
      if not np.isfinite(losses[-1]):
        raise errors.InputError(
          'learning_rate must keep the loss finite, got '
          f'{losses[-1]} in step {len(losses)}.'
        )
      bar.set_postfix(loss=f'{losses[-1]:.2f}', refresh=False)
      bar.update()
  return float(np.mean(losses[-max(1, steps // 100) :]))


def masked_batches(
  rows: np.ndarray, num_tokens: int, epochs: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
  """Yields whole batches in random order, each time with other masked tokens.

  Args:
    rows: The tokens, int32 [rows, sequence_length].
    num_tokens: The number of token ids.
    epochs: The number of epochs.

  Yields:
    Tokens to read, int32 [64, sequence_length]; the places of those to predict
    in the flattened batch, int64 [places]; the true tokens there, int32.
  """
  rng = np.random.default_rng(0)
  last = len(rows) - len(rows) % _BATCH_SIZE
  for _ in range(epochs):
    for chosen in rng.permutation(len(rows))[:last].reshape(-1, _BATCH_SIZE):
      batch = rows[chosen]
      places = np.flatnonzero(
        (batch >= roberta_tokens.NUM_SPECIAL)
        & (rng.random(batch.shape) < _MASKED_SHARE)
      )
      true = batch.flat[places]
      # Of ten chosen tokens eight are masked, one is another, one stays.
      kind = rng.choice(3, len(places), p=(0.8, 0.1, 0.1))
      other = rng.integers(roberta_tokens.NUM_SPECIAL, num_tokens, len(places))
      batch.flat[places] = np.choose(kind, (roberta_tokens.MASK, other, true))
      yield batch, places, true

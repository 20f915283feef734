# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the transformer, against NumPy in float64."""

import functools

from fedfish_tff import errors
from tasks.networks import transformer
from tests import tolerance
from tests.models import model_checks

from absl.testing import parameterized
import numpy as np
from scipy import special
from scipy import stats
import tensorflow as tf

_SIZE = 11


def _create(**kwargs):
  return transformer.create_transformer(
    **{
      **dict(
        vocabulary_size=_SIZE, num_layers=2, num_heads=2, hidden_size=8, seed=0
      ),
      **kwargs,
    }
  )


def _random_weights(model):
  """Returns weights without the ones and zeros of the start, float64."""
  rng = np.random.default_rng(5)
  return [
    w + 0.1 * rng.standard_normal(w.shape) for w in model.initial_weights[0]
  ]


_tokens = functools.partial(model_checks.draw_tokens, _SIZE)


def _predict(model, weights, x):
  weights = [np.asarray(w, np.float32) for w in weights]
  return model.predict_on_batch((weights, ()), x, training=True).numpy()


def _normal(row, scale, offset):
  return (row - row.mean()) / np.sqrt(row.var() + 1e-5) * scale + offset


def _reference(weights, num_heads, x):
  """Computes the logits of one sequence, a token and a head at a time."""
  weights = list(weights)
  embedding = weights[0]
  hidden = embedding.shape[1]
  size = hidden // num_heads
  states = []
  for place, token in enumerate(x):
    state = embedding[token].copy()
    for i in range(hidden // 2):
      angle = place / 10000 ** (2 * i / hidden)
      state[i] += np.sin(angle) / np.sqrt(hidden)
      state[hidden // 2 + i] += np.cos(angle) / np.sqrt(hidden)
    states.append(state)
  layers = weights[1:-2]
  for start in range(0, len(layers), 12):
    (
      scale1,
      offset1,
      in_kernel,
      in_bias,
      out_kernel,
      out_bias,
      scale2,
      offset2,
      up,
      up_bias,
      down,
      down_bias,
    ) = layers[start : start + 12]
    inputs = [_normal(s, scale1, offset1) @ in_kernel + in_bias for s in states]
    attended = []
    for place in range(len(x)):
      heads = []
      for head in range(num_heads):
        columns = slice(head * size, (head + 1) * size)
        query = inputs[place][:hidden][columns]
        scores = [
          query @ inputs[past][hidden : 2 * hidden][columns] / np.sqrt(size)
          for past in range(place + 1)
        ]
        shares = special.softmax(scores)
        heads.append(
          sum(
            shares[past] * inputs[past][2 * hidden :][columns]
            for past in range(place + 1)
          )
        )
      attended.append(np.concatenate(heads) @ out_kernel + out_bias)
    states = [s + a for s, a in zip(states, attended)]
    for place, state in enumerate(states):
      z = _normal(state, scale2, offset2) @ up + up_bias
      states[place] = state + z * stats.norm.cdf(z) @ down + down_bias
  return np.stack([_normal(s, *weights[-2:]) @ embedding.T for s in states])


def _reference_loss(weights, num_heads, x, y):
  losses = []
  for tokens, labels in zip(x, y):
    log_shares = special.log_softmax(
      _reference(weights, num_heads, tokens), axis=1
    )
    losses += [-log_shares[t, k] for t, k in enumerate(labels) if k]
  return np.mean(losses)


class TransformerTest(parameterized.TestCase):
  @parameterized.parameters((1, 1, 4), (2, 2, 8), (3, 4, 24))
  def test_is_the_same_in_numpy(self, num_layers, num_heads, hidden_size):
    model = _create(
      num_layers=num_layers, num_heads=num_heads, hidden_size=hidden_size
    )
    weights = _random_weights(model)
    x, y = _tokens(3, 7)
    y[1, 4:] = 0
    logits = _predict(model, weights, x)
    self.assertEqual(logits.dtype, np.float32)
    for row, tokens in zip(logits, x):
      expected = _reference(weights, num_heads, tokens)
      np.testing.assert_allclose(row, expected, rtol=1e-4, atol=1e-4)
    tolerance.assert_close(
      model.loss(logits, y).numpy(), _reference_loss(weights, num_heads, x, y)
    )

  def test_gradient_is_that_of_the_reference(self):
    model = _create()
    weights = _random_weights(model)
    x, y = _tokens(2, 5)
    y[0, 3:] = 0
    model_checks.check_gradient(
      self,
      model,
      weights,
      (x, y),
      lambda weights: _reference_loss(weights, 2, x, y),
      delta=1e-4,
    )

  @parameterized.named_parameters(
    ('float32', 'float32'), ('bfloat16', 'bfloat16')
  )
  def test_no_token_sees_the_future(self, dtype):
    model = _create(activation_dtype=dtype)
    weights = _random_weights(model)
    x, _ = _tokens(2, 9)
    before = _predict(model, weights, x)
    for place in range(1, 9):
      changed = x.copy()
      changed[:, place:] = _tokens(2, 9, seed=place)[0][:, place:]
      changed[:, place] = x[:, place] % (_SIZE - 1) + 1
      after = _predict(model, weights, changed)
      np.testing.assert_array_equal(after[:, :place], before[:, :place])
      self.assertTrue(np.all(np.any(after != before, axis=2)[:, place]))
      # Nor does it see how much of it there is.
      shorter = _predict(model, weights, x[:, :place])
      tolerance.assert_close(shorter, before[:, :place])

  def test_bfloat16(self):
    """Near float32, and not the same."""
    weights = _random_weights(_create())
    x, y = _tokens(4, 12)
    losses, gradients = [], []
    for dtype in ('float32', 'bfloat16'):
      model = _create(activation_dtype=dtype)
      tensors = [tf.constant(w, tf.float32) for w in weights]
      with tf.GradientTape() as tape:
        tape.watch(tensors)
        logits = model.predict_on_batch((tensors, ()), x)
        loss = model.loss(logits, y)
      self.assertEqual(logits.dtype, tf.float32)
      losses.append(loss.numpy())
      gradients.append(
        np.concatenate(
          [
            tf.convert_to_tensor(g).numpy().ravel()
            for g in tape.gradient(loss, tensors)
          ]
        )
      )
    self.assertNotEqual(*losses)
    self.assertAlmostEqual(*losses, delta=0.03)
    self.assertGreater(np.corrcoef(gradients)[0, 1], 0.99)

  def test_numbers_of_weights(self):
    """GPT-2 has 124,439,808, of which 1024 x 768 are positions."""
    shapes = transformer._shapes(50_257, 12, 768)
    count = sum(np.prod(shape) for _, shape in shapes)
    self.assertEqual(count, 124_439_808 - 1024 * 768)

  def test_initial_weights(self):
    sizes = dict(vocabulary_size=500, hidden_size=64, num_layers=8)
    model = _create(**sizes, seed=1)
    weights = model.initial_weights[0]
    for i, (name, shape) in enumerate(transformer._shapes(500, 8, 64)):
      weight = weights[i]
      self.assertEqual((weight.shape, weight.dtype), (shape, np.float32))
      if weight.ndim == 1:
        np.testing.assert_array_equal(weight, float(name.endswith('scale')))
        continue
      fan_in = shape[1] if i == 0 else shape[0]
      factor = 4 if name.endswith('_output/kernel') else 1
      test = stats.kstest(
        weight.ravel()[:4000] * np.sqrt(fan_in) * factor, 'norm'
      )
      self.assertGreater(test.pvalue, 1e-4, msg=str(i))
    x = np.random.default_rng(0).integers(1, 500, [4, 33]).astype(np.int32)
    loss = model.loss(_predict(model, weights, x[:, :-1]), x[:, 1:])
    self.assertBetween(loss.numpy() - np.log(500), 0, 1)

  @parameterized.parameters(*transformer.TRANSFORMER_SIZES)
  def test_sizes(self, name):
    sizes = transformer.TRANSFORMER_SIZES[name]
    if name != 'tiny':
      self.assertEqual(name, f'{sizes["num_layers"]}x{sizes["hidden_size"]}')
    self.assertEqual(sizes['hidden_size'] % (2 * sizes['num_heads']), 0)
    if name != '12x768':
      _create(**sizes)

  @parameterized.parameters(
    (dict(hidden_size=9), 'hidden_size must be .*got 9'),
    (dict(hidden_size=3, num_heads=1), 'hidden_size must be .*got 3'),
    (dict(activation_dtype='float16'), "activation_dtype .*'float16'"),
  )
  def test_bad_arguments(self, kwargs, message):
    with self.assertRaisesRegex(errors.InputError, message):
      _create(**kwargs)

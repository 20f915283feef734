# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Selections of tensors, against NumPy."""

from fedfish_tff import client_work
from fedfish_tff import errors

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
import numpy as np
import tensorflow as tf

_SHAPES = ((2, 3), (4,), (), (1, 2, 2), (5,))
_LARGEST = client_work.Direction.LARGEST
# Few different values, so that ties are common; all sums of squares are exact.
_VALUES = st.integers(-3, 3).map(float)
_SETTINGS = hypothesis.settings(max_examples=30)


@st.composite
def _tensors(draw):
  return [
    draw(hnp.arrays(np.float32, shape, elements=_VALUES)) for shape in _SHAPES
  ]


def _select(selector, before, after):
  masks = selector.select(
    tuple(tf.constant(t) for t in before), tuple(tf.constant(t) for t in after)
  )
  return [mask.numpy() for mask in masks]


def _drifts(before, after, groups, normalize):
  drifts = []
  for group in range(max(groups) + 1):
    members = [i for i, g in enumerate(groups) if g == group]
    moved = np.concatenate([np.ravel(after[i] - before[i]) for i in members])
    drift = np.linalg.norm(moved.astype(np.float64))
    drifts.append(drift / moved.size if normalize else drift)
  return np.float32(drifts)


def _first_of_the_best(values, count, direction):
  sign = -1 if direction is _LARGEST else 1
  order = sorted(range(len(values)), key=lambda i: (sign * values[i], i))
  return [i in order[:count] for i in range(len(values))]


class ShareTest(parameterized.TestCase):
  @_SETTINGS
  @hypothesis.given(
    before=_tensors(),
    after=_tensors(),
    tenths=st.integers(1, 10),
    direction=st.sampled_from(client_work.Direction),
    normalize=st.booleans(),
    groups=st.sampled_from([None, (0, 0, 1, 2, 2), (1, 0, 1, 0, 1)]),
  )
  def test_equals_numpy(
    self, before, after, tenths, direction, normalize, groups
  ):
    selector = client_work.build_share_selector(
      tenths / 10, direction=direction, normalize=normalize, groups=groups
    )
    actual = _select(selector, before, after)
    groups = groups or tuple(range(len(_SHAPES)))
    drifts = _drifts(before, after, groups, normalize)
    # Sums of another order may part what is equal in float64.
    hypothesis.assume(
      not normalize or len(set(np.round(drifts, 5))) == len(drifts)
    )
    count = -(-tenths * len(drifts) // 10)
    chosen = _first_of_the_best(drifts, count, direction)
    self.assertEqual([bool(m) for m in actual], [chosen[g] for g in groups])
    self.assertEqual([m.shape for m in actual], [()] * len(_SHAPES))

  @parameterized.parameters(
    (0.1, 30, 3), (0.3, 10, 3), (0.7, 10, 7), (1e-9, 5, 1)
  )
  def test_the_count_has_no_rounding_errors(self, share, number, count):
    rng = np.random.default_rng(0)
    before = [np.zeros(2, np.float32)] * number
    after = [rng.normal(size=2).astype(np.float32) for _ in range(number)]
    selector = client_work.build_share_selector(share)
    self.assertEqual(sum(_select(selector, before, after)), count)

  def test_a_share_of_one_sends_even_what_is_not_finite(self):
    nan = [np.float32([np.nan]), np.float32([1])]
    selector = client_work.build_share_selector(1.0)
    self.assertEqual(_select(selector, nan, nan), [True, True])

  @parameterized.parameters(0, -0.1, 1.01, float('nan'), '0.3', None, True)
  def test_bad_shares(self, share):
    for build in (
      client_work.build_share_selector,
      client_work.build_coordinate_selector,
    ):
      with self.assertRaisesRegex(
        errors.InputError, f'share must be .*got {share!r}'
      ):
        build(share)

  def test_values_of_enums_are_no_members(self):
    with self.assertRaisesRegex(errors.InputError, "direction .*'largest'"):
      client_work.build_share_selector(0.5, direction='largest')
    with self.assertRaisesRegex(
      errors.InputError, "score must be .*got 'change'"
    ):
      client_work.build_coordinate_selector(0.5, score='change')

  def test_groups_of_another_model_are_refused(self):
    selector = client_work.build_share_selector(0.5, groups=(0, 1))
    with self.assertRaisesRegex(errors.InputError, '3 trainable .*2'):
      selector.mask_bits([tf.TensorShape([2])] * 3)

  def test_mask_has_a_bit_a_group(self):
    shapes = [tf.TensorShape(shape) for shape in _SHAPES]
    for groups, bits in ((None, 5), ((0, 0, 1, 2, 2), 3)):
      selector = client_work.build_share_selector(0.5, groups=groups)
      self.assertEqual(selector.mask_bits(shapes), bits)
      self.assertFalse(selector.per_coordinate)


class ThresholdTest(parameterized.TestCase):
  @_SETTINGS
  @hypothesis.given(
    before=_tensors(),
    after=_tensors(),
    threshold=st.integers(0, 8),
    direction=st.sampled_from(client_work.Direction),
  )
  def test_equals_numpy(self, before, after, threshold, direction):
    selector = client_work.build_threshold_selector(
      float(threshold), direction=direction
    )
    actual = [bool(m) for m in _select(selector, before, after)]
    for mask, start, end in zip(actual, before, after):
      # Squares are whole numbers: exact.
      square = np.sum((end - start).astype(np.float64) ** 2)
      if direction is _LARGEST:
        self.assertEqual(mask, square >= threshold**2)
      else:
        self.assertEqual(mask, square <= threshold**2)

  @parameterized.parameters(-1.0, float('inf'), float('nan'), '1', None)
  def test_bad_thresholds(self, threshold):
    with self.assertRaisesRegex(
      errors.InputError, f'threshold .*got {threshold!r}'
    ):
      client_work.build_threshold_selector(threshold)


class CoordinateTest(parameterized.TestCase):
  @_SETTINGS
  @hypothesis.given(
    before=_tensors(),
    after=_tensors(),
    tenths=st.integers(1, 10),
    direction=st.sampled_from(client_work.Direction),
    score=st.sampled_from(client_work.CoordinateScore),
  )
  def test_equals_numpy(self, before, after, tenths, direction, score):
    selector = client_work.build_coordinate_selector(
      tenths / 10, direction=direction, score=score
    )
    actual = _select(selector, before, after)
    w0 = np.concatenate([np.ravel(t) for t in before])
    w = np.concatenate([np.ravel(t) for t in after])
    scores = {
      client_work.CoordinateScore.WEIGHT: abs(w),
      client_work.CoordinateScore.CHANGE: abs(w - w0),
      client_work.CoordinateScore.MAGNITUDE_CHANGE: abs(abs(w) - abs(w0)),
    }[score]
    expected = _first_of_the_best(scores, -(-tenths * w.size // 10), direction)
    self.assertEqual([m.shape for m in actual], list(_SHAPES))
    self.assertEqual(
      np.concatenate([np.ravel(m) for m in actual]).tolist(), expected
    )

  def test_mask_has_a_bit_a_coordinate(self):
    selector = client_work.build_coordinate_selector(0.5)
    shapes = [tf.TensorShape(shape) for shape in _SHAPES]
    self.assertEqual(selector.mask_bits(shapes), 6 + 4 + 1 + 4 + 5)
    self.assertTrue(selector.per_coordinate)


class GroupsTest(parameterized.TestCase):
  def test_tensors_of_a_layer_are_one_group(self):
    self.assertEqual(
      client_work.group_by_layer(
        ['a/dense/kernel', 'a/dense/bias', 'scale', 'b/kernel', 'a/dense/x']
      ),
      (0, 0, 1, 2, 0),
    )

  def test_names_without_layers_are_for_themselves(self):
    self.assertEqual(client_work.group_by_layer(['w', 'b', 'w']), (0, 1, 2))

  @parameterized.parameters(
    ([], 'a name for each tensor'),
    (['one/kernel', 'one/bias'], 'of several layers, got one'),
  )
  def test_bad_names(self, names, message):
    with self.assertRaisesRegex(errors.InputError, message):
      client_work.group_by_layer(names)

  @parameterized.parameters(((),), ((0, 2),), ((1, 2),), ((-1, 0),))
  def test_bad_groups(self, groups):
    with self.assertRaisesRegex(errors.InputError, 'without a gap'):
      client_work.build_share_selector(0.5, groups=groups)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of SqueezeNet, against NumPy and figures of others."""

from fedfish_tff import errors
from tasks.networks import squeezenet
from tests import local_data
from tests import temporary_folders
from tests import tolerance
from tests.tasks.networks import convolutional_reference
from tests.tasks.networks import random_squeezenet

from absl.testing import parameterized
import numpy as np
import pytest
from scipy import ndimage
from sklearn import linear_model


class SqueezenetTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self._path = self.folder / 'weights.h5'

  @parameterized.parameters(31, 32, 39)
  def test_equals_numpy(self, size):
    weights = random_squeezenet.draw_weights()
    random_squeezenet.write_weights(self._path, weights)
    extractor = squeezenet.load_squeezenet(self._path, image_size=size)
    images = np.random.default_rng(1).integers(
      0, 256, [3, size, size, 3], np.uint8
    )
    features = extractor.extract(images)
    expected = convolutional_reference.squeezenet(
      random_squeezenet.flatten(weights), images
    )
    self.assertEqual(features.shape, (3, 512))
    self.assertGreater(np.ptp(expected, axis=0).mean(), 1)
    tolerance.assert_close(features, expected, relative=tolerance.FLOAT32_STEPS)

  def test_resizes_bilinearly(self):
    weights = random_squeezenet.flatten(random_squeezenet.draw_weights())
    images = np.random.default_rng(1).integers(0, 256, [2, 8, 8, 3], np.uint8)
    larger = ndimage.zoom(
      images.astype(np.float64),
      (1, 4, 4, 1),
      order=1,
      mode='nearest',
      grid_mode=True,
    )
    features = squeezenet.create_squeezenet(weights, image_size=32).extract(
      images
    )
    expected = convolutional_reference.squeezenet(weights, larger)
    tolerance.assert_close(features, expected, relative=tolerance.FLOAT32_STEPS)

  def test_number_of_weights(self):
    extractor = squeezenet.create_squeezenet(
      random_squeezenet.flatten(random_squeezenet.draw_weights())
    )
    self.assertEqual(sum(w.size for w in extractor.initial_weights), 722_496)

  @parameterized.parameters(31, 64)
  def test_parts_compute_what_the_whole_does(self, size):
    whole = squeezenet.create_squeezenet(
      random_squeezenet.flatten(random_squeezenet.draw_weights()),
      image_size=size,
    )
    images = np.random.default_rng(1).integers(0, 256, [3, 8, 8, 3], np.uint8)
    expected = whole.extract(images)
    fires = [f'fire{i}' for i in range(2, 10)]
    widths = {}
    for layer in [*fires, *(f'{fire}/expand' for fire in fires)]:
      lower, upper = whole.split(layer)
      vectors = lower.extract(images)
      widths[layer] = vectors.shape[1]
      tolerance.assert_close(upper.extract(vectors), expected)
      for found, wanted in zip(
        lower.initial_weights + upper.initial_weights,
        whole.initial_weights,
        strict=True,
      ):
        self.assertIs(found, wanted)
    # Halved by a stride and by three poolings, each of 3 and every 2.
    halved = [size]
    for _ in range(4):
      halved.append((halved[-1] - 3) // 2 + 1)
    self.assertEqual(widths['fire2'], halved[2] ** 2 * 64)
    self.assertEqual(widths['fire4/expand'], halved[3] ** 2 * 32)
    self.assertEqual(widths['fire9'], halved[4] ** 2 * 512)
    self.assertEqual(widths['fire9/expand'], halved[4] ** 2 * 64)

  def test_fingerprints_of_parts(self):
    weights = random_squeezenet.draw_weights()

    def parts(layer, **options):
      return squeezenet.create_squeezenet(
        random_squeezenet.flatten(weights), **options
      ).split(layer)

    lower, upper = parts('fire9')
    self.assertEqual(lower.fingerprint, parts('fire9')[0].fingerprint)
    others = [
      *parts('fire8'),
      *parts('fire9/expand'),
      *parts('fire9', image_size=64),
    ]
    kernel, bias = weights['fire8/expand1x1']
    weights['fire8/expand1x1'] = kernel, bias + 1
    others.append(parts('fire9')[0])
    self.assertLen({e.fingerprint for e in (lower, upper, *others)}, 9)
    # What is above does not change what is kept.
    kernel, bias = weights['fire9/expand1x1']
    weights['fire9/expand1x1'] = kernel, bias + 1
    self.assertEqual(others[-1].fingerprint, parts('fire9')[0].fingerprint)

  @parameterized.parameters('conv1', 'fire10', 'fire9/squeeze1x1')
  def test_layers_that_it_cannot_be_split_before(self, layer):
    whole = squeezenet.create_squeezenet(
      random_squeezenet.flatten(random_squeezenet.draw_weights())
    )
    with self.assertRaisesRegex(
      errors.InputError,
      f"'squeezenet' cannot be split before layer '{layer}'.*one of fire2, ",
    ):
      whole.split(layer)

  def test_missing_and_wrong_weights(self):
    weights = random_squeezenet.draw_weights()
    kernel, bias = weights.pop('fire9/expand3x3')
    random_squeezenet.write_weights(self._path, weights)
    with self.assertRaisesRegex(errors.InputError, 'kernel of fire9/expand3x3'):
      squeezenet.load_squeezenet(self._path)
    weights['fire9/expand3x3'] = kernel, bias[:-1]
    random_squeezenet.write_weights(self._path, weights)
    with self.assertRaisesRegex(
      errors.InputError, r'\[256\] as bias of fire9/expand3x3.*got \[255\]'
    ):
      squeezenet.load_squeezenet(self._path)
    with self.assertRaisesRegex(errors.InputError, 'got 2 of the shapes'):
      squeezenet.create_squeezenet([kernel, bias])

  def test_damaged_and_missing_file(self):
    with self.assertRaisesRegex(
      errors.InputError,
      'no file .*/weights.h5, .*weights of SqueezeNet v1.1 without top .published as',
    ):
      squeezenet.load_squeezenet(self._path)
    random_squeezenet.write_weights(
      self._path, random_squeezenet.draw_weights()
    )
    self._path.write_bytes(self._path.read_bytes()[:5000])
    with self.assertRaisesRegex(errors.InputError, 'complete .h5 file'):
      squeezenet.load_squeezenet(self._path)

  def test_values_that_are_no_weights(self):
    weights = random_squeezenet.draw_weights()
    for value, message in (
      (
        np.float64(1e300),
        'kernel of conv1 .* finite .*float32.*, got 1e\\+300',
      ),
      (np.complex128(1), 'kernel of conv1 .*, got complex128'),
    ):
      kernel, bias = weights['conv1']
      changed = np.full_like(kernel, value, value.dtype)
      other = {**weights, 'conv1': (changed, bias)}
      random_squeezenet.write_weights(self._path, other)
      with self.assertRaisesRegex(errors.InputError, message):
        squeezenet.load_squeezenet(self._path)

  def test_small_images(self):
    with self.assertRaisesRegex(errors.InputError, 'least 31x31.*30x30'):
      squeezenet.create_squeezenet(
        random_squeezenet.flatten(random_squeezenet.draw_weights()),
        image_size=30,
      )


class PublishedWeightsTest(parameterized.TestCase):
  """Scores of the network trained on ImageNet, where it is at hand."""

  def setUp(self):
    super().setUp()
    self._path = (
      local_data.find_sample('squeezenet_v11') / random_squeezenet.FILE_NAME
    )

  def test_equals_numpy_on_a_crop_of_a_photograph(self):
    archive = np.load(local_data.find_sample('cifar10') / 'cifar10_subset.npz')
    images = archive['images'][:4]
    extractor = squeezenet.load_squeezenet(self._path, image_size=32)
    expected = convolutional_reference.squeezenet(
      extractor.initial_weights, images
    )
    tolerance.assert_close(
      extractor.extract(images), expected, relative=tolerance.FLOAT32_STEPS
    )

  @pytest.mark.slow
  def test_linear_classifier_on_its_features(self):
    """Ridge regression; whoever prepared the sample found 75.6 %."""
    archive = np.load(local_data.find_sample('cifar10') / 'cifar10_subset.npz')
    is_test = archive['is_test'].astype(bool)
    splits = []
    extractor = squeezenet.load_squeezenet(self._path)
    for chosen, count in ((~is_test, 3000), (is_test, 1000)):
      indices = np.flatnonzero(chosen)[:count]
      features = extractor.extract(archive['images'][indices])
      splits.append((features.astype(np.float64), archive['labels'][indices]))
    (x, y), (test_x, test_y) = splits
    mean, deviation = x.mean(axis=0), x.std(axis=0) + 1e-9
    x, test_x = ((part - mean) / deviation for part in (x, test_x))
    ridge = linear_model.Ridge(alpha=0.01 * len(x)).fit(x, np.eye(10)[y])
    accuracy = np.mean(np.argmax(ridge.predict(test_x), axis=1) == test_y)
    # Theirs are other images of the sample: two standard errors of 1,000.
    self.assertBetween(accuracy, 0.756 - 0.027, 0.756 + 0.027)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of tasks on features of images, with a network that is not trained."""

from fedfish_tff import errors
from tasks.features import image_features
from tests import labelled_images
from tests import named_tensors
from tests import temporary_folders
from tests import tff_database
from tests import tolerance
from tests import usable_tasks
from tests.tasks.networks import random_squeezenet

from absl.testing import parameterized
import numpy as np

_NUM_CLASSES = 10


class ImageFeaturesTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self._arrays = labelled_images.write(
      self.folder, num_classes=_NUM_CLASSES, per_class=12
    )
    random_squeezenet.write(self.folder)

  def _create(self, **options):
    return image_features.TASKS['cifar10_features'](
      **{
        'seed': 0,
        'data_dir': str(self.folder),
        'images': 'images.npz',
        'num_clients': 20,
        'image_size': 32,
        'feature_dir': str(self.folder / 'features'),
        **options,
      }
    )

  @parameterized.parameters(0.0, 0.1, 10.0)
  def test_every_training_image_once(self, alpha):
    task = self._create(alpha=alpha, inputs='images', unit_features=False)
    clients = usable_tasks.load_clients(task.train)
    self.assertLen(clients, 20)
    found, _ = usable_tasks.pool(task.train)
    expected = self._arrays['images'][self._arrays['is_test'] == 0]
    self.assertEqual(
      sorted(image.tobytes() for image in found.astype(np.uint8)),
      sorted(image.tobytes() for image in expected),
    )
    self.assertEqual(found.dtype, np.float32)
    held_out = usable_tasks.load_clients(task.validation, task.test)
    self.assertEqual(
      sum(len(y) for _, y in held_out.values()), self._arrays['is_test'].sum()
    )

  def test_alpha_zero_gives_clients_one_class(self):
    task = self._create(alpha=0.0, inputs='images')
    labels = [
      set(y.tolist()) for _, y in usable_tasks.load_clients(task.train).values()
    ]
    self.assertEqual({len(of_client) for of_client in labels}, {1})
    self.assertLen(set().union(*labels), _NUM_CLASSES)

  def test_features_do_not_depend_on_the_division(self):
    def features_by_image(**options):
      images = usable_tasks.load_clients(
        self._create(inputs='images', **options).train
      )
      features = usable_tasks.load_clients(self._create(**options).train)
      return {
        image.tobytes(): feature.tobytes()
        for client_id, (pixels, _) in images.items()
        for image, feature in zip(pixels, features[client_id][0], strict=True)
      }

    first = features_by_image(alpha=0.0)
    for options in (
      {'alpha': 1.0},
      {'alpha': 0.0, 'seed': 1},
      {'num_clients': 10, 'feature_dir': None},
    ):
      self.assertEqual(features_by_image(**options), first)
    # One extractor, one file of images.
    self.assertLen(list(self.folder.rglob('features/*/*.npz')), 1)

  def test_models_agree_on_features_and_images(self):
    on_features, on_images = self._create(), self._create(inputs='images')
    self.assertEqual(
      on_features.feature_map.num_features, on_images.feature_map.num_features
    )
    rng = np.random.default_rng(0)
    classifier = (
      rng.standard_normal([512, _NUM_CLASSES]).astype(np.float32),
      rng.standard_normal(_NUM_CLASSES).astype(np.float32),
    )
    logits = []
    for task in (on_features, on_images):
      model = task.create_model()
      named_tensors.assert_named(task.tensor_names, model.initial_weights[0])
      x, y = task.test.load_client(task.test.client_ids[0])
      weights = (*model.initial_weights[0][:-2], *classifier)
      output = model.predict_on_batch((weights, ()), x, training=False)
      logits.append(output.numpy())
      labels = task.label_sampler(output, y, seed=[1, 2])
      self.assertEqual((labels.shape, labels.dtype), (y.shape, y.dtype))
    np.testing.assert_allclose(*logits, rtol=1e-4, atol=1e-4)

  def test_model_from_a_layer_on(self):
    """Computes what the whole does, and trains what is above.

    squeezenet_test has all layers.
    """
    whole, upper = (
      self._create(inputs=option, image_size=63, alpha=1.0)
      for option in ('images', 'fire9/expand')
    )
    self.assertEqual(whole.train.client_ids, upper.train.client_ids)
    client_id = upper.train.client_ids[0]
    (images, labels), (x, y) = (
      task.train.load_client(client_id) for task in (whole, upper)
    )
    np.testing.assert_array_equal(labels, y)
    self.assertEqual((x.dtype, x.ndim), (np.float32, 2))
    weights = upper.feature_map.initial_weights
    number = len(weights)
    tolerance.assert_same(weights, whole.feature_map.initial_weights[-number:])
    # With other weights, too: those above are the ones that count.
    rng = np.random.default_rng(0)
    changed = [w * (1 + 0.1 * rng.standard_normal(w.shape)) for w in weights]
    changed = [w.astype(np.float32) for w in changed]
    below = whole.feature_map.initial_weights[:-number]
    expected = whole.feature_map((*below, *changed), images)
    tolerance.assert_close(
      upper.feature_map(changed, x),
      expected,
      relative=tolerance.FLOAT32_STEPS,
    )
    np.testing.assert_allclose(np.linalg.norm(expected, axis=1), 1, rtol=1e-5)

  def test_inputs_of_layers_are_kept(self):
    """The second task reads what the first one computed."""
    first = self._create(inputs='fire9')
    (kept,) = self.folder.rglob('features/squeezenet_to_fire9-*/*.npz')
    before = kept.stat().st_mtime_ns
    second = self._create(inputs='fire9', alpha=1.0, seed=1)
    self.assertEqual(kept.stat().st_mtime_ns, before)
    self.assertEqual(
      *(
        sorted(
          row.tobytes()
          for x, _ in usable_tasks.load_clients(task.train).values()
          for row in x
        )
        for task in (first, second)
      )
    )
    self._create(inputs='features')
    self._create(inputs='fire8')
    self.assertLen(list(self.folder.rglob('features/*/*.npz')), 3)

  def test_held_out_images(self):
    task = self._create(validation_fraction=0.25)
    (validation,) = usable_tasks.load_clients(task.validation).values()
    (test,) = usable_tasks.load_clients(task.test).values()
    self.assertEqual((len(validation[1]), len(test[1])), (10, 30))
    (other,) = usable_tasks.load_clients(
      self._create(seed=1).validation
    ).values()
    self.assertFalse(np.array_equal(validation[0], other[0][:10]))

  @parameterized.parameters(
    (
      dict(inputs='pixels'),
      "inputs must be .*got 'pixels' .*one of fire2, fire2",
    ),
    (dict(num_clients=9), '9 clients of 1 classes cannot hold all 10 classes'),
    (dict(validation_fraction=0.99), 'images for test, got 0'),
    (dict(image_size=30), 'at least 31x31, got 30x30'),
    (dict(weights='no.h5'), 'There is no file .*/no.h5, .* the weights of Squ'),
    (dict(extractor='file'), 'weights must be .*got None'),
    (
      dict(extractor='file', weights='none'),
      '/none must be the folder of a SavedModel',
    ),
    (dict(extractor='mobilenet_v2', weights='no.h5'), 'no file .*/no.h5'),
    (dict(images='none.npz'), r'none.npz .*cannot be read \(No such file'),
  )
  def test_bad_options(self, options, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      self._create(**options)

  def test_no_images_to_train_on(self):
    path = self.folder / 'bad.npz'
    np.savez(path, **(self._arrays | {'is_test': np.ones(120)}))
    with self.assertRaisesRegex(
      errors.InputError, 'images must be for training'
    ):
      self._create(images='bad.npz')


class Cifar10FeaturesTest(temporary_folders.TestCase):
  def test_published_names_of_files(self):
    folder = str(self.folder)
    labelled_images.write(folder, 'cifar10.npz', num_classes=10)
    random_squeezenet.write(folder)
    task = image_features.TASKS['cifar10_features'](
      seed=0, data_dir=folder, num_clients=10, image_size=32, feature_dir=None
    )
    self.assertEqual(task.name, 'cifar10_features')
    self.assertLen(task.train.client_ids, 10)
    kernel, bias = task.create_model().initial_weights[0]
    self.assertEqual((kernel.shape, bias.shape), ((512, 10), (10,)))


class Cifar100FeaturesTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    random_squeezenet.write(self.folder)

  def _create(self, **options):
    return image_features.TASKS['cifar100_features'](
      **{
        'seed': 0,
        'data_dir': str(self.folder),
        'inputs': 'images',
        'image_size': 32,
        'feature_dir': None,
        **options,
      }
    )

  def test_published_images(self):
    arrays = tff_database.write_cifar100(self.folder, num_examples=25)
    task = self._create(num_clients=7, alpha=1.0)
    for clients, split in (
      ([task.train], 'train'),
      ([task.validation, task.test], 'test'),
    ):
      found = sorted(
        (int(label), image.astype(np.uint8).tobytes())
        for image, label in zip(*usable_tasks.pool(*clients))
      )
      expected = sorted(
        (int(label), image.tobytes())
        for images, labels, _ in arrays[split].values()
        for image, label in zip(images, labels)
      )
      self.assertEqual(found, expected)

  def test_sample(self):
    labelled_images.write(self.folder, num_classes=100, per_class=3)
    task = self._create(images='images.npz', inputs='features')
    self.assertLen(task.train.client_ids, 100)
    labels = [task.train.load_client(c)[1] for c in task.train.client_ids]
    self.assertCountEqual(
      [label for of_client in labels for label in set(of_client.tolist())],
      range(100),
    )
    kernel, _ = task.create_model().initial_weights[0]
    self.assertEqual(kernel.shape, (512, 100))

  def test_missing_file(self):
    with self.assertRaisesRegex(
      errors.InputError,
      "'cifar100_features' found no file .*/cifar100.sqlite; fetch .* or name "
      # It has no option to download it.
      'the folder of such a file by --data_dir.$',
    ):
      self._create()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads labelled examples of TensorFlow Datasets into arrays."""

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import importlib.util
import logging as std_logging
import os
from typing import Any

from fedfish_tff import errors
from fedfish_tff.datasets import grouping
from launch.data import labelled_dataset

from absl import logging
import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds
from tensorflow_datasets.core import naming
from tensorflow_datasets.core import read_only_builder
from tensorflow_datasets.core.download import downloader
import tqdm

_HUGGING_FACE = 'huggingface:'
_BATCH_SIZE = 512
# The pauses before retries double, up to 25 seconds in total.
_MOST_RETRIES = 6


def load_builder(
  dataset: str, *, data_dir: str | None = None, download: bool = False
) -> tfds.core.DatasetBuilder:
  """Returns the builder of a prepared data set.

  Args:
    dataset: The name in the format of `tfds.load`: 'name', 'name/config',
      'name:version', or 'huggingface:name'. Prepared data do not need the
      builder's code.
    data_dir: The folder of prepared data sets; by default that of TFDS,
      $TFDS_DATA_DIR or ~/tensorflow_datasets.
    download: Whether to download and prepare missing data. If not, the network
      is not used.
  """
  if not dataset.startswith(_HUGGING_FACE):
    found = _find_prepared(dataset, data_dir)
    if found is not None:
      return found
  elif importlib.util.find_spec('datasets') is None:
    raise errors.InputError(
      f'--input={dataset} needs the package datasets, which does not install '
      "beside this version of Apache Beam: run 'pip install tensorflow-datasets "
      f"datasets' and tfds.builder({dataset!r}).download_and_prepare() in another "
      f'environment, then give --input={dataset.removeprefix(_HUGGING_FACE)} and '
      '--data_dir here.'
    )
  # Without a network, TFDS would retry for minutes and log each attempt.
  downloader.MAX_RETRIES = _MOST_RETRIES
  std_logging.getLogger('urllib3').setLevel(std_logging.ERROR)
  try:
    builder = tfds.builder(dataset, data_dir=data_dir)
    if download:
      builder.download_and_prepare()
  # The code of data sets, servers and parsers may raise any error.
  except Exception as error:
    raise _unusable_error(dataset, error) from error
  if not builder.info.splits:
    folder = data_dir or os.environ.get(
      'TFDS_DATA_DIR', os.path.join('~', 'tensorflow_datasets')
    )
    raise errors.InputError(
      f'Data set {dataset!r} is not prepared in {folder}; give another '
      '--data_dir, or --download with a network.'
    )
  return builder


def _find_prepared(
  dataset: str, data_dir: str | None
) -> tfds.core.DatasetBuilder | None:
  """Returns the builder of prepared data; None without them."""
  try:
    name, _ = naming.parse_builder_name_kwargs(dataset)
  except ValueError:
    _check_is_no_path(dataset)
    raise errors.InputError(
      'The name of a data set must be one such as mnist, emnist/byclass or '
      f'mnist:3.0.1, got {dataset!r}.'
    ) from None
  try:
    return read_only_builder.builder_from_files(dataset, data_dir=data_dir)
  except tfds.core.DatasetNotFoundError:
    _check_is_known(str(name), dataset)
  except ValueError as error:
    raise _unusable_error(dataset, error) from error
  return None


def read(
  builder: tfds.core.DatasetBuilder,
  *,
  split: str,
  feature: str | None = None,
  label: str | None = None,
  others: Sequence[str] = (),
) -> labelled_dataset.LabelledDataset:
  """Reads a split into memory.

  Args:
    builder: The builder of a prepared data set.
    split: The name of a split, or a part of it such as 'train[:10%]'.
    feature: The input feature, with numbers of one shape. By default the input
      of the data set's supervised keys.
    label: The feature with integer labels; by default that of the supervised
      keys.
    others: Further features to read, with one integer or string per example.

  Returns:
    The examples.
  """
  name = builder.info.full_name
  keys = builder.info.supervised_keys or (None, None)
  feature = _choose(builder, feature, keys[0], '--feature')
  label = _choose(builder, label, keys[1], '--label')
  if feature == label:
    raise errors.InputError(
      f'--feature must be another feature than the label, got {feature!r}.'
    )
  _check_input(builder, feature)
  _check_scalar(builder, label, allow_strings=False)
  for other in others:
    _check_scalar(builder, other, allow_strings=True)
  num_examples = grouping.count_tfds_examples(builder, split)
  names = dict.fromkeys((feature, label, *others))
  arrays = _read_arrays(builder, split, list(names), num_examples)
  class_names = {
    key: builder.info.features[key].names
    for key in names
    if isinstance(builder.info.features[key], tfds.features.ClassLabel)
  }
  for key in class_names:
    missing = int(np.count_nonzero(arrays[key] < 0))
    if missing:
      raise errors.InputError(
        f'Each of {num_examples} examples of {name}, split {split!r}, must '
        f'have a class {key!r}, got {missing} without one.'
      )
  return labelled_dataset.LabelledDataset(
    name=name,
    feature=feature,
    label=label,
    x=labelled_dataset.check_finite(
      arrays[feature], f'Feature {feature!r} of {name}, split {split!r},'
    ),
    is_image=isinstance(builder.info.features[feature], tfds.features.Image)
    and arrays[feature].dtype == np.uint8,
    labels=arrays[label].astype(np.int64),
    others={other: arrays[other] for other in others},
    class_names=class_names,
  )


def _check_is_no_path(dataset: str) -> None:
  """Raises an InputError if an unknown data set is something on this disk."""
  if os.path.exists(os.path.expanduser(dataset)):
    raise errors.InputError(
      f'{dataset} must be the name of a data set of TensorFlow Datasets, a table '
      'such as .csv or .parquet, or a folder of tables, of pictures such as .png '
      "in folders of classes, or of LEAF's .json files, got another "
      f'{"folder" if os.path.isdir(os.path.expanduser(dataset)) else "file"}.'
    )


def _check_is_known(name: str, dataset: str) -> None:
  """Raises an InputError unless TFDS or imported code has such a builder."""
  try:
    tfds.builder_cls(name)
  except tfds.core.DatasetNotFoundError:
    _check_is_no_path(dataset)
    known = tfds.list_builders(with_community_datasets=False)
    raise errors.InputError(
      f'There is no data set {name!r}, neither prepared nor in TensorFlow '
      f'Datasets.{errors.suggest(name, known)}'
    ) from None


def _unusable_error(dataset: str, error: Exception) -> errors.InputError:
  return errors.InputError(
    f'Data set {dataset!r} cannot be prepared: {errors.first_line(error)}.'
  )


def _choose(
  builder: tfds.core.DatasetBuilder,
  given: str | None,
  usual: Any,
  flag: str,
) -> str:
  """Returns the name of the feature to use for an input or a label."""
  known = ', '.join(sorted(builder.info.features))
  if given is None and not isinstance(usual, str):
    raise errors.InputError(
      f'{flag} must be one of {known}, since data set {builder.info.full_name} '
      'does not say which feature to use here.'
    )
  chosen = usual if given is None else given
  if chosen not in builder.info.features:
    raise errors.InputError(
      f'{flag} must be a feature of data set {builder.info.full_name}, one of '
      f'{known}, got {chosen!r}.'
    )
  return chosen


def _check_input(builder: tfds.core.DatasetBuilder, feature: str) -> None:
  connector = builder.info.features[feature]
  spec = connector.get_tensor_spec()
  if (
    not isinstance(spec, tf.TensorSpec)
    or not (
      spec.dtype.is_floating or spec.dtype.is_integer or spec.dtype.is_bool
    )
    or not spec.shape.is_fully_defined()
  ):
    raise errors.InputError(
      f'Feature {feature!r} of {builder.info.full_name} must hold numbers of '
      f'one shape for all examples, got {connector}.'
    )


def _check_scalar(
  builder: tfds.core.DatasetBuilder, feature: str, *, allow_strings: bool
) -> None:
  _choose(builder, feature, None, '')
  connector = builder.info.features[feature]
  spec = connector.get_tensor_spec()
  if (
    not isinstance(spec, tf.TensorSpec)
    or spec.shape.rank != 0
    or not (
      spec.dtype.is_integer
      or spec.dtype.is_bool
      or (allow_strings and spec.dtype == tf.string)
    )
  ):
    kind = 'integer or string' if allow_strings else 'integer'
    raise errors.InputError(
      f'Feature {feature!r} of {builder.info.full_name} must hold one {kind} '
      f'per example, got {connector}.'
    )


def _read_arrays(
  builder: tfds.core.DatasetBuilder,
  split: str,
  names: Sequence[str],
  num_examples: int,
) -> dict[str, np.ndarray]:
  """Returns the features [num_examples, ...] by name."""
  specs = {
    name: builder.info.features[name].get_tensor_spec() for name in names
  }
  arrays = {
    name: np.empty(
      (num_examples, *spec.shape),
      object if spec.dtype == tf.string else spec.dtype.as_numpy_dtype,
    )
    for name, spec in specs.items()
  }
  done = 0
  try:
    with _silent_warnings():
      dataset = builder.as_dataset(
        split=split,
        shuffle_files=False,
        decoders=tfds.decode.PartialDecoding(dict.fromkeys(names, True)),
        # Files are read one by one, to keep their order.
        read_config=tfds.ReadConfig(
          interleave_cycle_length=1, try_autocache=False
        ),
      )
    with tqdm.tqdm(
      total=num_examples, desc='read', unit=' examples', disable=None
    ) as bar:
      for batch in tfds.as_numpy(dataset.batch(_BATCH_SIZE)):
        size = len(batch[names[0]])
        for name, array in arrays.items():
          array[done : done + size] = batch[name]
        done += size
        bar.update(size)
  except tf.errors.OpError as error:
    raise errors.InputError(
      f'The files of {builder.info.full_name}, split {split!r}, cannot be read: '
      f'{errors.first_line(error)}.'
    ) from error
  if done != num_examples:
    raise errors.InputError(
      f'The files of {builder.info.full_name}, split {split!r}, must hold '
      f'{num_examples} examples, got {done}.'
    )
  return arrays


@contextlib.contextmanager
def _silent_warnings() -> Iterator[None]:
  """Silences TFDS's warnings about its own deprecated fields."""
  verbosity = logging.get_verbosity()
  logging.set_verbosity(min(verbosity, logging.ERROR))
  try:
    yield
  finally:
    logging.set_verbosity(verbosity)

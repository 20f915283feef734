# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Examples of a prepared data set of TensorFlow Datasets."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import hashlib
import os
from typing import Any

from fedfish_tff import errors
from fedfish_tff.datasets import grouped_folder
from fedfish_tff.datasets.grouping import client_keys
from fedfish_tff.datasets.grouping import sources

import tensorflow as tf
import tensorflow_datasets as tfds

_BATCH_SIZE = 256
_PART_BYTES = 2**26
# The size of an example if a data set does not give its size.
_USUAL_EXAMPLE_BYTES = 2**12


@dataclasses.dataclass(frozen=True, kw_only=True)
class TfdsSource(sources.Source):
  """A split of a data set, as made by `create_tfds_source`.

  Attributes:
    name: The data set with its config and version.
    folder: The folder where it was prepared.
    split: The split, or a part of one.
    key: The client of an example.
    specs: The features of an example by name, '/' between nested names.
    num_examples: The number of examples of the split.
    num_bytes: The approximate number of bytes of the split.
  """

  name: str
  folder: str
  split: str
  key: client_keys.ClientKey
  specs: Mapping[str, tf.TensorSpec]
  num_examples: int
  num_bytes: int

  @property
  def features(self) -> Mapping[str, Mapping[str, Any]]:
    return grouped_folder.features_to_json(self.specs)

  @property
  def size_unit(self) -> str:
    return ' examples'

  def parts(self) -> Sequence[sources.Part]:
    count = min(self.num_examples, -(-self.num_bytes // _PART_BYTES))
    borders = [self.num_examples * i // count for i in range(count + 1)]
    # Interrupted work continues only with the same files.
    files = [self.folder]
    for name in sorted(tf.io.gfile.listdir(self.folder)):
      status = tf.io.gfile.stat(os.path.join(self.folder, name))
      files.append(f'{name} {status.length} {status.mtime_nsec}')
    identity = hashlib.sha256(repr(files).encode()).hexdigest()
    return [
      sources.Part(
        number=i, content=(i, count, identity), size=borders[i + 1] - start
      )
      for i, start in enumerate(borders[:-1])
    ]

  def estimated_bytes(self, parts: Sequence[sources.Part]) -> int:
    return self.num_bytes

  def read(
    self, part: sources.Part, progress: Callable[[int], None]
  ) -> Iterator[sources.SourceExample | sources.Skipped]:
    builder = tfds.builder_from_directory(self.folder)
    connectors = _flatten(builder.info.features)
    names = {*self.specs, *(n for n in self.key.fields if n in connectors)}
    number, count, _ = part.content
    where = f'{self.name} {self.split}, part {number + 1} of {count}'
    try:
      dataset = builder.as_dataset(
        split=tfds.even_splits(self.split, count, drop_remainder=False)[number],
        shuffle_files=False,
        decoders=tfds.decode.PartialDecoding(_nest(names)),
        # One file after the other, so that the order is that of the files.
        read_config=tfds.ReadConfig(
          interleave_cycle_length=1, try_autocache=False
        ),
      )
      examples = _decode_examples(dataset, names, part.size)
      for position, example in enumerate(examples, start=1):
        try:
          yield self._read_example(example, connectors)
        except client_keys.BadRecordError as error:
          yield sources.Skipped(
            kind=error.kind, where=f'{where}, example {position:,}'
          )
        progress(1)
    except tf.errors.OpError as error:
      raise errors.InputError(
        f'The files of {self.name}, split {self.split!r}, cannot be read: '
        f'{errors.first_line(error)}.'
      ) from error

  def description(self, parts: Sequence[sources.Part]) -> dict[str, Any]:
    return {
      'format': 'tfds',
      'input': self.name,
      'split': self.split,
      'examples': self.num_examples,
    }

  @client_keys.decoding()
  def _read_example(
    self,
    example: Mapping[str, Any] | None,
    connectors: Mapping[str, tfds.features.FeatureConnector],
  ) -> sources.SourceExample:
    if example is None:
      raise client_keys.BadRecordError('undecodable')
    text = self.specs.get('text')
    if text is not None and text.dtype == tf.string:
      words = client_keys.to_text(example['text'], invalid='missing_text')
      if not words.strip():
        raise client_keys.BadRecordError('missing_text')
    record = {
      name: _to_key(example[name], connectors[name])
      for name in self.key.fields
      if name in example
    }
    return sources.SourceExample(
      client_id=self.key.client_id(record),
      values={name: example[name] for name in self.specs},
    )


def _decode_examples(
  dataset: tf.data.Dataset, names: Iterable[str], size: int
) -> Iterator[Mapping[str, Any] | None]:
  """Yields examples by name of feature, None for an undecodable example."""
  position = 0
  # A batch is whole or lost, so after the first lost one, examples come one by
  # one.
  with contextlib.suppress(tf.errors.InvalidArgumentError):
    for batch in tfds.as_numpy(dataset.batch(_BATCH_SIZE)):
      flat = tfds.core.utils.flatten_nest_dict(batch)
      columns = {name: flat[name] for name in names}
      for values in zip(*columns.values()):
        position += 1
        yield dict(zip(columns, values))
    return
  rest = iter(dataset.skip(position))
  for _ in range(size - position):
    try:
      example = next(rest)
    except StopIteration:
      return
    except tf.errors.InvalidArgumentError:
      yield None
    else:
      flat = tfds.core.utils.flatten_nest_dict(example)
      yield {name: flat[name].numpy() for name in names}


def create_tfds_source(
  builder: tfds.core.DatasetBuilder,
  *,
  split: str,
  key: client_keys.ClientKey,
  features: Sequence[str] | None = None,
) -> TfdsSource:
  """Returns a split of a data set as a source.

  Integers and booleans are kept as int64, other numbers as float32. The client
  id for a class label is the name of the class.

  Args:
    builder: The builder of a prepared data set.
    split: A split, or a part of one such as 'train[:10%]'.
    key: The client of an example, a text or an integer.
    features: The features to keep, '/' between nested names, each of a shape
      common to all examples; by default all.
  """
  name = builder.info.full_name
  connectors = _flatten(builder.info.features)
  # TFDS reads the features of a folder in any order.
  chosen = sorted(connectors) if features is None else list(features)
  specs = {}
  for feature in chosen:
    if feature not in connectors:
      raise _unknown_feature_error(name, [feature], connectors)
    specs[feature] = _spec_to_keep(connectors[feature])
  unusable = [feature for feature in chosen if specs[feature] is None]
  if unusable:
    kept = ','.join(f for f in chosen if specs[f] is not None)
    raise errors.InputError(
      f'Feature {unusable[0]!r} of {name} is {connectors[unusable[0]]}; texts '
      'and numbers of one shape for all examples can be kept, as with '
      f'--features={kept}.'
    )
  if not specs:
    raise errors.InputError(f'No feature of {name} is to be kept.')
  _check_key(name, key, connectors)
  num_examples = count_tfds_examples(builder, split)
  total = sum(s.num_examples for s in builder.info.splits.values())
  size = builder.info.dataset_size or total * _USUAL_EXAMPLE_BYTES
  return TfdsSource(
    name=name,
    folder=str(builder.data_path),
    split=split,
    key=key,
    specs=specs,
    num_examples=num_examples,
    num_bytes=max(1, int(size) * num_examples // total),
  )


def count_tfds_examples(builder: tfds.core.DatasetBuilder, split: str) -> int:
  """Returns the number of examples of a split, at least one.

  Args:
    builder: The builder of a prepared data set.
    split: A split, or a part of one such as 'train[:10%]'.
  """
  try:
    num_examples = builder.info.splits[split].num_examples
  except (KeyError, ValueError, AssertionError):
    known = ', '.join(sorted(builder.info.splits))
    raise errors.InputError(
      f'The split of data set {builder.info.full_name} must be one of {known}, '
      f'or a part such as train[:10%], got {split!r}.'
    ) from None
  if not num_examples:
    raise errors.InputError(
      f'Split {split!r} of {builder.info.full_name} must have examples, got '
      'none.'
    )
  return num_examples


def features_from_json(
  described: Mapping[str, Mapping[str, Any]],
) -> tfds.features.FeaturesDict:
  """Returns the features of grouped examples in the form of Dataset Grouper.

  Args:
    described: The entry 'features' of a dataset.json.
  """
  specs = grouped_folder.features_from_json(described)
  return tfds.features.FeaturesDict(
    {
      name: tfds.features.Text()
      if spec.dtype == tf.string
      else tfds.features.Tensor(
        shape=tuple(spec.shape), dtype=spec.dtype.as_numpy_dtype
      )
      for name, spec in specs.items()
    }
  )


def _check_key(
  name: str,
  key: client_keys.ClientKey,
  connectors: Mapping[str, tfds.features.FeatureConnector],
) -> None:
  fields = [field for field in key.fields if field in connectors]
  if not fields:
    raise _unknown_feature_error(name, key.fields, connectors)
  for field in fields:
    spec = _spec_to_keep(connectors[field])
    if spec is None or spec.shape.rank or spec.dtype == tf.float32:
      raise errors.InputError(
        f'Feature {field!r} of {name} must be one text or integer an example to '
        f'be a key, got {connectors[field]}.'
      )


def _unknown_feature_error(
  name: str, missing: Sequence[str], connectors: Mapping[str, Any]
) -> errors.InputError:
  return errors.InputError(
    f'Data set {name} has no feature {" or ".join(map(repr, missing))}; it has '
    f'{", ".join(sorted(connectors))}.'
  )


def _flatten(
  features: tfds.features.FeaturesDict, prefix: str = ''
) -> dict[str, tfds.features.FeatureConnector]:
  """Returns features by name, '/' between nested ones."""
  flat = {}
  for name, connector in features.items():
    if isinstance(connector, tfds.features.FeaturesDict):
      flat |= _flatten(connector, f'{prefix}{name}/')
    else:
      flat[prefix + name] = connector
  return flat


def _nest(names: set[str]) -> dict[str, Any]:
  """Returns the nest that selects the features to decode."""
  nest = {}
  for name in sorted(names):
    *folders, last = name.split('/')
    place = nest
    for folder in folders:
      place = place.setdefault(folder, {})
    place[last] = True
  return nest


def _spec_to_keep(
  connector: tfds.features.FeatureConnector,
) -> tf.TensorSpec | None:
  """Returns the spec with which a feature is kept, None if it cannot be."""
  spec = connector.get_tensor_spec()
  if isinstance(spec, tf.TensorSpec) and spec.shape.is_fully_defined():
    if spec.dtype == tf.string and not spec.shape.rank:
      return tf.TensorSpec([], tf.string)
    if spec.dtype.is_floating:
      return tf.TensorSpec(spec.shape, tf.float32)
    if spec.dtype.is_bool or (
      spec.dtype.is_integer and spec.dtype != tf.uint64
    ):
      return tf.TensorSpec(spec.shape, tf.int64)
  return None


def _to_key(
  value: Any, connector: tfds.features.FeatureConnector
) -> str | bytes | int | bool | None:
  """Returns a key's value; for a class its name, None if it has none."""
  if isinstance(value, bytes):
    return value
  value = value.item()
  if isinstance(connector, tfds.features.ClassLabel) and connector.names:
    return connector.int2str(value) if value >= 0 else None
  return value

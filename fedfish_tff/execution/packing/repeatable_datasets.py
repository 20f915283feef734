# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of whether a dataset gives the same elements whenever it is read.

Only then may its elements be used again: in a later call, or by a second pass
in the same call, during which files do not change. A dataset is repeatable if
all its steps are known to be so; steps unknown to this module are not.

A dataset that shuffles by a seed, anew at each reading, can be reset.
"""

from collections.abc import Iterator
import functools
from typing import Any

from fedfish_tff import private_apis

from google.protobuf import message
import tensorflow as tf

# The classes of tf.data's steps that draw nothing at random, keep nothing
# between two iterations, and read nothing but their inputs.
_PLAIN_STEPS = frozenset(
  {
    '_AssertCardinalityDataset',
    '_BatchDataset',
    '_ConcatenateDataset',
    '_DenseToRaggedDataset',
    '_FilterDataset',
    '_FlatMapDataset',
    '_GroupByWindowDataset',
    '_InterleaveDataset',
    '_MapDataset',
    '_OptionsDataset',
    '_PaddedBatchDataset',
    '_ParallelBatchDataset',
    '_ParallelMapDataset',
    '_PrefetchDataset',
    '_RangeDataset',
    '_RebatchDataset',
    '_RepeatDataset',
    '_RestructuredDataset',
    '_ScanDataset',
    '_ShardDataset',
    '_ShuffleDataset',
    '_SkipDataset',
    '_SparseTensorSliceDataset',
    '_TakeDataset',
    '_TakeWhileDataset',
    '_TensorDataset',
    '_TensorSliceDataset',
    '_UnbatchDataset',
    '_UniqueDataset',
    '_WindowDataset',
    '_ZipDataset',
    'CacheDataset',
  }
)

# The same for operations inside functions. Steps with a function of their own
# are not included, since that function cannot be inspected there.
_PLAIN_DATASET_OPS = frozenset(
  {
    'BatchDataset',
    'BatchDatasetV2',
    'ConcatenateDataset',
    'PaddedBatchDatasetV2',
    'PrefetchDataset',
    'RangeDataset',
    'RepeatDataset',
    'SkipDataset',
    'TakeDataset',
    'TensorDataset',
    'TensorSliceDataset',
    'WindowDataset',
    'ZipDataset',
  }
)

# Steps and operations that read files; TensorFlow does not call the latter
# stateful.
_FILE_STEPS = frozenset(
  {
    'CsvDatasetV2',
    'FixedLengthRecordDatasetV2',
    'SqlDatasetV2',
    'TFRecordDatasetV2',
    'TextLineDatasetV2',
  }
)
_FILE_OPS = frozenset({'MatchingFiles', 'ReadFile'})

# Operations that read state which may change between two calls.
_READS = frozenset({'LookupTableFindV2', 'ReadVariableOp', 'ResourceGather'})

# Steps after a shuffle that part it from a repetition of the whole.
_ENDS_OF_BATCHES = frozenset(
  {
    '_BatchDataset',
    '_PaddedBatchDataset',
    '_ParallelBatchDataset',
    'CacheDataset',
  }
)

# Operations that call Python.
_PYTHON_OPS = frozenset({'EagerPyFunc', 'GeneratorDataset', 'PyFunc'})

# Operations that TensorFlow calls stateful only so that they are not pruned.
_CHECKS = frozenset({'Assert', 'CheckNumerics', 'CheckNumericsV2'})


def is_repeatable(dataset: tf.data.Dataset) -> bool:
  """Returns whether a dataset gives the same elements at each reading.

  It does not if any of its steps shuffles anew, is random, calls Python, uses a
  variable, table or iterator, reads a file, gives elements in no fixed order,
  or is unknown.
  """
  return _all_plain(dataset, in_one_call=False)


def has_equal_passes(dataset: tf.data.Dataset) -> bool:
  """Returns whether all passes over a dataset in one call are equal.

  In contrast to `is_repeatable`, steps may read files, tables and variables,
  which do not change within a call.
  """
  return _all_plain(dataset, in_one_call=True)


def _all_plain(dataset: tf.data.Dataset, *, in_one_call: bool) -> bool:
  if dataset.options().deterministic is False:
    return False
  return all(_is_plain_step(step, in_one_call) for step in _steps(dataset))


def from_the_start(dataset: tf.data.Dataset) -> tf.data.Dataset:
  """Returns a dataset in the state before its first reading, maybe itself.

  TFF's runtime gets datasets serialized. So a shuffle by a seed has the same
  order at the start of every call, and another one at each pass. Here the order
  would depend on earlier readings.
  """
  return (
    copy(dataset) if any(map(_counts_readings, _steps(dataset))) else dataset
  )


def leaves_no_trace(dataset: tf.data.Dataset) -> bool:
  """Returns whether a reading changes nothing outside of a dataset."""
  return not any(
    _calls_python(step)
    or any(
      tensor.dtype == tf.resource
      for function in private_apis.step_functions(step)
      for tensor in function.captured_inputs
    )
    for step in _steps(dataset)
  )


def may_fuse(dataset: tf.data.Dataset) -> bool:
  """Returns whether tf.data may join a shuffle with a repetition after it.

  Joined, they draw the orders of all repetitions by one seed.
  """
  return private_apis.step_kind(dataset) not in _ENDS_OF_BATCHES


def repeats(dataset: tf.data.Dataset) -> bool:
  """Returns whether a dataset may have a repetition among its steps."""
  return _may_have('_RepeatDataset', dataset)


def caches(dataset: tf.data.Dataset) -> bool:
  """Returns whether a dataset may keep what a whole pass has read."""
  return _may_have('CacheDataset', dataset)


def _may_have(kind: str, dataset: tf.data.Dataset) -> bool:
  kinds = set(map(private_apis.step_kind, _steps(dataset)))
  # The steps of the latter cannot be inspected.
  return bool(kinds & {kind, '_VariantDataset'})


@functools.cache
def reading_options(*, fuses_repetitions: bool) -> tf.data.Options:
  """Returns the options of a dataset that is read once, which take less time.

  Args:
    fuses_repetitions: Whether a shuffle and a repetition draw as they do by
      default, which the order of further readings shows.
  """
  options = tf.data.Options()
  optimization = options.experimental_optimization
  optimization.apply_default_optimizations = False
  if fuses_repetitions:
    optimization.noop_elimination = True
    optimization.shuffle_and_repeat_fusion = True
  options.autotune.enabled = False
  return options


def copy(dataset: tf.data.Dataset) -> tf.data.Dataset:
  """Returns a dataset in the state before its first reading.

  Args:
    dataset: The dataset, which is returned itself if TensorFlow cannot write it
      as a graph.
  """
  with tf.device('/device:CPU:0'):
    try:
      serialized = tf.raw_ops.DatasetToGraphV2(
        input_dataset=tf.data.experimental.to_variant(dataset)
      )
      graph_def = tf.compat.v1.GraphDef.FromString(serialized.numpy())
    except (tf.errors.OpError, message.DecodeError):
      return dataset  # TFF does not run one with a table or of 2 GB, either.
    for node in graph_def.node:
      # The counter of readings, known by name in this process, is replaced.
      if tf.as_dtype(node.attr['dtype'].type or tf.float32) == tf.resource:
        node.CopyFrom(
          tf.compat.v1.NodeDef(name=node.name, op='DummySeedGenerator')
        )
    variant = tf.raw_ops.DatasetFromGraph(
      graph_def=graph_def.SerializeToString()
    )
  return tf.data.experimental.from_variant(variant, dataset.element_spec)


def _steps(dataset: tf.data.Dataset) -> Iterator[tf.data.Dataset]:
  """Yields the steps of a pipeline, each once."""
  steps, seen = [dataset], set()
  while steps:
    step = steps.pop()
    if id(step) in seen:
      continue
    seen.add(id(step))
    yield step
    steps.extend(private_apis.step_inputs(step))


def _counts_readings(step: tf.data.Dataset) -> bool:
  """Returns whether a step draws by a seed and continues at each reading."""
  kind = private_apis.step_kind(step)
  if kind == '_VariantDataset':
    return True  # Its steps cannot be inspected.
  if kind == 'CacheDataset':
    # A cache in memory keeps the draws of an earlier call. That cannot be
    # undone for Python's datasets, which TFF's runtime does not support.
    (source,) = private_apis.step_inputs(step)
    return (
      private_apis.step_setting(step, 'filename') == b''
      and not has_equal_passes(source)
      and not any(map(_calls_python, _steps(source)))
    )
  if kind == '_ShuffleDataset':
    goes_on = _reshuffles(step)
  else:
    goes_on = kind == '_RandomDataset' and private_apis.step_setting(
      step, 'rerandomize'
    )
  # Without a seed both are 0, and any order is correct.
  return bool(goes_on) and any(
    private_apis.step_setting(step, seed) != 0 for seed in ('seed', 'seed2')
  )


def _calls_python(step: tf.data.Dataset) -> bool:
  return any(
    op.type in _PYTHON_OPS
    for function in private_apis.step_functions(step)
    for op in function.graph.get_operations()
  )


def _reshuffles(step: tf.data.Dataset) -> bool:
  setting = private_apis.step_setting(step, 'reshuffle_each_iteration')
  return setting is not False  # None stands for True.


def _is_plain_step(step: tf.data.Dataset, in_one_call: bool) -> bool:
  kind = private_apis.step_kind(step)
  if kind in _FILE_STEPS:
    return in_one_call
  if kind not in _PLAIN_STEPS:
    return False
  if kind == '_ShuffleDataset' and _reshuffles(step):
    return False
  if kind == 'CacheDataset':
    if private_apis.step_setting(step, 'filename') != b'' and not in_one_call:
      return False
  elif kind in ('_ParallelBatchDataset', '_ParallelMapDataset'):
    # The step itself may give up order for speed.
    if private_apis.step_setting(step, 'deterministic') == 'false':
      return False
  return all(
    _is_plain_function(function, in_one_call)
    for function in private_apis.step_functions(step)
  )


def _is_plain_function(function: Any, in_one_call: bool) -> bool:
  captured = {tensor.dtype for tensor in function.captured_inputs}
  if tf.variant in captured or (tf.resource in captured and not in_one_call):
    return False
  # A call or a branch is stateful if the functions that it calls are.
  return all(
    _is_plain_op(op, in_one_call) for op in function.graph.get_operations()
  )


def _is_plain_op(op: tf.Operation, in_one_call: bool) -> bool:
  if op.type in _FILE_OPS or op.type in _READS:
    return in_one_call
  if 'Dataset' in op.type:
    return op.type in _PLAIN_DATASET_OPS
  return not op.op_def.is_stateful or op.type in _CHECKS

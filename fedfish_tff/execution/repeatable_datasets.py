# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decides whether a dataset gives the same elements whenever it is read.

Only then may what was read once be used again. A dataset is repeatable if all
its steps are known to be so: steps this module does not know are not.
"""

from typing import Any

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

# The same for operations inside of functions. Steps with a function of their
# own are not among them, since that function is out of sight there.
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

# Operations that TensorFlow does not call stateful, but files are.
_FILE_OPS = frozenset({'MatchingFiles', 'ReadFile'})

# Operations that TensorFlow calls stateful so as not to leave them out.
_CHECKS = frozenset({'Assert', 'CheckNumerics', 'CheckNumericsV2'})


def is_repeatable(dataset: tf.data.Dataset) -> bool:
  """Returns whether reading a dataset again gives what it gave before.

  Args:
    dataset: Any dataset.

  Returns:
    False if any of its steps shuffles anew, is random, calls Python, uses a
    variable, table or iterator, reads a file, gives elements in no fixed order,
    or is not known.
  """
  if dataset.options().deterministic is False:
    return False
  steps, seen = [dataset], set()
  while steps:
    step = steps.pop()
    if id(step) in seen:
      continue
    seen.add(id(step))
    if not _is_plain_step(step):
      return False
    # tf.data has no public way to walk a pipeline short of serializing it,
    # which copies all of its data.
    steps.extend(step._inputs())
  return True


def _is_plain_step(step: tf.data.Dataset) -> bool:
  name = type(step).__name__
  if name not in _PLAIN_STEPS:
    return False
  if name == '_ShuffleDataset' and step._reshuffle_each_iteration is not False:
    return False
  if name == 'CacheDataset' and tf.get_static_value(step._filename) != b'':
    return False
  # A step's own wish for speed at the cost of order.
  if getattr(step, '_deterministic', None) in (False, 'false'):
    return False
  return all(_is_plain_function(wrapper) for wrapper in step._functions())


def _is_plain_function(wrapper: Any) -> bool:
  function = wrapper.function
  if any(
    tensor.dtype in (tf.resource, tf.variant)
    for tensor in function.captured_inputs
  ):
    return False
  # A call of or a branch into other functions is called stateful if these are.
  return all(_is_plain_op(op) for op in function.graph.get_operations())


def _is_plain_op(op: tf.Operation) -> bool:
  if 'Dataset' in op.type:
    return op.type in _PLAIN_DATASET_OPS
  if op.type in _FILE_OPS:
    return False
  return not op.op_def.is_stateful or op.type in _CHECKS

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One thread inside each operation, so that results do not depend on cores.

TensorFlow splits a large sum, such as the gradient of a convolution, among its
intra-op threads, and their number affects the rounding. With one thread,
results are the same bit for bit on any number of cores. The cores stay busy
because several clients compute at a time.
"""

import os

from absl import logging


def num_cores() -> int:
  """Returns the number of cores that this process may use."""
  return len(os.sched_getaffinity(0))


def use_one_intra_op_thread() -> None:
  """Makes TensorFlow use one intra-op thread; warns once where it cannot.

  It cannot after TensorFlow's first operation. A number that the user has set
  by `tf.config.threading` or TF_NUM_INTRAOP_THREADS stays.
  """
  # Imported only here, since `num_cores` does not need TensorFlow.
  import tensorflow as tf  # pylint: disable=g-import-not-at-top

  threads = tf.config.threading.get_intra_op_parallelism_threads()
  if not threads:
    variable = os.environ.get('TF_NUM_INTRAOP_THREADS', '')
    threads = int(variable) if variable.isdecimal() else 0
  if not threads:
    try:
      tf.config.threading.set_intra_op_parallelism_threads(1)
      return
    except RuntimeError:  # TensorFlow has started, with its own default.
      threads = num_cores()
  if threads > 1:
    logging.log_first_n(
      logging.WARNING,
      'TensorFlow uses %d threads inside each operation, and results depend, '
      'in their last digits, on that number. To have results that do not, '
      'create the execution context before the first TensorFlow operation, '
      'and leave TF_NUM_INTRAOP_THREADS and tf.config.threading as they are.',
      1,
      threads,
    )

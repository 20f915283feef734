# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The programs whose start `launch.benchmarks.start` measures.

The first calls are those of TFF's tutorials: image classification (a Keras
model, clients of a tf.data pipeline) and a custom algorithm of federated
operations.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import os
import pathlib
import subprocess
import sys

from fedfish_tff import errors

TFF_ROW = "TFF's own runtime"
_COHORT_ROW = 'cohort context'
# A program that takes longer hangs.
_LIMIT_SECONDS = 1800

_SET_COHORT = """
from fedfish_tff import execution
execution.set_default_context()
"""
_SET_TFF = """
import fedfish_tff
import tensorflow_federated as tff
tff.backends.native.set_sync_local_cpp_execution_context()
"""

_IMAGE_CLASSIFICATION = """
import collections
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

def dataset(seed):
  rng = np.random.default_rng(seed)
  x = rng.uniform(size=[100, 28, 28]).astype(np.float32)
  y = rng.integers(10, size=100)
  return tf.data.Dataset.from_tensor_slices(
    collections.OrderedDict(pixels=x, label=y)
  ).repeat(5).shuffle(100, seed=1).batch(20).map(
    lambda element: collections.OrderedDict(
      x=tf.reshape(element['pixels'], [-1, 784]),
      y=tf.reshape(element['label'], [-1, 1]))
  ).prefetch(10)

clients = [dataset(seed) for seed in range(10)]

def model_fn():
  model = tf.keras.models.Sequential([
    tf.keras.layers.InputLayer(input_shape=(784,)),
    tf.keras.layers.Dense(10, kernel_initializer='zeros'),
    tf.keras.layers.Softmax(),
  ])
  return tff.learning.models.from_keras_model(
    model,
    input_spec=clients[0].element_spec,
    loss=tf.keras.losses.SparseCategoricalCrossentropy(),
    metrics=[tf.keras.metrics.SparseCategoricalAccuracy()],
  )

process = tff.learning.algorithms.build_weighted_fed_avg(
  model_fn,
  client_optimizer_fn=tff.learning.optimizers.build_sgdm(0.02),
  server_optimizer_fn=tff.learning.optimizers.build_sgdm(1.0),
)
state = process.initialize()
for _ in range(2):
  state = process.next(state, clients).state
evaluation = tff.learning.algorithms.build_fed_eval(model_fn)
evaluation_state = evaluation.set_model_weights(
  evaluation.initialize(), process.get_model_weights(state))
evaluation.next(evaluation_state, clients)
"""

_CUSTOM_ALGORITHM = """
import collections
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

batch_type = tff.types.to_type(
  collections.OrderedDict(
    x=tff.TensorType(np.float32, [None, 784]),
    y=tff.TensorType(np.int32, [None])))
model_type = tff.types.to_type(
  collections.OrderedDict(
    weights=tff.TensorType(np.float32, [784, 10]),
    bias=tff.TensorType(np.float32, [10])))

@tff.tensorflow.computation(model_type, tff.SequenceType(batch_type))
def train(model, batches):
  @tf.function
  def step(model, batch):
    with tf.GradientTape() as tape:
      tape.watch(list(model.values()))
      logits = batch['x'] @ model['weights'] + model['bias']
      loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=batch['y'], logits=logits))
    gradients = tape.gradient(loss, list(model.values()))
    return collections.OrderedDict(
      (name, value - 0.1 * gradient)
      for (name, value), gradient in zip(model.items(), gradients))
  return batches.reduce(model, step)

@tff.federated_computation(
  tff.FederatedType(model_type, tff.SERVER),
  tff.FederatedType(tff.SequenceType(batch_type), tff.CLIENTS))
def train_round(model, data):
  return tff.federated_mean(
    tff.federated_map(train, (tff.federated_broadcast(model), data)))

rng = np.random.default_rng(1)
clients = [
  [
    collections.OrderedDict(
      x=rng.uniform(size=[20, 784]).astype(np.float32),
      y=rng.integers(10, size=20).astype(np.int32))
    for _ in range(5)
  ]
  for _ in range(10)
]
model = collections.OrderedDict(
  weights=np.zeros([784, 10], np.float32), bias=np.zeros([10], np.float32))
for _ in range(2):
  model = train_round(model, clients)
"""


def programs(
  scratch: str | os.PathLike[str], *, rounds: int
) -> Mapping[str, Mapping[str, Sequence[str]]]:
  """Returns the arguments of Python by title of the program and by row.

  Args:
    scratch: A folder for what they write.
    rounds: Of the run on the digits.
  """
  tables = {
    f'FedFish on the digits, {rounds} rounds, evaluated and drawn': {
      'launch.train': [
        '-m',
        'launch.train',
        '--config=launch/configs/digits.py:fed_fish',
        f'--config.rounds={rounds}',
        f'--workdir={scratch}/digits',
        '--overwrite',
      ]
    }
  }
  for title, program in (
    (
      'Image classification: two rounds and an evaluation',
      _IMAGE_CLASSIFICATION,
    ),
    ('Custom algorithm: two rounds', _CUSTOM_ALGORITHM),
  ):
    tables[title] = {
      _COHORT_ROW: ['-c', _SET_COHORT + program],
      TFF_ROW: ['-c', _SET_TFF + program],
    }
  return tables


def cpu_seconds(
  arguments: Sequence[str], folder: str | os.PathLike[str]
) -> float:
  """Runs Python to the end; returns the CPU seconds of it and its children.

  Args:
    arguments: Python's.
    folder: Where it runs, the checkout that it imports from.

  Raises:
    errors.InputError: If the program fails.
  """
  before = os.times()
  result = subprocess.run(
    [sys.executable, *arguments],
    cwd=folder,
    env={**os.environ, 'PYTHONPATH': os.fspath(pathlib.Path(folder).resolve())},
    stdin=subprocess.DEVNULL,
    capture_output=True,
    text=True,
    timeout=_LIMIT_SECONDS,
    check=False,
  )
  if result.returncode:
    raise errors.InputError(
      f'A program failed in {folder}:\n{result.stderr.strip()[-2000:]}'
    )
  after = os.times()
  return (
    after.children_user
    - before.children_user
    + after.children_system
    - before.children_system
  )

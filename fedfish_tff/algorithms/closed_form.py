# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Processes that sum clients' statistics and solve for the classifier.

The state holds the sums over all clients of all rounds so far. The classifier
is solved from them on demand. Sums cannot tell clients apart, so the
participation must bring each client once, as
`simulation.visit_once_participation` does.
"""

import collections
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from fedfish_tff.algorithms import process as process_lib
from fedfish_tff.client_work import ridge_statistics
from fedfish_tff.models import autograph
from fedfish_tff.models import feature_map as feature_map_lib
from fedfish_tff.models import model_functions
from fedfish_tff.models import ridge_classifier

import tensorflow as tf
import tensorflow_federated as tff

# Maps (sums, hyper-parameters) to the kernel and the bias.
SolveFn = Callable[[Any, Any], tuple[tf.Tensor, tf.Tensor]]


def build_closed_form_process(
  feature_map: feature_map_lib.FeatureMap,
  sum_factory: tff.aggregators.UnweightedAggregationFactory,
  solve_fn: SolveFn,
  *,
  num_classes: int,
  hparams: Mapping[str, float],
  **statistics: Any,
) -> process_lib.FederatedProcess:
  """Builds a process that sums statistics and solves for a classifier.

  Its model is `models.create_feature_classifier` of the feature map.
  `set_model_weights` sets the classifier and drops all sums. The feature map is
  frozen, so the weights given for it must equal its own. Nothing is sent to the
  clients.

  Args:
    feature_map: The feature map of the statistics; its weights are constants.
    sum_factory: The aggregator of the statistics as one structure. It must
      return sums, not means.
    solve_fn: A graph-time function from the sums over at least one example, and
      the hyper-parameters, to the kernel and bias.
    num_classes: The number of the classifier's classes.
    hparams: The hyper-parameters of the solution, on which the sums do not
      depend. They are in the state, for `get_hparams` and `set_hparams`.
    **statistics: Further arguments of `client_work.build_ridge_statistics`.

  Returns:
    A process with next of type (<S@SERVER, {B*}@CLIENTS> -> <state=S@SERVER,
    metrics=M@SERVER>). S has the elements statistics (the sums), classifier
    (the one used before there are sums), hparams and aggregator. Its
    `local_training` gives the classifier of one client's own examples, with the
    hyper-parameters given here: it has no state that `set_hparams` could
    change.
  """
  model = ridge_classifier.create_feature_classifier(
    feature_map, num_classes=num_classes
  )
  weights_type = model_functions.weights_type(model)
  data_type = model_functions.data_type(model)
  client_statistics = ridge_statistics.build_ridge_statistics(
    feature_map, data_type, num_classes=num_classes, **statistics
  )
  statistics_type = client_statistics.type_signature.result.statistics
  sum_process = sum_factory.create(statistics_type)
  hparams = collections.OrderedDict(
    (name, float(value)) for name, value in hparams.items()
  )

  def solve(statistics, hparams, kernel, bias):
    """Returns the solution; the given classifier if no client contributed."""

    @autograph.graph_function
    def run(statistics, hparams, kernel, bias):
      return tf.cond(
        tf.equal(_count(statistics), 0),
        lambda: (kernel, bias),
        lambda: tuple(
          tf.cast(t, tf.float32) for t in solve_fn(statistics, hparams)
        ),
      )

    return run(statistics, hparams, kernel, bias)

  @tff.tensorflow.computation
  def initial_state():
    return collections.OrderedDict(
      statistics=_zeros(statistics_type),
      classifier=_classifier(model.initial_weights[0]),
      hparams=collections.OrderedDict(
        (name, tf.constant(value, tf.float64))
        for name, value in hparams.items()
      ),
    )

  @tff.tensorflow.computation(statistics_type, statistics_type)
  def add(total, update):
    return tf.nest.map_structure(tf.add, total, update)

  @tff.tensorflow.computation(statistics_type, statistics_type)
  def measure(update, total):
    return collections.OrderedDict(
      num_examples=tf.cast(_count(update), tf.int64),
      total_examples=tf.cast(_count(total), tf.int64),
      # Counts may have noise and rounding errors.
      classes_seen=tf.math.count_nonzero(
        total['moments'][-1] > 0.5, dtype=tf.int32
      ),
    )

  @tff.federated_computation
  def init_fn():
    initial = tff.federated_eval(initial_state, tff.SERVER)
    return tff.federated_zip(
      collections.OrderedDict(
        statistics=initial.statistics,
        classifier=initial.classifier,
        hparams=initial.hparams,
        aggregator=sum_process.initialize(),
      )
    )

  state_type = init_fn.type_signature.result.member

  @tff.federated_computation(
    init_fn.type_signature.result, tff.FederatedType(data_type, tff.CLIENTS)
  )
  def next_fn(state, client_data):
    output = tff.federated_map(client_statistics, client_data)
    sums = sum_process.next(state.aggregator, output.statistics)
    total = tff.federated_map(add, (state.statistics, sums.result))
    measured = tff.federated_map(measure, (sums.result, total))
    return tff.learning.templates.LearningProcessOutput(
      tff.federated_zip(
        collections.OrderedDict(
          statistics=total,
          classifier=state.classifier,
          hparams=state.hparams,
          aggregator=sums.state,
        )
      ),
      tff.federated_zip(
        collections.OrderedDict(
          client_work=collections.OrderedDict(
            train=collections.OrderedDict(num_examples=measured.num_examples),
            excluded_clients=tff.federated_sum(output.excluded),
          ),
          aggregator=sums.measurements,
          finalizer=collections.OrderedDict(
            total_examples=measured.total_examples,
            classes_seen=measured.classes_seen,
          ),
        )
      ),
    )

  @tff.tensorflow.computation(state_type)
  def get_model_weights(state):
    classifier = state['classifier']
    return ridge_classifier.with_classifier(
      feature_map,
      *solve(
        state['statistics'],
        state['hparams'],
        classifier['kernel'],
        classifier['bias'],
      ),
    )

  @tff.tensorflow.computation(state_type, weights_type)
  def set_model_weights(state, weights):
    trainable = tf.nest.flatten(weights.trainable)
    with tf.control_dependencies([_check_frozen(feature_map, trainable)]):
      classifier = tf.nest.map_structure(tf.identity, _classifier(trainable))
    return collections.OrderedDict(
      state, statistics=_zeros(statistics_type), classifier=classifier
    )

  def build_local_training():
    @tff.tensorflow.computation(weights_type, data_type)
    def local_training(weights, dataset):
      *_, kernel, bias = tf.nest.flatten(weights.trainable)
      return ridge_classifier.with_classifier(
        feature_map,
        *solve(
          client_statistics(dataset)['statistics'],
          initial_state()['hparams'],
          kernel,
          bias,
        ),
      )

    return local_training

  def build_update_is_finite():
    @tff.tensorflow.computation(weights_type, data_type)
    def update_is_finite(weights, dataset):
      del weights  # The statistics depend on the frozen feature map alone.
      return tf.equal(client_statistics(dataset)['excluded'], 0)

    return update_is_finite

  @tff.tensorflow.computation(state_type)
  def get_hparams(state):
    return state['hparams']

  @tff.tensorflow.computation(state_type, get_hparams.type_signature.result)
  def set_hparams(state, hparams):
    return collections.OrderedDict(state, hparams=hparams)

  return process_lib.FederatedProcess(
    tff.learning.templates.LearningProcess(
      init_fn,
      next_fn,
      get_model_weights,
      set_model_weights,
      get_hparams_fn=get_hparams,
      set_hparams_fn=set_hparams,
    ),
    build_local_training=build_local_training,
    build_update_is_finite=build_update_is_finite,
    uses_weights=False,
  )


def _zeros(value_type: tff.Type) -> collections.OrderedDict[str, tf.Tensor]:
  return collections.OrderedDict(
    (name, tf.zeros(tensor_type.shape, tensor_type.dtype))
    for name, tensor_type in tff.structure.iter_elements(value_type)
  )


def _classifier(trainable: Any) -> collections.OrderedDict[str, tf.Tensor]:
  """Returns the last two of the weights, the kernel and the bias, by name."""
  *_, kernel, bias = trainable
  return collections.OrderedDict(
    kernel=tf.convert_to_tensor(kernel), bias=tf.convert_to_tensor(bias)
  )


def _count(statistics: Any) -> tf.Tensor:
  """Returns the number of examples in the sums."""
  return tf.round(tf.reduce_sum(statistics['moments'][-1]))


def _check_frozen(
  feature_map: feature_map_lib.FeatureMap, trainable: list[tf.Tensor]
) -> tf.Operation:
  """Returns an assertion that the first weights are the feature map's."""
  same = [
    tf.reduce_all(tf.equal(expected, given))
    for expected, given in zip(feature_map.initial_weights, trainable)
  ]
  return tf.debugging.Assert(
    tf.reduce_all(tf.stack(same)) if same else tf.constant(True),
    [
      'The weights must have the feature extractor of the process, which is '
      'frozen, got another.'
    ],
  )

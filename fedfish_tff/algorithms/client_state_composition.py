# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Composition of the parts of methods with client states.

As `composition` is for those without, whose process is made of TFF's
templates; these have no place for what a client keeps.
"""

import collections

from fedfish_tff.algorithms import client_state_process
from fedfish_tff.models import model_functions

import tensorflow_federated as tff


def compose_client_state_process(
  model_fn: model_functions.ModelFn,
  client_work: tff.Computation,
  aggregator: tff.templates.AggregationProcess,
  finalizer: tff.templates.MeasuredProcess,
  *,
  initial_model: tff.Computation,
  initialize_client: tff.Computation,
  get_model_weights: tff.Computation,
  client_model_weights: tff.Computation,
  local_training: tff.Computation,
  update_is_finite: tff.Computation,
  select_sent: tff.Computation | None = None,
  extra_passes: int = 0,
) -> client_state_process.ClientStateProcess:
  """Composes client work, aggregator and finalizer to a process.

  M is the server's model: its weights, and whatever else clients need. P is
  what it sends of that, C a client's state, and A what the aggregator makes of
  the clients' results. Computations are not placed, those of processes are.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_work: A client's round, as of `client_work.build_client_state_work`:
      (<P, C, B*> -> <client_state=C, result=ClientResult, metrics=unfinalized
      metrics, excluded=int32>).
    aggregator: Combines the results' updates by their weights.
    finalizer: Has next of type (<F@SERVER, M@SERVER, A@SERVER> ->
      MeasuredProcessOutput<F, M, measurements>). What the server keeps to
      itself, such as an optimizer's state, is in F.
    initial_model: ( -> M), that of the first round.
    initialize_client: (M -> C), the state of a client that comes for the first
      time.
    get_model_weights: (M -> ModelWeights).
    client_model_weights: (<M, C> -> ModelWeights), see `ClientStateProcess`.
    local_training: See `FederatedProcess`.
    update_is_finite: See `FederatedProcess`.
    select_sent: (M -> P); all of it is sent by default.
    extra_passes: See `FederatedProcess`.

  Returns:
    The process. Its state is <model=M, aggregator, finalizer=F>, its
    metrics <client_work=<train, excluded_clients>, aggregator, finalizer>.

  Raises:
    TypeError: If parts do not fit.
  """
  aggregate_metrics = tff.learning.metrics.sum_then_finalize(
    model_functions.metric_finalizers(model_fn)
  )

  @tff.federated_computation
  def initialize():
    return tff.federated_zip(
      collections.OrderedDict(
        model=tff.federated_eval(initial_model, tff.SERVER),
        aggregator=aggregator.initialize(),
        finalizer=finalizer.initialize(),
      )
    )

  def run_round(state, client_states, client_data):
    sent = state['model']
    if select_sent is not None:
      sent = tff.federated_map(select_sent, sent)
    output = tff.federated_map(
      client_work, (tff.federated_broadcast(sent), client_states, client_data)
    )
    aggregated = aggregator.next(
      state['aggregator'], output.result.update, output.result.update_weight
    )
    finished = finalizer.next(
      state['finalizer'], state['model'], aggregated.result
    )
    metrics = collections.OrderedDict(
      client_work=collections.OrderedDict(
        train=aggregate_metrics(output.metrics),
        excluded_clients=tff.federated_sum(output.excluded),
      ),
      aggregator=aggregated.measurements,
      finalizer=finished.measurements,
    )
    return client_state_process.ClientStateOutput(
      state=tff.federated_zip(
        collections.OrderedDict(
          model=finished.result,
          aggregator=aggregated.state,
          finalizer=finished.state,
        )
      ),
      client_states=output.client_state,
      metrics=tff.federated_zip(metrics),
    )

  state_type = initialize.type_signature.result
  client_type, data_type = client_work.type_signature.parameter[1:]

  @tff.federated_computation(
    state_type,
    tff.FederatedType(client_type, tff.CLIENTS),
    tff.FederatedType(data_type, tff.CLIENTS),
  )
  def next_fn(state, client_states, client_data):
    return run_round(state, client_states, client_data)

  @tff.federated_computation(
    state_type,
    tff.FederatedType(
      collections.OrderedDict(client_state=client_type, data=data_type),
      tff.CLIENTS,
    ),
  )
  def next_without_client_states(state, clients):
    output = run_round(state, clients['client_state'], clients['data'])
    return tff.learning.templates.LearningProcessOutput(
      output.state, output.metrics
    )

  @tff.tensorflow.computation(state_type.member)
  def initialize_client_of_state(state):
    return initialize_client(state['model'])

  @tff.tensorflow.computation(state_type.member)
  def get_model_weights_of_state(state):
    return get_model_weights(state['model'])

  @tff.tensorflow.computation(state_type.member, client_type)
  def client_model_weights_of_state(state, client_state):
    return client_model_weights(state['model'], client_state)

  return client_state_process.ClientStateProcess(
    initialize=initialize,
    initialize_client=initialize_client_of_state,
    next_fn=next_fn,
    next_without_client_states=next_without_client_states,
    get_model_weights=get_model_weights_of_state,
    client_model_weights=client_model_weights_of_state,
    local_training=local_training,
    update_is_finite=update_is_finite,
    extra_passes=extra_passes,
  )


def compose_mean_and_sums(
  result_type: tff.Type,
  model_aggregator: tff.aggregators.WeightedAggregationFactory,
) -> tff.templates.AggregationProcess:
  """Composes the mean of deltas with plain sums of all else that clients send.

  Args:
    result_type: A `ClientResult` whose update is <delta, ...>.
    model_aggregator: Of delta, by the clients' weights.

  Returns:
    A process with next of type (<A@SERVER, {update}@CLIENTS, {weight}@CLIENTS>
    -> MeasuredProcessOutput<A, U, measurements>), where A, U and the
    measurements have the names of the update's parts.
  """
  update_type = result_type.update
  mean = model_aggregator.create(
    update_type['delta'], result_type.update_weight
  )
  sums = {
    name: tff.aggregators.SumFactory().create(update_type[name])
    for name in tff.structure.name_list(update_type)
    if name != 'delta'
  }

  @tff.federated_computation
  def initialize():
    return tff.federated_zip(
      collections.OrderedDict(
        delta=mean.initialize(),
        **{name: process.initialize() for name, process in sums.items()},
      )
    )

  @tff.federated_computation(
    initialize.type_signature.result,
    tff.FederatedType(update_type, tff.CLIENTS),
    tff.FederatedType(result_type.update_weight, tff.CLIENTS),
  )
  def next_fn(state, update, weight):
    outputs = collections.OrderedDict(
      delta=mean.next(state['delta'], update['delta'], weight),
      **{
        name: process.next(state[name], update[name])
        for name, process in sums.items()
      },
    )

    def zipped(part):
      return tff.federated_zip(
        collections.OrderedDict(
          (name, getattr(output, part)) for name, output in outputs.items()
        )
      )

    return tff.templates.MeasuredProcessOutput(
      zipped('state'), zipped('result'), zipped('measurements')
    )

  return tff.templates.AggregationProcess(initialize, next_fn)

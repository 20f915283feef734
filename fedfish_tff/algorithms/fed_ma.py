# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedMA: clients' networks are matched and averaged layer by layer.

Wang, Yurochkin, Sun, Papailiopoulos and Khazaeni, ICLR 2020 (arXiv:2002.06440),
Algorithm 1. A round is one pass over all layers, in phases: clients train the
layers that are not matched yet, and `aggregators.match_units` merges the next
layer, which is frozen from then on. The last layer is averaged class by class.
In the first round every client trains an initial network of its own, so that
the round is the paper's one-shot merge. Later rounds are its communication,
where a client starts with the server's units to which its own were matched.

Dense layers, convolutions, LSTMs and embeddings are matched. Units of an LSTM
are matched by their input weights and the biases of their gates. Their
recurrent weights are averaged in the resulting order.

The server's layers grow as clients' units find no match. States, evaluations
and checkpoints need tensors of fixed shapes, so networks of the server and of
clients are parts of one wide network. Its other units have zero weights. With
activations f such that f(0) = 0 these units have no effect, and no gradient
ever reaches them.

Training is a computation over the cohort; matching, between the phases, is
NumPy.
"""

import collections
from collections.abc import Sequence
import dataclasses
from typing import Any

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff import finite_checks
from fedfish_tff.aggregators import matched_average
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import padded_networks
from fedfish_tff.client_work import local_training
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def build_fed_ma(
  create_model: padded_networks.CreateModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  *,
  widths: Sequence[int],
  seed: int,
  local_epochs: int,
  max_widths: Sequence[int] | None = None,
  last_layer_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  gamma: float = 7.0,
  sigma: float = 1.0,
  sigma0: float = 1.0,
  sweeps: int = 5,
  average: choices.UnitAverage = choices.UnitAverage.MEAN,
) -> client_state_process.ClientStateProcess:
  """Builds FedMA (Wang et al., 2020, Algorithm 1).

  In a hidden layer, w_jl are the incoming weights of client j's unit l, and the
  server's unit i is the mean of the units matched to it. In the last layer the
  mean is over the weights of each class c, of which client j has n_jc examples:

    w_i = sum(w_jl) / count, over the (j, l) matched to i
    w_c = sum over j of (n_jc w_jc) / sum over j of (n_jc)

  Args:
    create_model: A function from the widths of hidden layers, in units, filters
      or components of an embedding, and the seed of initial weights, to a
      model. Its trainable tensors are a kernel and a bias, an LSTM or an
      embedding for each hidden layer, and the kernel and bias of its classes,
      as in `models.create_mlp_classifier`, or the tasks' `create_vgg9` and
      `create_character_lstm`. Its activations are 0 at 0, as relu and tanh are.
      A model of `max_widths` evaluates the process.
    client_optimizer_fn: The client optimizer, initialized anew in each phase.
      Zero gradients must leave zero weights zero, as with TFF's optimizers.
    widths: The widths of the clients' hidden layers.
    seed: The seed, 0 or more. It decides the initial networks, with a client's
      position in the first cohort, and the order in which clients are matched,
      with round and layer.
    local_epochs: The number of epochs in a client's sequence of batches. It
      only affects `extra_passes`: one more training for each hidden layer.
    max_widths: The server's maximal number of units in each hidden layer; twice
      `widths` by default. Once they are used up, units must match.
    last_layer_optimizer_fn: The client optimizer of the last phase, which
      trains the last layer alone. The published code uses a tenth of the rate
      and a weight decay of 1e-4. By default it is `client_optimizer_fn`.
    gamma: The readiness to create new units, positive, as in
      `aggregators.match_units`; 7 as published for images, 1e-3 for the LSTM.
    sigma: The variance of clients' units around the server's, positive.
    sigma0: The variance of the server's units, positive.
    sweeps: The number of times that all clients are matched again.
    average: The average that makes the server's units, of LSTMs' recurrent
      weights, too.

  Returns:
    The process. Its `next` is a Python function around several computations, so
    it runs wherever they do, and it has no `next_without_client_states`. The
    state is <trainable=tensors, counts={int32 [max_width]}, num_rounds=int32>:
    the number of clients that have each unit, 0 for an unused one, and the
    number of rounds so far. A client's state is <units={int32 [width]},
    num_rounds=int32>: the server's units to which its own were matched, and the
    number of rounds after that. A client that is new or was not in the previous
    round takes the units that most clients have.

    A client with weights that are not finite after any phase is left out,
    counted, and keeps its state: the round begins again without it. A client
    without data is left out, too, but not counted. If no client is left nothing
    changes. The last layer of a sequence model, with several labels per
    example, is averaged over all clients with equal weights, as in the authors'
    code for LSTMs. Metrics contain, for each hidden layer, the `units` in use
    and those `of_one_client`; train metrics are those of the first phase.

    In a round a client receives the model, and each matched layer with the
    places of its units there. It sends each layer once, in its own width, with
    its class counts and metrics. Received tensors are counted with
    `max_widths`, used or not, also in the first round.
  """
  matching = {
    'gamma': gamma,
    'sigma': sigma,
    'sigma0': sigma0,
    'sweeps': sweeps,
    'average': choices.UnitAverage(average),
  }
  # Invalid arguments fail here, before any training.
  errors.check_positive_integer('local_epochs', local_epochs)
  errors.check_integer('seed', seed, least=0)
  matched_average.match_units(
    [np.zeros([1, 2])], np.random.default_rng(0), **matching
  )
  max_widths = [2 * w for w in widths] if max_widths is None else max_widths
  last_layer_optimizer_fn = last_layer_optimizer_fn or client_optimizer_fn
  local_training.check_optimizer(client_optimizer_fn, 'client_optimizer_fn')
  local_training.check_optimizer(
    last_layer_optimizer_fn, 'last_layer_optimizer_fn'
  )
  return _FedMaProcess(
    padded_networks.PaddedNetworks(
      create_model, tuple(widths), tuple(max_widths), seed
    ),
    [client_optimizer_fn] * len(widths) + [last_layer_optimizer_fn],
    seed=seed,
    matching=matching,
    extra_passes=local_epochs * len(widths),
  )


@dataclasses.dataclass(eq=False)
class _Client:
  """A client of the cohort, during a round.

  Attributes:
    position: Its index in the cohort.
    data: Its batches of all local epochs.
    tensors: Its network, a part of the wide one.
    places: For each hidden layer, the places of its own units.
    class_counts: int32 [classes]; ones for a sequence model.
    metrics: The metrics of the first phase, unfinalized.
  """

  position: int
  data: Any
  tensors: list[np.ndarray]
  places: list[np.ndarray]
  class_counts: np.ndarray
  metrics: Any = None


class _FedMaProcess(client_state_process.ClientStateProcess):
  """The process of `build_fed_ma`."""

  # The base class takes `next` as an argument; here it is a method.
  def __init__(  # pylint: disable=super-init-not-called
    self,
    networks: padded_networks.PaddedNetworks,
    optimizers: Sequence[tff.learning.optimizers.Optimizer],
    *,
    seed: int,
    matching: dict[str, Any],
    extra_passes: int,
  ) -> None:
    self._networks = networks
    self._seed = seed
    self._matching = matching
    self.extra_passes = extra_passes
    self.uses_weights = True
    model = networks.model
    num_tensors = len(model.initial_weights[0])
    starts = [layer.outputs[0] for layer in networks.layers]
    self._train = [
      _build_phase(model, optimizer, [i >= start for i in range(num_tensors)])
      for start, optimizer in zip([*starts, num_tensors - 2], optimizers)
    ]
    num_classes = len(model.initial_weights[0][-1])
    self._count_classes = _build_class_counts(model, num_classes)
    trained_type = self._train[0].type_signature.result.member
    self._finalize_metrics = _build_metrics(model, trained_type.metrics)
    self.exchanged_types = self._exchanged_types(trained_type, num_classes)
    self.build_local_training = lambda: local_training.build_local_training(
      model, optimizers[0]
    )
    self._build_states()

  def _build_states(self) -> None:
    """Builds the computations on states."""
    networks, initial = self._networks, self._networks.create(self._seed)

    @tff.tensorflow.computation
    def initial_state():
      return collections.OrderedDict(
        trainable=tuple(map(tf.constant, initial)),
        counts=tuple(
          tf.zeros([width], tf.int32) for width in networks.max_widths
        ),
        num_rounds=tf.constant(0),
      )

    @tff.federated_computation
    def initialize():
      return tff.federated_eval(initial_state, tff.SERVER)

    state_type = initial_state.type_signature.result

    @tff.tensorflow.computation(state_type)
    def initialize_client(state):
      return collections.OrderedDict(
        # The first of equal counts come first.
        units=tuple(
          tf.math.top_k(counts, width).indices
          for counts, width in zip(state['counts'], networks.widths)
        ),
        num_rounds=state['num_rounds'],
      )

    client_type = initialize_client.type_signature.result

    @tff.tensorflow.computation(state_type, client_type)
    def client_units(state, client_state):
      return tf.cond(
        tf.equal(client_state['num_rounds'], state['num_rounds']),
        lambda: client_state['units'],
        lambda: initialize_client(state)['units'],
      )

    @tff.tensorflow.computation(state_type, client_type)
    def client_model_weights(state, client_state):
      tensors = list(state['trainable'])
      for layer, units in zip(
        networks.layers, client_units(state, client_state), strict=True
      ):
        own = tf.reduce_max(tf.one_hot(units, layer.width), axis=0)
        for axis, places in ((-1, layer.outputs), (-2, layer.inputs)):
          for place in places:
            mask = tf.tile(own, [tensors[place].shape[axis] // layer.width])
            mask = mask if axis == -1 else mask[:, tf.newaxis]
            tensors[place] *= tf.cast(mask, tensors[place].dtype)
      return tff.learning.models.ModelWeights(tuple(tensors), ())

    @tff.tensorflow.computation(state_type)
    def get_model_weights(state):
      return tff.learning.models.ModelWeights(tuple(state['trainable']), ())

    self.initialize = initialize
    self.initialize_client = initialize_client
    self.get_model_weights = get_model_weights
    self.client_model_weights = client_model_weights
    self._client_units = client_units

  def _exchanged_types(
    self, trained_type: tff.Type, num_classes: int
  ) -> tuple[tff.Type, tff.Type]:
    """Returns the types of what a client receives and sends in a round."""
    networks, tensors = self._networks, list(trained_type.tensors)
    places = [tff.TensorType(np.int32, [w]) for w in networks.widths]
    layers = []
    for layer, width in zip(networks.layers, networks.widths):
      for place in layer.outputs:
        *others, units = tensors[place].shape
        if place in layer.recurrent:
          others[-1] = width
        shape = [*others, units // layer.width * width]
        layers.append(tff.TensorType(tensors[place].dtype, shape))
    finite = [trained_type.finite] * len(self._train)
    return (
      tff.StructType([*tensors, *tensors[:-2], *places]),
      tff.StructType(
        [
          *(*layers, *tensors[-2:], trained_type.metrics, *finite),
          tff.TensorType(np.int32, [num_classes]),
        ]
      ),
    )

  def next(
    self, state: Any, client_states: Sequence[Any], client_data: Sequence[Any]
  ) -> client_state_process.ClientStateOutput:
    """Runs a round, one pass over all layers."""
    left_out: set[int] = set()
    while True:
      clients = [
        client
        for client in self._start(state, client_states, client_data)
        if client.position not in left_out
      ]
      layers, counts, diverged = self._pass(int(state['num_rounds']), clients)
      if not diverged:
        break
      # The pass starts anew: the diverged client has shaped the server's
      # layers.
      left_out |= diverged
    new_state, new_clients = state, list(client_states)
    if clients:
      num_rounds = np.int32(state['num_rounds'] + 1)
      new_state = collections.OrderedDict(
        trainable=tuple(layers), counts=tuple(counts), num_rounds=num_rounds
      )
      for client in clients:
        new_clients[client.position] = collections.OrderedDict(
          units=tuple(client.places), num_rounds=num_rounds
        )
    return client_state_process.ClientStateOutput(
      new_state,
      new_clients,
      collections.OrderedDict(
        client_work=collections.OrderedDict(
          train=self._finalize_metrics([client.metrics for client in clients]),
          excluded_clients=len(left_out),
        ),
        fed_ma=collections.OrderedDict(
          (
            f'layer_{layer}',
            collections.OrderedDict(
              units=np.count_nonzero(layer_counts),
              of_one_client=np.count_nonzero(layer_counts == 1),
            ),
          )
          for layer, layer_counts in enumerate(new_state['counts'])
        ),
      ),
    )

  def train_apart(self, client_data: Sequence[Any]) -> list[list[np.ndarray]]:
    """Returns clients' networks of the first round, trained but not matched.

    The paper compares FedMA with their ensemble.

    Args:
      client_data: The data of the first round.

    Returns:
      Trainable weights of a model of `widths`, for each client that has data
      and has not diverged.
    """
    nobody = [None] * len(client_data)  # All clients are new.
    clients = self._start(self.initialize(), nobody, client_data)
    diverged = self._train_rest(0, clients)
    return [
      self._networks.cut_new(client.tensors)
      for client in clients
      if client.position not in diverged
    ]

  def _start(
    self, state: Any, client_states: Sequence[Any], client_data: Sequence[Any]
  ) -> list[_Client]:
    """Returns the clients that have data, with their initial networks."""
    clients = []
    class_counts = self._count_classes(list(client_data))
    for position, (old, data, counts) in enumerate(
      zip(client_states, client_data, class_counts, strict=True)
    ):
      if not np.any(counts):
        continue
      if state['num_rounds']:
        weights = self.client_model_weights(state, old)
        tensors = list(weights.trainable)
        places = list(self._client_units(state, old))
      else:
        stream = np.random.default_rng([self._seed, position])
        tensors = self._networks.create(int(stream.integers(2**31)))
        places = self._networks.first_places()
      clients.append(_Client(position, data, tensors, places, counts))
    return clients

  def _pass(
    self, num_rounds: int, clients: Sequence[_Client]
  ) -> tuple[list[np.ndarray], list[np.ndarray], set[int]]:
    """Trains and merges all layers, unless a client diverges.

    The clients' networks and places become those after the round.

    Returns:
      The server's tensors, the number of clients that have each unit of its
      hidden layers, and the positions of diverged clients.
    """
    layers, counts = [], []
    for layer in range(len(self._train) if clients else 0):
      diverged = self._train_rest(layer, clients)
      if diverged:
        return [], [], diverged
      if layer < len(self._networks.widths):
        matched, layer_counts = self._match(layer, num_rounds, clients)
        counts.append(layer_counts)
      else:
        matched = matched_average.average_last_layer(
          *zip(*(client.tensors[-2:] for client in clients)),
          [client.class_counts for client in clients],
        )
      layers += matched
    return layers, counts, set()

  def _train_rest(self, layer: int, clients: Sequence[_Client]) -> set[int]:
    """Trains from a layer on; returns the positions of diverged clients."""
    results = self._train[layer](
      [tuple(client.tensors) for client in clients],
      [client.data for client in clients],
    )
    for client, result in zip(clients, results, strict=True):
      client.tensors = list(result['tensors'])
      if layer == 0:
        client.metrics = result['metrics']
    return {
      client.position
      for client, result in zip(clients, results)
      if not result['finite']
    }

  def _match(
    self, layer: int, num_rounds: int, clients: Sequence[_Client]
  ) -> tuple[list[np.ndarray], np.ndarray]:
    """Merges a hidden layer and updates the clients' networks.

    Returns:
      The merged tensors, and the number of clients that have each unit.
    """
    networks = self._networks
    width, max_width = networks.widths[layer], networks.max_widths[layer]
    places = networks.layers[layer]
    own = [
      networks.take(client.tensors, layer, client.places[layer])
      for client in clients
    ]
    tensors = [[network[p] for p in places.matched] for network in own]
    match = matched_average.match_units(
      [matched_average.unit_rows(t, width) for t in tensors],
      np.random.default_rng([self._seed, num_rounds, layer]),
      num_biases=sum(t.size // width for t in tensors[0] if t.ndim == 1),
      max_units=max_width,
      **self._matching,
    )
    unused = (0, max_width - len(match.counts))
    rows = np.pad(match.rows, (unused, (0, 0)))
    merged = dict(
      zip(places.matched, matched_average.unit_tensors(rows, tensors[0], width))
    )
    for place in places.recurrent:
      merged[place] = matched_average.average_recurrent(
        [network[place] for network in own],
        match.assignments,
        max_width,
        average=self._matching['average'],
      )
    for client, network, units in zip(clients, own, match.assignments):
      client.tensors = networks.put(network, layer, units)
      for place, tensor in merged.items():
        client.tensors[place] = tensor
      client.places[layer] = units.astype(np.int32)
    counts = np.pad(match.counts.astype(np.int32), unused)
    return [merged[place] for place in places.outputs], counts


def _build_phase(
  model: tff.learning.models.FunctionalModel,
  optimizer: tff.learning.optimizers.Optimizer,
  trained: Sequence[bool],
) -> tff.Computation:
  """Builds ({tensors}@CLIENTS, {B*}@CLIENTS -> {<tensors, metrics, finite>})."""
  data_type = model_functions.data_type(model)

  @tff.tensorflow.computation(
    model_functions.weights_type(model).trainable, data_type
  )
  def train_client(tensors, dataset):
    bound = model_functions.bind_model(model)

    @autograph.graph_function
    def run(tensors, data):
      result = local_training.train_part(
        bound,
        model_functions.FlatWeights(tensors, ()),
        data,
        optimizer=optimizer,
        trained=trained,
      )
      return collections.OrderedDict(
        tensors=result.weights.trainable,
        metrics=bound.unfinalized_metrics(result.metrics_state),
        finite=finite_checks.all_finite(result.weights.trainable),
      )

    return run(tuple(tensors), dataset)

  tensors_type = train_client.type_signature.parameter[0]

  @tff.federated_computation(
    tff.FederatedType(tensors_type, tff.CLIENTS),
    tff.FederatedType(data_type, tff.CLIENTS),
  )
  def train(tensors, client_data):
    return tff.federated_map(train_client, (tensors, client_data))

  return train


def _build_class_counts(
  model: tff.learning.models.FunctionalModel, num_classes: int
) -> tff.Computation:
  """Builds ({B*}@CLIENTS -> {int32 [classes]}@CLIENTS).

  For sequence models, all counts are 1 if the client has examples.
  """
  data_type = model_functions.data_type(model)

  @tff.tensorflow.computation(data_type)
  def count_client(dataset):
    def add(counts, batch):
      _, y = model_functions.split_batch(batch)
      if y.shape.rank > 1:
        return tf.minimum(counts + tf.shape(y)[0], 1)
      return counts + tf.reduce_sum(
        tf.one_hot(y, num_classes, dtype=tf.int32), 0
      )

    return dataset.reduce(tf.zeros([num_classes], tf.int32), add)

  @tff.federated_computation(tff.FederatedType(data_type, tff.CLIENTS))
  def count_classes(client_data):
    return tff.federated_map(count_client, client_data)

  return count_classes


def _build_metrics(
  model: tff.learning.models.FunctionalModel, metrics_type: tff.Type
) -> tff.Computation:
  """Builds ({unfinalized metrics}@CLIENTS -> metrics@SERVER)."""

  @tff.federated_computation(tff.FederatedType(metrics_type, tff.CLIENTS))
  def finalize_metrics(metrics):
    return tff.learning.metrics.sum_then_finalize(
      model_functions.metric_finalizers(model)
    )(metrics)

  return finalize_metrics

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The mean of clipped and noised updates, for user-level privacy.

McMahan, Ramage, Talwar and Zhang, "Learning Differentially Private Recurrent
Language Models", ICLR 2018 (arXiv:1710.06963), Algorithm 1, with the fixed
denominator of its f_f; Andrew, Thakkar, McMahan and Ramaswamy, "Differentially
Private Learning with Adaptive Clipping", NeurIPS 2021 (arXiv:1905.03871);
Kairouz, McMahan, Song, Thakkar, Thakurta and Xu, "Practical and Private (Deep)
Learning without Sampling or Shuffling", ICML 2021 (arXiv:2103.00039). Clipping
and noise are those of `tff.aggregators.DifferentiallyPrivateFactory`.
"""

from fedfish_tff import errors

from absl import logging
import tensorflow as tf
import tensorflow_federated as tff
import tensorflow_privacy as tfp

# The standard deviation, per client, of the noise on the number of clipped
# clients; from Andrew et al., section 3.1, and TFF's default.
_COUNT_NOISE = 0.05


class PrivateMeanFactory(tff.aggregators.WeightedAggregationFactory):
  """Aggregates to (sum of clipped updates + noise) / expected clients.

  Every client counts equally. Weights are ignored, since they would reveal a
  client's amount of data and let it move the mean by more than others. An
  update with a norm that is not finite counts as 0, where TFF's clipping would
  make the sum NaN. So a client moves the sum by at most the norm's bound.

  The created process takes any structure of float tensors and returns the same
  type. It measures the norm's bound if that adapts.
  """

  def __init__(
    self,
    noise_multiplier: float,
    clip_norm: float,
    *,
    expected_clients: float,
    target_quantile: float | None = None,
    rounds_per_tree: int | None = None,
    noise_seed: int | None = None,
  ):
    """Initializes the factory.

    Args:
      noise_multiplier: The noise's standard deviation divided by the norm's
        bound; 0 for no noise. With adaptive clipping it is that of the update
        and of the count of clipped clients together: the update's own is
        larger.
      clip_norm: The bound of an update's L2 norm, the first one if it adapts.
      expected_clients: The number by which the sum is divided, however many
        clients take part. Their actual number is private itself if they are
        drawn one by one.
      target_quantile: The share of clients with updates that should not be
        clipped, to which the bound adapts; None for a fixed bound. An adaptive
        bound needs a `noise_multiplier` below a tenth of `expected_clients`:
        otherwise the noise on the count of clipped clients would be too small.
      rounds_per_tree: The number of rounds per tree; None for independent noise
        in each round. The noise of a tree is that of DP-FTRL's tree of all
        rounds so far, which is started anew after these, and then adopts the
        adapted bound.
      noise_seed: The seed of a tree, which makes its noise repeatable, except
        for that on the count of clipped clients; by default from the time.
        Independent noise has no seed.
    """
    errors.check_range('noise_multiplier', noise_multiplier, least=0)
    errors.check_range('clip_norm', clip_norm, above=0)
    errors.check_range('expected_clients', expected_clients, above=0)
    if rounds_per_tree is not None:
      errors.check_positive_integer('rounds_per_tree', rounds_per_tree)
    if target_quantile is not None:
      errors.check_range('target_quantile', target_quantile, least=0, most=1)
      target_quantile = float(target_quantile)
    expected_clients = float(expected_clients)
    if (
      target_quantile is not None
      and noise_multiplier >= 2 * _COUNT_NOISE * expected_clients
    ):
      raise errors.InputError(
        'noise_multiplier must be below '
        f'{2 * _COUNT_NOISE * expected_clients:g} with adaptive clipping of '
        f'{expected_clients:g} clients per round, a tenth of them, since the '
        'count of clipped clients has less noise otherwise; got '
        f'{noise_multiplier}.'
      )
    self._noise_multiplier = float(noise_multiplier)
    self._clip_norm = float(clip_norm)
    self._expected_clients = expected_clients
    self._target_quantile = target_quantile
    self._rounds_per_tree = rounds_per_tree
    self._noise_seed = noise_seed

  def create(
    self, value_type: tff.Type, weight_type: tff.Type
  ) -> tff.templates.AggregationProcess:
    """Creates the process for a structure of float tensors."""
    private = self._build(value_type).create(value_type)

    @tff.tensorflow.computation(value_type)
    def drop_unbounded(value):
      norm = tf.linalg.global_norm(tf.nest.flatten(value))
      return tf.nest.map_structure(
        lambda t: tf.where(tf.math.is_finite(norm), t, tf.zeros_like(t)), value
      )

    @tff.federated_computation(
      private.initialize.type_signature.result,
      tff.FederatedType(value_type, tff.CLIENTS),
      tff.FederatedType(weight_type, tff.CLIENTS),
    )
    def next_fn(state, value, weight):
      del weight  # All clients count equally.
      return private.next(state, tff.federated_map(drop_unbounded, value))

    return tff.templates.AggregationProcess(private.initialize, next_fn)

  def _build(
    self, value_type: tff.Type
  ) -> tff.aggregators.UnweightedAggregationFactory:
    factory = tff.aggregators.DifferentiallyPrivateFactory
    noise, clients = self._noise_multiplier, self._expected_clients
    count_noise = _COUNT_NOISE * clients if noise else 0.0
    if self._rounds_per_tree is None:
      if self._target_quantile is None:
        return factory.gaussian_fixed(noise, clients, self._clip_norm)
      return factory.gaussian_adaptive(
        noise,
        clients,
        self._clip_norm,
        target_unclipped_quantile=self._target_quantile,
        clipped_count_stddev=count_noise,
      )
    specs = tff.types.type_to_tf_tensor_specs(value_type)
    if self._target_quantile is not None:
      if noise:
        logging.warning(
          'The noise on the count of clipped clients has a seed of the time: '
          'results are not repeatable.'
        )
      return factory.tree_adaptive(
        noise,
        clients,
        specs,
        self._clip_norm,
        restart_warmup=None,
        restart_frequency=self._rounds_per_tree,
        target_unclipped_quantile=self._target_quantile,
        clipped_count_stddev=count_noise,
        noise_seed=self._noise_seed,
      )
    # `tree_aggregation` with the restarts of `tree_adaptive`.
    tree = tfp.TreeResidualSumQuery.build_l2_gaussian_query(
      self._clip_norm, noise, specs, noise_seed=self._noise_seed
    )
    restarts = tfp.restart_query.PeriodicRoundRestartIndicator(
      self._rounds_per_tree
    )
    return factory(
      tfp.NormalizedQuery(tfp.RestartQuery(tree, restarts), clients)
    )

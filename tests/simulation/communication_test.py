# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of communication and other costs of rounds and runs."""

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff.datasets import batches
from fedfish_tff.evaluation import gradient_norm
from fedfish_tff.models import dense
from fedfish_tff.models import feature_map
from fedfish_tff.simulation import communication
from fedfish_tff.simulation import costs

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff

# 3 features, 4 hidden units, 2 classes: kernels and biases.
_NUM_WEIGHTS = 3 * 4 + 4 + 4 * 2 + 2
# Two means (a float32 total and count each) and an int64 count of examples.
_METRICS_BYTES = 2 * 2 * 4 + 8
_EXCLUDED_BYTES = 4  # int32


def _model():
  return dense.create_mlp_classifier(
    num_features=3, num_classes=2, hidden_units=(4,), seed=1
  )


class MeasureWireBytesTest(absltest.TestCase):
  def test_counts_tffs_own_fed_avg(self):
    process = tff.learning.algorithms.build_weighted_fed_avg(
      _model(), tff.learning.optimizers.build_sgdm(0.1)
    )
    self.assertEqual(
      communication.measure_wire_bytes(process),
      communication.WireBytes(
        download=_NUM_WEIGHTS * 4,
        upload=_NUM_WEIGHTS * 4 + 4 + _METRICS_BYTES,
      ),
    )

  def test_counts_a_computation_by_itself(self):
    # The sums of gradients, and an int64 count of examples.
    self.assertEqual(
      communication.measure_wire_bytes(
        gradient_norm.build_gradient_norm(_model())
      ),
      (_NUM_WEIGHTS * 4, _NUM_WEIGHTS * 4 + 8),
    )

  def test_counts_fed3r_and_what_its_paper_counts(self):
    features, classes = 5, 3
    process = algorithms.build_fed3r(
      feature_map.create_identity_features(features), num_classes=classes
    )
    size = features + 1  # The constant feature.
    sent = communication.measure_wire_bytes(process)
    triangle = size * (size + 1) // 2
    self.assertEqual(
      sent, (0, 4 * (triangle + size * classes) + _EXCLUDED_BYTES)
    )
    published = communication.closed_form_upload_bytes(features, classes)
    self.assertEqual(published, 4 * (5 * 5 + 5 * 3))
    # All of iNaturalist's users with MobileNetV2, in bytes: no rounding.
    self.assertEqual(
      9275 * communication.closed_form_upload_bytes(1280, 1203),
      117_912_704_000,
    )

  def test_counts_secure_sums_and_other_dtypes(self):
    @tff.federated_computation(
      tff.FederatedType((np.float64, [5]), tff.SERVER),
      tff.FederatedType((np.float32, [3, 2]), tff.CLIENTS),
      tff.FederatedType(np.int32, tff.CLIENTS),
    )
    def run_round(sent, plain, secure):
      return (
        tff.federated_broadcast(sent),
        tff.federated_sum(plain),
        tff.federated_secure_sum_bitwidth(secure, 8),
      )

    self.assertEqual(
      communication.measure_wire_bytes(run_round), (5 * 8, 3 * 2 * 4 + 4)
    )

  def test_counts_what_tffs_map_reduce_form_sends(self):
    process = tff.learning.algorithms.build_weighted_fed_avg(
      _model(),
      tff.learning.optimizers.build_sgdm(0.1),
      model_aggregator=tff.learning.secure_aggregator(),
    )
    form = tff.backends.mapreduce.get_map_reduce_form_for_computation(
      process.next
    )
    self.assertEqual(
      communication.measure_wire_bytes(process),
      tuple(
        sum(
          int(np.prod(leaf.shape)) * leaf.dtype.type().itemsize
          for leaf in tff.structure.flatten(sent.type_signature.result)
        )
        for sent in (form.prepare, form.work)
      ),
    )

  def test_rejects_what_clients_select(self):
    state_type = tff.FederatedType((np.float32, [3]), tff.SERVER)

    @tff.federated_computation(
      state_type, tff.FederatedType((np.int32, [1]), tff.CLIENTS)
    )
    def run_round(state, keys):
      slices = tff.federated_select(
        keys,
        tff.federated_value(3, tff.SERVER),
        state,
        tff.tensorflow.computation(
          lambda value, key: value[key], (state_type.member, np.int32)
        ),
      )
      total = tff.tensorflow.computation(
        lambda values: values.reduce(np.float32(0), lambda x, y: x + y),
        tff.SequenceType(np.float32),
      )
      return tff.federated_sum(tff.federated_map(total, slices))

    with self.assertRaisesRegex(errors.InputError, 'federated_select'):
      communication.measure_wire_bytes(run_round)

  def test_rejects_a_size_that_is_not_fixed(self):
    for sent, message in (
      (np.str_, 'type str'),
      ((np.float32, [None]), r'type float32\[\?\]'),
      (tff.SequenceType(np.int32), r'type int32\*'),
    ):
      send = tff.federated_computation(
        tff.federated_broadcast, tff.FederatedType(sent, tff.SERVER)
      )
      with self.assertRaisesRegex(errors.InputError, message):
        communication.measure_wire_bytes(send)


class _Process:
  extra_passes = 2
  uses_weights = True


def _cohort():
  # 3 batches and 1 batch an epoch.
  return [
    batches.ClientBatches(
      client_id=c,
      examples=np.zeros(n),
      indices=np.tile(np.arange(n), 4),
      epochs=4,
      batch_size=2,
    )
    for c, n in (('a', 5), ('b', 2))
  ]


class RunTotalsTest(absltest.TestCase):
  def test_local_steps(self):
    self.assertEqual(
      costs.count_local_steps(_Process(), _cohort(), 0),
      {'compute/local_steps': (3 + 1) * (4 + 2)},
    )
    self.assertEqual(
      costs.count_local_steps(_Process(), _cohort(), 1),
      {'compute/local_steps': (3 + 1) * (4 + 3)},
    )
    # TFF's own processes tell no passes beside those of training.
    self.assertEqual(
      costs.count_local_steps(object(), _cohort(), 0),
      {'compute/local_steps': (3 + 1) * 4},
    )
    of_some = _Process()
    of_some.extra_passes = 4 / 3
    self.assertEqual(
      costs.count_local_steps(of_some, _cohort(), 0),
      # 3 * 5.33 and 5.33.
      {'compute/local_steps': 16 + 5},
    )
    closed_form = _Process()
    closed_form.uses_weights = False
    self.assertEqual(
      costs.count_local_steps(closed_form, _cohort(), 0),
      {'compute/local_steps': 0},
    )

  def test_totals_add_up(self):
    totals = costs.totals_of({})
    self.assertEqual(set(totals.values()), {0})
    rows = (
      {'communication/payload_bytes': 2**40, 'time/round_seconds': 0.25},
      {'communication/payload_bytes': 1, 'communication/wire_bytes': 6},
      {'train/excluded_clients': 2, 'compute/local_steps': 4},
    )
    for row in rows:
      totals = costs.add_round(totals, row)
    numbers = {name: total.item() for name, total in totals.items()}
    self.assertEqual(
      numbers,
      {
        'wire_bytes': 6,
        'payload_bytes': 2**40 + 1,
        'local_steps': 4,
        'excluded_clients': 2,
        'round_seconds': 0.25,
      },
    )
    again = costs.totals_of(numbers)
    self.assertEqual(again, totals)
    for name, total in again.items():
      self.assertIs(type(total), type(totals[name]))

  def test_only_measured_payload_is_a_column(self):
    totals = costs.add_round(
      costs.totals_of({}), {'communication/payload_bytes': 5}
    )
    self.assertEqual(
      costs.total_columns(totals, {}),
      {'compute/local_steps_total': 0},
    )
    self.assertEqual(
      costs.total_columns(totals, {'communication/payload_bytes': 5}),
      {
        'compute/local_steps_total': 0,
        'communication/payload_bytes_total': 5,
      },
    )

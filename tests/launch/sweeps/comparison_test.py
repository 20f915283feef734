# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of comparisons that flags declare."""

from fedfish_tff import errors
from launch.sweeps import comparison

from absl.testing import parameterized


class ComparisonTest(parameterized.TestCase):
  def test_axes_follow_their_method(self):
    self.assertEqual(
      comparison.split_methods('fed_avg,server=adam,size=tpu,fed_fish,fed_avg'),
      ('fed_avg,server=adam,size=tpu', 'fed_fish', 'fed_avg'),
    )

  def test_values_have_the_types_of_their_fields(self):
    compared = comparison.Comparison(
      source='arrays',
      methods='fed_avg,fed_fish',
      grid=[
        'task.hidden_units=(8,),(8, 4)',
        'evaluation.barrier=true,false',
        'algorithm.fisher_estimator:per_example,batch_gradient',
        'local_epochs=1,2',
      ],
      tune=['client_learning_rate:1,0.5'],
    )
    _, found = compared.load()
    values = {
      field: tuple(
        dict.fromkeys(
          r.overrides[field] for r in found.tuning if field in r.overrides
        )
      )
      for field in found.tuning[-1].overrides
    }
    self.assertEqual(
      values,
      {
        'task.hidden_units': ((8,), (8, 4)),
        'evaluation.barrier': (True, False),
        'algorithm.fisher_estimator': ('per_example', 'batch_gradient'),
        'local_epochs': (1, 2),
        'client_learning_rate': (1.0, 0.5),
        'seed': (100, 101),
      },
    )
    # FedAvg has no estimator, and no seeds are asked for.
    self.assertLen(found.runs, 2 * 2 * 2 * (1 + 2))

  @parameterized.parameters(
    ({'methods': None}, 'named by --methods, or a single one by'),
    ({'source': 'digits:fed_avg'}, 'digits:fed_avg and --methods'),
    ({'methods': 'fed_agv'}, 'Did you mean fed_avg'),
    ({'seeds': 101}, 'seeds must be a number from 1 to 100, got 101'),
    ({'grid': ['rounds']}, "--grid must be FIELD=VALUE,VALUE.* got 'rounds'"),
    ({'grid': ['rounds=1,1']}, 'rounds=1,1 must differ from each other'),
    ({'tune': ['rate:1,2']}, 'fed_avg must have the field rate, got none'),
  )
  def test_bad_input(self, changes, message):
    arguments = {'source': 'digits', 'methods': 'fed_avg', **changes}
    with self.assertRaisesRegex(errors.InputError, message):
      comparison.Comparison(**arguments).load()

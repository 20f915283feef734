# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Random programs on TFF's own worker and in the cohort context."""

from fedfish_tff.execution.worker import local_worker
from tests.execution.fuzzing import comparison
from tests.execution.fuzzing import programs

from absl.testing import parameterized
import pytest

pytestmark = pytest.mark.thorough

_SEEDS = range(100)

# Programs that failed once, by what was wrong.
CASES = dict(
  # An element that nobody reads was left out, and its error with it.
  unread_error='int slices 8 | fail_division:5 | count:2 | sum | nothing',
  unread_error_before_a_map=(
    'row tensors 8 | fail_division:5 | map_stateless:1 | count:2 | sum | branch'
  ),
  skipped_error='int slices 8 | fail_text:1 | skip:3 | count:2 | sum | nothing',
  error_in_a_remainder=(
    'int slices 15 | fail_text:0 | batch_drop:1 | count:2 | collected | nothing'
  ),
  error_at_the_end_of_a_zip=(
    'int slices 15 | fail_division:0 | range_zip:3 | sum:2 | mean | nothing'
  ),
  error_in_an_iterator=(
    'nested slices 614 | fail_division:0 | batch_drop:6 | map_nested_names:3'
    ' | iterator:2 | collected | nothing'
  ),
  unread_error_in_an_iterator=(
    'int slices 15 | fail_division:0 | iterator_count:2 | collected | nothing'
  ),
  error_before_a_break=(
    'nested tensors 159 | fail_division:0 | map_point:1 | iterator_break:4'
    ' | integer_sum | dataset'
  ),
  # An error of the graph sent a shuffled dataset on the general path, where
  # its second reading was in another order.
  second_reading=(
    'int reshuffled 131 | batch_parallel:4 | map_switch:6 | sum:3 | secure_sum'
    ' | nothing'
  ),
  # A product with zeros was made zeros, whatever the other factor.
  error_times_zero=(
    'text batches 501 | fail_division:2 | draw:0 | distribution:0 | later | loop'
  ),
  # Of many repetitions of the data, all were filtered.
  repeated_filter=(
    'mixed batches 366 | repeat_filter_take:5 | map_nested_names:4 | sum:0'
    ' | integer_sum | branch'
  ),
)


class FuzzingTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.worker = local_worker.SyncLocalWorkerExecutionContext()
    cls.addClassCleanup(cls.worker.close)

  @parameterized.named_parameters(
    *CASES.items(),
    *((f'seed_{s}', str(programs.generate(s))) for s in _SEEDS),
  )
  def test_program(self, text):
    program = programs.Program.parse(text)
    self.assertEqual(str(program), text)
    outcome = comparison.compare(program, self.worker)
    self.assertEqual(outcome.difference, '', text)

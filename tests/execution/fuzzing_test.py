# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs on TFF's own worker and in the cohort context.

Every day cheap ones of most kinds; in CI the others, those that failed once, and
random ones that reach all parts.
"""

import functools

from tests.execution import two_contexts
from tests.execution.fuzzing import comparison
from tests.execution.fuzzing import elements
from tests.execution.fuzzing import pipelines
from tests.execution.fuzzing import programs
from tests.execution.fuzzing import reductions

from absl.testing import absltest
from absl.testing import parameterized
import pytest

# With the cases they reach every step, reduction and aggregation there is.
_SEEDS = (
  *(1, 3, 5, 7, 10, 13, 18, 19, 20, 21, 24, 31, 33, 41, 43, 44, 46, 50, 55, 57),
  *(60, 78, 79, 80, 83, 92, 111, 113, 120, 144, 149, 156),
)
_SEEDS_AT_NIGHT = [seed for seed in range(200) if seed not in _SEEDS]

# By what they reach.
CASES = dict(
  range='int slices 8 | zip_down:3 | sum:0 | outputs | nothing',
  skipping_all=(
    'names slices 15 | map_parallel:1 | prefetch:2 | skip_all:2 | take_all:0'
    ' | reduce:0 | outputs | nothing'
  ),
  slices='int slices 15 | slices:1 | collected | nothing',
  shuffle=(
    'int slices 15 | skip:2 | shuffle_seeded:4 | take:9 | joined_text:0'
    ' | outputs | nothing'
  ),
  passes_in_branches=(
    'mixed slices 15 | passes_in_branches:1 | integer_sum | nothing'
  ),
  loop_with_break='int slices 15 | map_loop:1 | for_break:2 | sum | nothing',
  iterators='int slices 15 | iterator_epochs:1 | collected | nothing',
  variables='pair slices 15 | variables:2 | mean | loop',
  scatter='bytes slices 15 | scatter:1 | sum | nothing',
  momentum='float slices 15 | keras_optimizer:7 | mean | nothing',
  mapped_sequence=(
    'int list 15 | sequence_map_leaves:0 | sequence_map_digest:0'
    ' | fold_notes:1 | sum | nothing'
  ),
  growing_fold='row tensors 15 | fold_list:0 | collected | nothing',
  sum_of_a_sequence=(
    'flag slices 15 | sequence_map_digest:0 | sequence_sum:0 | secure_sum'
    ' | nothing'
  ),
  sum_client_by_client=(
    'open tensors 17 | sequence_map_digest:0 | sequence_sum:0 | collected'
    ' | nothing'
  ),
  selection='mixed slices 15 | batch:0 | reduce:1 | selected | branch',
  names_client_by_client=(
    'names slices 15 | cache:0 | two_passes:1 | outputs | nothing'
  ),
  tables='int slices 15 | map_table:1 | table:2 | sum | nothing',
  table_of_texts='int slices 15 | string_lookup:0 | outputs | nothing',
  error_in_a_filter=(
    'int slices 15 | fail_text:0 | filter_none:0 | count:1 | outputs | nothing'
  ),
  error_in_a_remainder=(
    'int slices 15 | fail_text:0 | batch_drop:1 | count:2 | collected | nothing'
  ),
)

# What these do not reach.
MORE_CASES = dict(
  a_dataset_as_result='grid list 15 | take:2 | dataset:0 | passed | nothing',
  gradients_of_branches=(
    'half slices 15 | gradient_of_branches:0 | sum | nothing'
  ),
  concatenation_without_end=(
    'int slices 8 | concatenate_endless:3 | reduce:1 | outputs | nothing'
  ),
  more_repeats_than_can_be_counted=(
    'int slices 15 | repeat_most:5 | reduce:0 | outputs | nothing'
  ),
  scans=(
    'int slices 15 | scan:1 | scan:2 | take_while:1 | two_passes:1 | outputs'
    ' | nothing'
  ),
  passes_for_every_element=(
    'int slices 15 | map_whole:1 | nested_passes:1 | sum | loop'
  ),
  growing_state='int slices 15 | map_branch:1 | unbounded:2 | outputs | nothing',
  growing_text=(
    'rows ragged_tensors 15 | map_leaves:0 | joined_text:2 | outputs | nothing'
  ),
  normalized_client_by_client=(
    'int slices 15 | cache:0 | keras_batch_norm:1 | sum | nothing'
  ),
  embeddings='int slices 15 | keras_embedding:1 | weighted_mean | nothing',
  mapped_structures=(
    'nested batches 15 | sequence_map_sorted_names:0 | fold_text:1 | outputs'
    ' | nothing'
  ),
  mapped_twice=(
    'names list 15 | sequence_map_nested_names:0 | sequence_map_open_row:0'
    ' | two_passes:1 | outputs | nothing'
  ),
  mapped_client_by_client=(
    'open list 15 | sequence_map_nested_names:0 | fold_notes:1 | outputs'
    ' | nothing'
  ),
  mapped_twice_client_by_client=(
    'open list 15 | sequence_map_leaves:0 | sequence_map_open_row:0'
    ' | two_passes:1 | outputs | nothing'
  ),
  two_stages='tokens list 15 | map_names:0 | two_passes:1 | later | dataset',
  # No seed has these.
  windows='int slices 15 | window:1 | reduce:0 | outputs | nothing',
  dataset_of_a_branch=(
    'mixed batches 15 | unbatch:0 | chosen:2 | outputs | nothing'
  ),
  single_element='int slices 15 | single:1 | sum | nothing',
  error_that_is_not_reached=(
    'int slices 15 | fail_division:4 | take:1 | sum:1 | outputs | nothing'
  ),
  # These failed once, by what was wrong.
  # Of many repetitions of the data, all were filtered.
  repeated_filter=(
    'mixed batches 366 | repeat_filter_take:5 | map_nested_names:4 | sum:0'
    ' | integer_sum | branch'
  ),
  # An element that nothing reads was left out, and its error with it.
  unread_error='int slices 8 | fail_division:5 | count:2 | sum | nothing',
  unread_error_before_a_map=(
    'row tensors 8 | fail_division:5 | map_stateless:1 | count:2 | sum | branch'
  ),
  skipped_error='int slices 8 | fail_text:1 | skip:3 | count:2 | sum | nothing',
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
)


@functools.cache
def _generate(seed):
  return programs.generate(seed)


class PartsTest(absltest.TestCase):
  @pytest.mark.thorough
  def test_every_part_of_a_program_is_reached(self):
    lines = [*CASES.values(), *MORE_CASES.values()]
    reached = [*map(programs.Program.parse, lines), *map(_generate, _SEEDS)]
    for parts, names in (
      (elements.ELEMENTS, {p.element for p in reached}),
      (elements.FORMS, {p.form for p in reached}),
      (pipelines.ALL, {name for p in reached for name, _ in p.steps}),
      (reductions.ALL, {p.reduction[0] for p in reached}),
      (programs.AGGREGATIONS, {p.aggregation for p in reached}),
      (programs.SERVERS, {p.server for p in reached}),
    ):
      self.assertContainsSubset(parts, names)


class FuzzingTest(two_contexts.TestCase, parameterized.TestCase):
  @parameterized.named_parameters(CASES.items())
  def test_case(self, text):
    self._compare(text)

  @parameterized.named_parameters(MORE_CASES.items())
  @pytest.mark.thorough
  def test_another_case(self, text):
    self._compare(text)

  @parameterized.parameters(*_SEEDS)
  @pytest.mark.thorough
  def test_seed(self, seed):
    self._compare(str(_generate(seed)))

  @parameterized.parameters(_SEEDS_AT_NIGHT)
  @pytest.mark.slow
  def test_another_seed(self, seed):
    self._compare(str(_generate(seed)))

  def _compare(self, text):
    program = programs.Program.parse(text)
    self.assertEqual(str(program), text)
    outcome = comparison.compare(program, self.worker)
    self.assertEqual(outcome.difference, '', text)

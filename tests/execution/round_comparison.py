# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compares a round in the cohort context with TFF's own runtime."""

import functools

from fedfish_tff.execution import cohort_context
from fedfish_tff.execution.worker import local_worker
from tests.execution import learning_models
from tests.execution import learning_rounds

from absl.testing import parameterized
import tensorflow_federated as tff


@functools.cache
def _worker() -> local_worker.SyncLocalWorkerExecutionContext:
  """Returns the worker that the tests of a process share."""
  return local_worker.SyncLocalWorkerExecutionContext()


class RoundTestCase(parameterized.TestCase):
  """Tests that compare rounds, and stop the worker in the end."""

  @classmethod
  def tearDownClass(cls):
    super().tearDownClass()
    if _worker.cache_info().currsize:
      _worker().close()
      _worker.cache_clear()


def check_round(name: str, model: str, kind: str) -> None:
  """Checks that a round is what TFF computes, and ran as graphs.

  Args:
    name: Of `learning_rounds.ROUNDS`.
    model: Of `learning_models.MODELS`.
    kind: Of `learning_models.KINDS`.

  Raises:
    AssertionError: If not.
  """
  case = learning_models.MODELS[model]
  run = learning_rounds.ROUNDS[name](case, kind)
  context = cohort_context.SyncCohortExecutionContext()
  with tff.framework.get_context_stack().install(context):
    here = run()
  if context.general_path_reasons:
    raise AssertionError(
      f'{name} with the {kind} {model} ran client by client: '
      f'{context.general_path_reasons}'
    )
  with tff.framework.get_context_stack().install(_worker()):
    there = run()
  learning_rounds.assert_agree(here, there, relative=case.relative)

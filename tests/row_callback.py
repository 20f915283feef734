# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A hook that calls a function with each row of a run."""

from collections.abc import Callable
from typing import Any

from fedfish_tff.simulation import hooks


class RowCallback(hooks.Hook):
  """Calls a function with (round, row) after each row was released."""

  def __init__(self, function: Callable[[int, Any], None]) -> None:
    self._function = function

  def observe(self, round_number: int, row: Any) -> None:
    self._function(round_number, row)

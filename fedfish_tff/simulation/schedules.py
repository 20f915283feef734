# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Schedules of the numbers that traced processes read, by round."""

from collections.abc import Callable
from collections.abc import Mapping

from fedfish_tff.simulation import hooks


class Schedules(hooks.Hook):
  """A hook that sets `fedfish_tff.parameters` in each round."""

  def __init__(
    self, round_parameters: Callable[[int], Mapping[str, float]]
  ) -> None:
    """Takes the schedules.

    Args:
      round_parameters: The function from a round to numbers by name, such as
        factors of learning rates.
    """
    self._round_parameters = round_parameters

  def before_round(self, round_number: int) -> Mapping[str, float]:
    return self._round_parameters(round_number)

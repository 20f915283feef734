# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The options of a run that are not part of its config, as flags set them."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import os
from typing import Any

from fedfish_tff.execution import contexts


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions:
  """The options of a run.

  Attributes:
    workdir: The folder for all output.
    context: The name of the execution context.
    context_options: The options of `contexts.set_default_context`.
    data_dir: The folder of the data, for tasks that read files.
    overwrite: Whether to remove an earlier run in the workdir first.
    progress_bar: Whether to show a bar; None to show it only on a terminal.
    metrics_managers: The names of managers that also receive each row; see
      `metrics_managers.load`. The start of a fine-tuning has none.
  """

  workdir: str | os.PathLike[str]
  context: str = contexts.DEFAULT_CONTEXT_NAME
  context_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  data_dir: str | None = None
  overwrite: bool = False
  progress_bar: bool | None = None
  metrics_managers: Sequence[str] = ()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Parses --targets of launch.evaluate before TensorFlow is imported."""

from collections.abc import Mapping
from collections.abc import Sequence
import os

from fedfish_tff import errors


def parse_targets(values: Sequence[str]) -> dict[str, str | None]:
  """Returns the folder of each target; None for one without.

  Args:
    values: The targets, each in the form `NAME` or `NAME=FOLDER`.

  Raises:
    errors.InputError: If one has another form, a name comes twice, or there is
      none.
  """
  targets = {}
  for value in values:
    name, equals, folder = value.partition('=')
    if not name or (equals and not folder):
      raise errors.InputError(
        f'--targets holds {value!r}; NAME or NAME=FOLDER was expected, such as '
        'c4 or cc_news=grouped/news.'
      )
    if name in targets:
      raise errors.InputError(
        f'--targets names {name} twice; each target was expected once.'
      )
    targets[name] = os.path.expanduser(folder) or None
  if not targets:
    raise errors.InputError('--targets is empty; one target was expected.')
  return targets


def check_folders(
  targets: Mapping[str, str | None], own: str, data_dir: str | None
) -> None:
  """Refuses synthetic pages as targets of a model of real text.

  Args:
    targets: The result of `parse_targets`.
    own: The name of the workdir's own task.
    data_dir: The folder of the data of that task; None if it reads no files.

  Raises:
    errors.InputError: If the workdir's task reads files, and another target has
      no folder.
  """
  for name, folder in targets.items():
    if data_dir is not None and folder is None and name != own:
      raise errors.InputError(
        f'--targets names {name} without a folder, but the model is of the data '
        f'in {data_dir}; {name}=FOLDER was expected.'
      )

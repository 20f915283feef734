# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The files of TFF's own data sets.

TFF downloads a file that its cache does not hold. Here a download requires an
explicit option, and an interrupted one leaves no partial file behind.
"""

from collections.abc import Callable
from collections.abc import Collection
import os
import pathlib
import socket
import tempfile
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields

# The option `download` of tasks that read such a file.
DOWNLOAD_OPTION = fields.Field(
  False, fields.boolean, 'Whether to download a missing file.'
)
_PUBLISHED_AT = 'https://storage.googleapis.com/tff-datasets-public'
# The timeout for a server that sends nothing, in seconds.
_PATIENCE = 60


def load_tff_data(
  name: str,
  load_data: Callable[..., Any],
  file_name: str,
  *,
  splits: Collection[str],
  data_dir: str | None,
  download: bool | None,
) -> Any:
  """Checks the file of a loader of `tff.simulation.datasets`, then calls it.

  Args:
    name: The name of the task, for error messages.
    load_data: The loader, a function of `cache_dir`.
    file_name: The file that it reads in `cache_dir`.
    splits: The splits that it reads in the file.
    data_dir: The folder of the file; None for TFF's own cache, ~/.tff.
    download: Whether to download a missing file from TFF's server; None if the
      task has no option for it.

  Returns:
    The loader's result.
  """
  folder = pathlib.Path(os.path.expanduser(data_dir or '~/.tff'))
  path = folder / file_name
  url = f'{_PUBLISHED_AT}/{file_name}.lzma'
  if not path.exists():
    if not download:
      remedies = [
        f'fetch {url} and unpack it there (unlzma)',
        'name the folder of such a file by --data_dir',
      ]
      if download is not None:
        remedies.append('let it be downloaded by --config.task.download=True')
      raise errors.InputError(
        f'Task {name!r} found no file {path}; {", ".join(remedies[:-1])} or '
        f'{remedies[-1]}.'
      )
    _download(name, load_data, path, url, splits)
  datasets.check_tff_database(path, splits)
  return load_data(cache_dir=str(folder))


def _download(
  name: str,
  load_data: Callable[..., Any],
  path: pathlib.Path,
  url: str,
  splits: Collection[str],
) -> None:
  """Lets TFF download the file to a temporary folder, then moves it."""
  patience = socket.getdefaulttimeout()
  socket.setdefaulttimeout(_PATIENCE)
  try:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
      prefix='.download-', dir=path.parent
    ) as folder:
      load_data(cache_dir=folder)
      datasets.check_tff_database(os.path.join(folder, path.name), splits)
      os.replace(os.path.join(folder, path.name), path)
  except Exception as error:  # From the network, the archive or the database.
    if isinstance(error, errors.InputError):
      reason = 'what came is not a whole TFF data base'
    else:
      reason = errors.first_line(error)
    raise errors.InputError(
      f'Task {name!r} could not download {url} to {path} ({reason}); fetch and '
      'unpack it there by other means.'
    ) from error
  finally:
    socket.setdefaulttimeout(patience)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The files that TFF's own data sets are read from.

TFF downloads a file that its cache does not hold. Here that takes an explicit
option, and a download that ends early leaves nothing that looks whole.
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

_PUBLISHED_AT = 'https://storage.googleapis.com/tff-datasets-public'
# A server that sends nothing for so long is given up, in seconds.
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
  """Calls a loader of `tff.simulation.datasets`, its file being checked first.

  Args:
    name: The task, for error messages.
    load_data: A function of `cache_dir`.
    file_name: The file that it reads in `cache_dir`.
    splits: The splits that it reads in the file.
    data_dir: The folder of the file; None for TFF's own cache, ~/.tff.
    download: Whether to fetch a missing file, as TFF publishes it; None where
      the task has no option to do so.

  Returns:
    What the loader returns.

  Raises:
    errors.InputError: If the file is missing, cannot be fetched, or is no TFF
      data base with the splits.
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
  """Lets TFF fetch the file into a folder of its own, then moves it."""
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
  except Exception as error:  # Of the network, the archive or the data base.
    if isinstance(error, errors.InputError):
      reason = 'what came is not a whole TFF data base'
    else:
      reason = ' '.join(str(error).split()) or type(error).__name__
    raise errors.InputError(
      f'Task {name!r} could not download {url} to {path} ({reason}); fetch and '
      'unpack it there by other means.'
    ) from error
  finally:
    socket.setdefaulttimeout(patience)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Grouping of raw text into a folder of clients, with statistics and a plot."""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import json
import logging
import os
import pathlib
import tempfile
from typing import Any

from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.datasets import grouping
from launch.data import client_folder

# The file is written last: its presence means that a folder is complete.
_LAST_FILE = 'dataset.json'
_SPLITS = ('train', 'validation', 'held_out')
# The largest number of records of a kind that are named on the terminal.
_MOST_PRINTED = 5
_QUANTILES = ('min', 'p10', 'median', 'p90', 'p99', 'max')


def run(
  output_dir: str,
  *,
  text_format: str,
  input_name: str,
  key: grouping.ClientKey,
  options: grouping.GroupingOptions,
  split: str = 'train',
  features: Sequence[str] | None = None,
  data_dir: str | None = None,
  download: bool = False,
  num_processes: int = 1,
  beam_flags: Sequence[str] = (),
) -> None:
  """Writes grouped clients and prints a summary.

  Args:
    output_dir: The new folder; with flags of Beam, it may also be a URL of
      tf.io.gfile.
    text_format: 'c4', 'cc_news' or 'tfds'.
    input_name: The pattern of files, or the name of a data set.
    key: The key that identifies clients.
    options: The options of grouping.
    split: The split of a data set of TFDS.
    features: The features of it to keep, or None for all.
    data_dir: The folder of TFDS's prepared data, or None for the default one.
    download: Whether to download and prepare missing data.
    num_processes: The number of processes, if no runner of Beam is used.
    beam_flags: The flags of Apache Beam, with '--runner'; empty for this
      machine.

  Raises:
    errors.InputError: If the input cannot be read or used, or the folder cannot
      be written.
  """
  is_remote = '://' in output_dir
  if beam_flags:
    grouping.create_beam_runner(beam_flags)  # Reports invalid flags at once.
    # The messages of starting workers are of no use to the user.
    logging.getLogger('apache_beam').setLevel(logging.ERROR)
    # This logger prints a traceback of each error, even of Ctrl-C, although
    # the error is raised anyway.
    logging.getLogger('apache_beam.runners.common').setLevel(logging.CRITICAL)
  elif is_remote:
    raise errors.InputError(
      f'--output_dir={output_dir} needs --runner; without one, the output must '
      'be a folder of this machine.'
    )
  if not is_remote:
    client_folder.check_is_free(output_dir)
  if text_format == 'tfds':
    # Imported late, because the grouping of files does not need TFDS.
    from launch.data import labelled_dataset  # pylint: disable=g-import-not-at-top

    source = grouping.create_tfds_source(
      labelled_dataset.load_builder(
        input_name, data_dir=data_dir, download=download
      ),
      split=split,
      key=key,
      features=features,
    )
  else:
    source = grouping.TextSource(
      format=text_format, pattern=input_name, key=key
    )
  key_title = 'host with www.' if key.keep_www else key.name.replace('_', ' ')
  title = f'{text_format} by {key_title}'
  new_folder = (
    _new_remote_folder(output_dir)
    if is_remote
    else client_folder.new_folder(output_dir, work=grouping.WORK_FOLDER)
  )
  with new_folder as folder:
    grouped = grouping.group(
      source,
      folder,
      options=options,
      key=dataclasses.asdict(key),
      num_processes=num_processes,
      beam_flags=beam_flags,
      shard_folder=output_dir if is_remote else None,
      write_more=lambda dataset: _write_statistics(dataset, folder, title),
    )
  for line in _describe(grouped.statistics()):
    print(line)
  print(output_dir)


@contextlib.contextmanager
def _new_remote_folder(url: str) -> Iterator[pathlib.Path]:
  """Yields a local folder and copies its files to the URL at the end."""
  # Imported late, because TensorFlow takes seconds.
  import tensorflow as tf  # pylint: disable=g-import-not-at-top

  last = f'{url}/{_LAST_FILE}'
  try:
    if tf.io.gfile.exists(last):
      raise errors.InputError(
        f'{url} must be a new folder, got one with {last}.'
      )
    with tempfile.TemporaryDirectory() as folder:
      yield pathlib.Path(folder)
      for name in sorted(os.listdir(folder), key=_LAST_FILE.__eq__):
        tf.io.gfile.copy(
          os.path.join(folder, name), f'{url}/{name}', overwrite=True
        )
  except tf.errors.OpError as error:
    raise errors.InputError(
      f'{url} cannot be written: {errors.first_line(error)}.'
    ) from error


def _write_statistics(
  grouped: grouping.GroupedDataset, folder: pathlib.Path, title: str
) -> None:
  """Writes statistics.json and statistics.png."""
  # Imported late, because Matplotlib takes a second, but in this thread: its
  # import changes the working directory of the process for that time.
  from launch.data import client_sizes  # pylint: disable=g-import-not-at-top
  from launch.plots import style  # pylint: disable=g-import-not-at-top

  simulation.write_atomically(
    folder / 'statistics.json',
    (
      json.dumps(grouped.statistics(), indent=2, ensure_ascii=False) + '\n'
    ).encode(errors='replace'),
  )
  splits = [split for split in _SPLITS if split in grouped.sizes]
  figure = client_sizes.plot_client_sizes(
    {
      measure: {s: getattr(grouped.sizes[s], measure) for s in splits}
      for measure in ('examples', 'words')
    },
    title=title,
  )
  style.save_figure(figure, folder / 'statistics.png')


def _describe(statistics: Mapping[str, Any]) -> list[str]:
  """Returns lines for the terminal."""
  lines = [f'{"":11}{"clients":>12}{"examples":>14}{"words":>16}']
  rows = [(s, statistics['splits'].get(s)) for s in _SPLITS]
  for name, row in [*rows, ('total', statistics['total'])]:
    if row is not None:
      lines.append(
        f'{name.replace("_", " "):11}{row["clients"]:12,}'
        f'{row["examples"]:14,}{row["words"]:16,}'
      )
  for measure in ('examples', 'words'):
    spread = statistics['total'][f'{measure}_per_client']
    quantiles = ', '.join(f'{n} {spread[n]:,}' for n in _QUANTILES)
    lines.append(
      f'{measure} of a client: {quantiles}, mean {spread["mean"]:,.1f}'
    )
  small = statistics['clients_with_too_few_examples']
  if small:
    lines.append(f'left out: {small:,} clients with too few examples')
  for kind, count in statistics['skipped'].items():
    named = statistics['named'].get(kind, [])
    more = '; ...' if count > len(named[:_MOST_PRINTED]) else ''
    names = '; '.join(named[:_MOST_PRINTED]) + more if named else ''
    lines.append(
      f'left out: {count:,} {kind}' + (f' ({names})' if names else '')
    )
  return lines

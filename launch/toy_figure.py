# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Draws the FedFish paper's toy figure: two clients, one merged function.

Two clients fit noisy points of sin(3x) on ranges that overlap fully, partly or
not at all; FedAvg and FedFish merge their networks after one round:

  python -m launch.toy_figure --output_dir=plots

Written to --output_dir: toy_regression.png (the clients' functions, the merged
ones, and the client-server barriers of FedFish against FedAvg, one point a
seed) and toy_regression.csv (every barrier). Printed: medians over seeds.

The functions are drawn for the first seed; the barriers are of all. The paper's
own Fisher estimator squares the gradient of a whole batch, which degrades when
clients train long (try --local_epochs=200); --estimator chooses which one the
figure shows, the table has all.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import csv
import io
import pathlib

from fedfish_tff import errors
from fedfish_tff.execution import contexts
from fedfish_tff.simulation import files
from launch import cli
from launch import toy_regression_study
from launch.plotting import regression
from launch.plotting import run_plots
from launch.plotting import style
from tasks import toy_regression

from absl import flags
import numpy as np
import tqdm

_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', None, 'The folder for the figure; made if it does not exist.'
)
_SEEDS = flags.DEFINE_integer(
  'seeds', 10, 'Seeds of data, batches and initial weights.', lower_bound=1
)
_LOCAL_EPOCHS = flags.DEFINE_integer(
  'local_epochs',
  toy_regression.DEFAULTS['local_epochs'],
  'Epochs of SGD at the clients.',
  lower_bound=1,
)
_ESTIMATOR = flags.DEFINE_enum(
  'estimator',
  'per_example',
  [e.value for e in toy_regression_study.ESTIMATORS.values()],
  "The Fisher estimator of the figure; batch_gradient is the paper's own.",
)
_FORMAT = flags.DEFINE_enum(
  'format', 'png', style.FORMATS, 'The format of the figure.'
)
_CONTEXT = flags.DEFINE_enum(
  'context',
  contexts.DEFAULT_CONTEXT_NAME,
  contexts.context_names(),
  'Where TFF computations run.',
)

_TITLES = {
  'full': 'Full overlap',
  'partial': 'Partial overlap',
  'none': 'No overlap',
}

Results = Mapping[str, Sequence[toy_regression_study.ToyResult]]


def format_table(results: Results) -> str:
  """Returns medians over seeds and wins over FedAvg, as text."""
  baseline = toy_regression_study.FED_AVG
  rows = [('overlap', 'method', 'median barrier (MSE)', 'better than FedAvg')]
  for overlap, of_seeds in results.items():
    reference = np.array([r.barriers[baseline] for r in of_seeds])
    for method in of_seeds[0].barriers:
      values = np.array([r.barriers[method] for r in of_seeds])
      wins = f'{np.sum(values < reference)} of {len(values)} seeds'
      rows.append(
        (
          overlap,
          method,
          f'{np.median(values):.4f}',
          '' if method == baseline else wins,
        )
      )
  widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
  return '\n'.join(
    '  '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
    for row in rows
  )


def to_csv(results: Results) -> bytes:
  """Returns every barrier as CSV: overlap, seed, method, barrier."""
  text = io.StringIO()
  writer = csv.writer(text, lineterminator='\n')
  writer.writerow(['overlap', 'seed', 'method', 'barrier_mse'])
  for overlap, of_seeds in results.items():
    for seed, result in enumerate(of_seeds):
      for method, value in result.barriers.items():
        writer.writerow([overlap, seed, method, repr(float(value))])
  return text.getvalue().encode()


def write_figure(
  results: Results,
  folder: pathlib.Path,
  *,
  estimator: str,
  file_format: str = 'png',
) -> list[pathlib.Path]:
  """Writes the figure and the barriers.

  Args:
    results: Of `toy_regression_study.run_study`.
    folder: Where to; made if it does not exist.
    estimator: Whose FedFish the figure shows.
    file_format: One of `style.FORMATS`.

  Returns:
    The files written.
  """
  shown = next(
    name
    for name, e in toy_regression_study.ESTIMATORS.items()
    if e.value == estimator
  )
  methods = (toy_regression_study.FED_AVG, shown)
  panels = []
  barriers = {}
  for overlap, of_seeds in results.items():
    first = of_seeds[0]
    panels.append(
      regression.RegressionPanel(
        title=_TITLES[overlap],
        grid=first.grid,
        truth=toy_regression.true_function(first.grid),
        client_x=first.client_x,
        client_y=first.client_y,
        local_functions=first.local_functions,
        global_functions={m: first.global_functions[m] for m in methods},
      )
    )
    average, fish = (
      np.array([r.barriers[m] for r in of_seeds]) for m in methods
    )
    barriers[_TITLES[overlap]] = (fish, average)
  figure = regression.plot_toy_regression(panels, barriers, x_label=shown)
  paths = run_plots.write_figures(
    {'toy_regression': figure}, folder, file_format
  )
  table = folder / 'toy_regression.csv'
  files.write_atomically(table, to_csv(results))
  return [*paths, table]


def draw(
  folder: pathlib.Path,
  *,
  seeds: int,
  local_epochs: int,
  estimator: str,
  file_format: str = 'png',
) -> None:
  """Runs the study with a progress bar, writes the figure, prints the table."""
  steps = seeds * len(toy_regression.RANGES)
  with tqdm.tqdm(total=steps, desc='toy regression', unit='seed') as bar:
    results = toy_regression_study.run_study(
      seeds=seeds, local_epochs=local_epochs, on_result=bar.update
    )
  print(format_table(results))
  for path in write_figure(
    results, folder, estimator=estimator, file_format=file_format
  ):
    print(path)


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  if not _OUTPUT_DIR.value:
    raise errors.InputError('--output_dir is needed; --help shows an example.')
  contexts.set_default_context(_CONTEXT.value)
  draw(
    pathlib.Path(_OUTPUT_DIR.value),
    seeds=_SEEDS.value,
    local_epochs=_LOCAL_EPOCHS.value,
    estimator=_ESTIMATOR.value,
    file_format=_FORMAT.value,
  )


if __name__ == '__main__':
  cli.run(main)

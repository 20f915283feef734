# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Makes the tables and figures of the comparison from its raw tables.

  python -m research.equal_terms.report --input_dir=docs/results \
    --output_dir=runs/equal_terms/report

reads equal_terms_runs.csv and equal_terms_rounds.csv, which collect.py writes,
and writes for each task and question

  <question>_<task>.md   tables with a row for each method: accuracy and
                         difference from FedAvg with intervals, mean rank and
                         corrected p, the worst tenth of clients; costs in total
                         and until a target; ranks that the critical difference
                         tells apart; differences from FedAvg by round, and at
                         equal simulated time; accuracy by seed
  <question>_<tasks>.md  mean ranks over several tasks, of methods that all of
                         them have, for each such set of methods
  ranks.png              mean ranks with critical differences, for each task
  joint_ranks.png        the same over several tasks
  costs.png              accuracy so far against bytes and simulated seconds,
                         with the front of methods that no other one beats
  personal_global.png    clients' fine-tuned models against the server's model

README.md has the design and the tests.
"""

from collections.abc import Sequence

from fedfish_tff import errors
from fedfish_tff import simulation
from launch import cli
from launch import path_flags
from launch.plots import style
from research.equal_terms import budget
from research.equal_terms import figures
from research.equal_terms import ranks
from research.equal_terms import tables

import pandas as pd

_TITLES = dict(zip(budget.QUESTIONS, ('one model', 'personal models')))
_INPUT_DIR = path_flags.define(
  'input_dir', 'docs/results', 'The folder with the raw tables.'
)
_OUTPUT_DIR = path_flags.define(
  'output_dir', None, 'The folder for all output; made if it does not exist.'
)


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  cli.check_given(_OUTPUT_DIR)
  raw = {}
  for name in ('runs', 'rounds'):
    path = f'{_INPUT_DIR.value}/equal_terms_{name}.csv'
    try:
      raw[name] = pd.read_csv(path)
    except OSError as error:
      raise errors.InputError(
        f'{path} must be a table of collect.py: {error.strerror}.'
      ) from error
  folder = simulation.make_folder(_OUTPUT_DIR.value)
  sections, tests, joint, personal = {}, {}, {}, {}
  for (question, task), runs in raw['runs'].groupby(tables.SECTION, sort=False):
    rounds = raw['rounds']
    rounds = rounds[(rounds['question'] == question) & (rounds['task'] == task)]
    table, test, _ = tables.describe(runs, rounds)
    title = f'{task}: {_TITLES[question]}'
    sections[title], tests[title] = rounds, test
    if question == budget.QUESTIONS[1]:
      personal[title] = table
    page = tables.format_section(runs, rounds, title=title)
    simulation.write_atomically(
      folder / f'{style.slug(f"{question}_{task}")}.md', page.encode()
    )
    print(page)
  for question, runs in raw['runs'].groupby('question', sort=False):
    for joined in tables.tasks_to_join(runs):
      of = runs[runs['task'].isin(joined)]
      title = f'{len(joined)} tasks: {_TITLES[question]}'
      joint[title] = ranks.rank(tables.join_tasks(of))
      page = tables.format_joined(of, joint[title], title=title)
      name = style.slug('_'.join([question, *joined]))
      simulation.write_atomically(folder / f'{name}.md', page.encode())
      print(page)
  style.save_figure(figures.draw_ranks(tests), folder / 'ranks.png')
  if joint:
    style.save_figure(figures.draw_ranks(joint), folder / 'joint_ranks.png')
  style.save_figure(figures.draw_costs(sections), folder / 'costs.png')
  if personal:
    style.save_figure(
      figures.draw_personal(personal), folder / 'personal_global.png'
    )


if __name__ == '__main__':
  cli.run(main)

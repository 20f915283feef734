# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of launch.plot."""

import dataclasses
import json

from tests import temporary_folders
from tests.launch import binary_runner
from tests.launch.results import fake_runs

from absl.testing import parameterized
from PIL import Image

_CURVES = [
  'eval_global_accuracy_by_bytes',
  'eval_global_accuracy_by_local_steps',
  'eval_global_accuracy_by_round',
]


class PlotTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self._output = self.folder / 'plots'
    self._workdirs = [
      str(
        fake_runs.write_workdir(
          self.folder / f'{algorithm}_{seed}',
          algorithm,
          seed,
          evaluated=seed == 0,
        )
      )
      for algorithm in ('fed_avg', 'fed_fish')
      for seed in (0, 1)
    ]

  def _call(self, **flag_values):
    """Returns (exit code, stdout, stderr)."""
    values = dict(workdirs=self._workdirs, output_dir=self._output)
    arguments = []
    for name, value in (values | flag_values).items():
      if isinstance(value, list):
        value = ','.join(map(str, value))
      if value is not None:
        arguments.append(f'--{name}={value}')
    outcome = binary_runner.run_here('launch.plot', *arguments)
    return outcome.code, outcome.stdout, outcome.stderr

  def _written(self):
    return sorted(path.name for path in self._output.iterdir())

  def test_everything_that_applies(self):
    code, out, err = self._call()
    self.assertEqual((code, err), (0, ''))
    expected = [
      'barrier_accuracy',
      'client_spread_accuracy',
      *_CURVES,
      'few_shot_accuracy',
      'personalization_accuracy',
    ]
    tables = ['comparison.csv', 'methods.csv', 'methods.md', 'methods.tex']
    self.assertCountEqual(
      self._written(), [*tables, *(f'{name}.png' for name in expected)]
    )
    for name in self._written():
      self.assertIn(str(self._output / name), out)
    self.assertIn('FedFish - FedAvg  eval/global/accuracy  last round', out)
    self.assertIn('Not evaluated by launch.evaluate', out)
    self.assertIn('fed_fish_1', out.splitlines()[-1])

    # What another call can have written stays: another metric or format.
    others = ['barrier_loss.png', 'barrier_accuracy.pdf', 'mine.png']
    for name in others:
      (self._output / name).touch()
    _, out, _ = self._call(workdirs=self._workdirs[1:2])
    self.assertIn('no such file', out)
    self.assertCountEqual(
      self._written(),
      [*tables[1:], *(f'{name}.png' for name in _CURVES), *others],
    )

  def test_one_run_and_all_choices(self):
    code, _, _ = self._call(
      workdirs=self._workdirs[1:2],
      metric='train/loss',
      format='svg',
      columns=['train/loss'],
      names='FedAvg=Ours',
    )
    self.assertEqual(code, 0)
    self.assertEqual(
      self._written(),
      [
        'methods.csv',
        'methods.md',
        'methods.tex',
        *(f'train_loss_by_{x}.svg' for x in ('bytes', 'local_steps', 'round')),
      ],
    )
    latex = (self._output / 'methods.tex').read_text()
    self.assertIn(r'Method & Training loss \\', latex)
    self.assertIn('\nOurs & ', latex)

  @parameterized.parameters(
    (dict(workdirs=None), '--workdirs or --sweep_dir, and --output_dir are'),
    (dict(output_dir=None), '--workdirs or --sweep_dir, and --output_dir are'),
    (dict(sweep_dir='/no/such'), '/no/such is not the folder of a sweep'),
    (dict(workdirs='/no/such'), 'There is no workdir /no/such.'),
    (
      dict(workdirs='{0}'),
      '/config.json. Workdirs are below it, such as ',
    ),
    (dict(workdirs='{0}/fed_avg_0,{0}/fed_avg_0'), 'give one of them'),
    (dict(workdirs='{0}/damaged'), '/damaged/config.json'),
    (
      dict(metric='eval/global/acuracy'),
      "got 'eval/global/acuracy'. Did you mean eval/global/accuracy?",
    ),
    (dict(columns='x/y'), '--columns must name columns'),
    (dict(columns='workdir'), "numbers of summary.json, got 'workdir'"),
    (dict(columns=''), '--columns must name one column at least'),
    (dict(names='FedAvg'), "--names must be <label>=<name>, got 'FedAvg'"),
    (dict(names='FedAvg=FedFish'), '--names must keep methods apart'),
    (dict(names='FedAg=Ours'), "got 'FedAg'. Did you mean FedAvg?"),
    (dict(output_dir='/dev/null/plots'), 'Cannot write /dev/null/plots'),
    (dict(layout='all'), "--layout must be package.module:NAME, got 'all'"),
    (dict(layout='math:pi'), '--layout must be a function of runs'),
  )
  def test_bad_input_gets_one_line_and_exit_code_two(self, values, message):
    damaged = fake_runs.write_workdir(self.folder / 'damaged')
    (damaged / 'config.json').write_text('{')
    code, out, err = self._call(
      **{name: v and v.format(self.folder) for name, v in values.items()}
    )
    self.assertEqual((code, out), (2, ''))
    self.assertIn(message, err)
    self.assertLen(err.splitlines(), 1)
    self.assertFalse(self._output.exists())

  def test_figures_of_a_paper(self):
    code, _, _ = self._call(width='column', bare=True)
    self.assertEqual(code, 0)
    captions = (self._output / 'captions.txt').read_text()
    for path in self._output.glob('*.png'):
      with Image.open(path) as image:
        self.assertEqual(image.width, 3.25 * 300)
      self.assertIn(f'{path.stem}\n', captions)
    self.assertIn(
      'Client-server barrier, training clients (digits). One point per seed',
      captions,
    )

    # Figures with titles have no captions, not even those of an earlier call.
    self._call(workdirs=self._workdirs[1:2])
    self.assertNotIn('captions.txt', self._written())
    # Another file of that name stays.
    (self._output / 'captions.txt').write_text("A user's own captions.")
    self._call(workdirs=self._workdirs[1:2])
    self.assertIn('captions.txt', self._written())

  def test_a_layout_of_a_sweep(self):
    runs = {}
    for finished in (True, False):
      for algorithm in ('fed_avg', 'fed_fish'):
        for epochs in (1, 4):
          run = fake_runs.make_setting_run(
            algorithm, int(not finished), local_epochs=epochs, finished=finished
          )
          run = dataclasses.replace(
            run, transfer=fake_runs.make_transfer_scores(run)
          )
          name = f'{algorithm}_{epochs}_{finished}'
          workdir = self.folder / 'sweep/runs' / name
          fake_runs.write_run(run, workdir)
          config = json.loads((workdir / 'config.json').read_text())
          runs[name] = {
            'variant': f'{algorithm}_{epochs}',
            'fields': {'local_epochs': epochs},
            'config': config,
            'method': fake_runs.make_label(config),
          }
    (self.folder / 'sweep/sweep.json').write_text(
      json.dumps({'config': 'a.py:b', 'runs': runs})
    )
    code, out, _ = self._call(
      workdirs=None,
      sweep_dir=str(self.folder / 'sweep'),
      layout='research.fedfish.figures:draw',
      format='pdf',
    )
    self.assertEqual(code, 0)
    self.assertEqual(
      self._written(),
      [
        'barrier_panels_accuracy_fixed_rounds.pdf',
        'captions.txt',
        'comparison.csv',
        'local_epochs_accuracy_fixed_rounds.pdf',
        'methods.csv',
        'methods.md',
        'methods.tex',
        'transfer_accuracy_fixed_rounds.pdf',
        'transfer_table.csv',
      ],
    )
    self.assertIn('Not finished, so not drawn: fed_avg_1_False', out)
    self.assertNotIn('Not evaluated', out)
    told = (
      '4 of 8 runs of the sweep are not finished, so without results: FedAvg, '
      '1 local epoch (1 of 2); '
    )
    for name in ('methods.md', 'methods.tex'):
      self.assertIn(told, (self._output / name).read_text())
    # Each figure has the note.
    captions = (self._output / 'captions.txt').read_text()
    self.assertEqual(captions.count(told), 3)
    self.assertRegex(
      out, 'figure fixed_compute is left out: .*equal rounds times local epochs'
    )
    # Letters of Type 3 fonts are drawings, which some publishers refuse.
    content = (self._output / self._written()[0]).read_bytes()
    self.assertIn(b'/CIDFontType2', content)
    self.assertNotIn(b'/Type3', content)

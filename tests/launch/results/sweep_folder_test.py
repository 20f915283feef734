# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is read from a sweep's folder, and of its page."""

import html.parser
import json

from fedfish_tff import errors
from fedfish_tff import simulation
from launch.plots import style
from launch.results import result_table
from launch.results import sweep_page
from launch.results import text_table
from tests import temporary_folders
from tests.launch.sweeps import fake_sweeps


class SweepFolderTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self.path = self.folder / 'sweep'
    self.runs = fake_sweeps.grid(['fed_avg'], seed=(0, 1))

  def test_finished_runs(self):
    folder = fake_sweeps.write_sweep(self.path, self.runs)
    run = self.runs[0]
    read = lambda: folder.read_summary(run.name, run.config.values)  # noqa: E731
    self.assertIsNone(read())
    fake_sweeps.write_result(folder, run, 0.5)
    self.assertEqual(read()['final']['eval/global/accuracy'], 0.5)
    self.assertFalse(folder.is_evaluated(run.name, run.config.values))
    summary = folder.workdir(run.name) / 'summary.json'
    # Half of a file, another figure, fewer rounds, another config: not finished.
    whole = summary.read_text()
    for damaged in (whole[:30], whole.replace('0.5', '0.75')):
      summary.write_text(damaged)
      self.assertIsNone(read())
    simulation.Workdir(summary.parent).write_summary(
      {**json.loads(whole), 'rounds': 1}
    )
    self.assertIsNone(read())
    # Another run's.
    fake_sweeps.write_result(folder, self.runs[1], 0.5)
    other = folder.workdir(self.runs[1].name) / 'summary.json'
    summary.write_bytes(other.read_bytes())
    self.assertIsNone(read())
    summary.write_text(whole)
    config = folder.workdir(run.name) / 'config.json'
    config.write_text(json.dumps({**run.config.values, 'batch_size': 1}))
    self.assertIsNone(read())

  def test_runs_are_in_the_folder(self):
    folder = fake_sweeps.write_sweep(self.path, self.runs)
    whole = folder.sweep_path.read_text()
    for name in ('../../outside', '..', '', '/etc', 'a/b'):
      content = json.loads(whole)
      content['runs'] = {name: next(iter(content['runs'].values()))}
      folder.sweep_path.write_text(json.dumps(content))
      with self.assertRaisesRegex(
        errors.InputError, f'got a run named {name!r}'
      ):
        folder.read_runs()

  def test_evaluated_runs(self):
    folder = fake_sweeps.write_sweep(self.path, self.runs)
    run = self.runs[0]
    fake_sweeps.write_result(folder, run, 0.5, evaluated=True)
    self.assertTrue(folder.is_evaluated(run.name, run.config.values))
    longer = {**run.config.values, 'rounds': 1000}
    self.assertFalse(folder.is_evaluated(run.name, longer))

  def test_a_damaged_summary_is_none(self):
    folder = fake_sweeps.write_sweep(self.path, self.runs)
    workdir = folder.workdir('a')
    workdir.mkdir()
    (workdir / 'config.json').write_text('{}')
    (workdir / 'summary.json').write_text('[]')
    self.assertIsNone(folder.read_summary('a', {}))

  def test_usage(self):
    folder = fake_sweeps.write_sweep(self.path, self.runs)
    self.assertEqual(folder.read_usage(), {})
    folder.usage_path.write_text('{"a": {"seconds": 1.0, "peak_bytes": 2}}')
    self.assertEqual(
      folder.read_usage(), {'a': {'seconds': 1.0, 'peak_bytes': 2}}
    )


_EVIL = '<script src="https://example.org/x.js">alert(1)</script>'


class _Page(html.parser.HTMLParser):
  """Collects the tags and the text of a page."""

  def __init__(self, text):
    super().__init__()
    self.tags, self.text = [], ''
    self.feed(text)

  def handle_starttag(self, tag, attrs):
    self.tags.append((tag, dict(attrs)))

  def handle_data(self, data):
    self.text += data


class SweepPageTest(temporary_folders.TestCase):
  def _write(self, **fields):
    """Returns the path of the page of a sweep with a figure."""
    runs = fake_sweeps.grid(['fed_avg', 'fed_fish'], seed=(0, 1), **fields)
    folder, found = fake_sweeps.write_results(self, runs, [0.5, 0.5, 0.6])
    found = found.assign(synthetic='generated digits')
    table = result_table.of_sweep(found)
    figure = style.new_figure(2, 1)
    figure.subplots().plot([0, 1])
    path = folder.path / f'{_EVIL.replace("/", "_")}.png'
    style.save_figure(figure, path)
    secret = self.folder / 'secret'
    secret.write_text('private')
    link = self.folder / 'link.png'
    link.symlink_to(path)
    return sweep_page.write_page(
      folder,
      found,
      table._replace(notes=[*table.notes, f'Note: {_EVIL}']),
      figures=[link, secret, path],
      failures={runs[3].name: f'why {_EVIL}'},
    )

  def test_what_is_on_it(self):
    path = self._write()
    self.assertEqual(path.name, 'index.html')
    page = _Page(path.read_text())
    self.assertIn('3 of 4 runs are finished.', page.text)
    for name, text in (
      ('Tasks', 'digits\n'),
      ('Synthetic data', 'generated digits\n'),
      ('Methods', 'FedAvg; FedFish\n'),
      ('Rounds', '50\n'),
      ('Seeds', '0, 1\n'),
      ('Clients', '5 of 24 training clients per round'),
      ('Finished', '3 of 4 runs\n'),
    ):
      self.assertIn(f'\n{name}{text}', page.text)
    self.assertIn('4 runs, 1 failed', page.text)
    _, _, config = page.text.partition('\nfed_avg-seed_1\n')
    self.assertEqual(json.JSONDecoder().raw_decode(config)[0]['seed'], 1)
    self.assertIn('Test accuracy', page.text)
    # The runs (open, as one has failed), the configs, and each.
    folded = [attrs for tag, attrs in page.tags if tag == 'details']
    self.assertEqual(folded, [{'open': None}, *[{}] * 5])
    anchors = {attrs['id'] for tag, attrs in page.tags if tag == 'h2'}
    links = [attrs['href'] for tag, attrs in page.tags if tag == 'a']
    self.assertEqual({link.removeprefix('#') for link in links}, anchors)
    self.assertIn('"client_learning_rate": 0.05', page.text)

  def test_text_of_others_is_text_and_nothing_is_fetched(self):
    page = _Page(self._write().read_text())
    self.assertIn(f'why {_EVIL}', page.text)
    self.assertIn(f'Note: {_EVIL}', page.text)
    self.assertNotIn('script', [tag for tag, _ in page.tags])
    for _, attrs in page.tags:
      self.assertStartsWith(attrs.get('href', '#'), '#')
      self.assertStartsWith(attrs.get('src', 'data:'), 'data:')
      self.assertFalse([name for name in attrs if name.startswith('on')])
    # Links and what is no bitmap are left out.
    self.assertLen([tag for tag, _ in page.tags if tag == 'img'], 1)
    self.assertNotIn('private', page.text)
    policy = [a['content'] for _, a in page.tags if 'http-equiv' in a]
    self.assertEqual(
      policy, ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]
    )

  def test_the_judging_score_comes_first_and_other_figures_are_folded(self):
    # Two have not begun.
    runs = fake_sweeps.grid(['fed_avg'], seed=(0, 1, 2))
    folder, found = fake_sweeps.write_results(
      self, runs, [0.5], judged_by='personalized'
    )
    names = [
      'a/barrier_accuracy',
      'a/eval_global_accuracy_by_round',
      'a/eval_personalized_accuracy_by_bytes',
      'a/eval_personalized_accuracy_by_round',
      'b/eval_personalized_accuracy_by_round',
    ]
    paths = [folder.plots_path / f'{name}.png' for name in names]
    for path in paths:
      path.parent.mkdir(parents=True, exist_ok=True)
      style.save_figure(style.new_figure(1, 1), path)
    page = sweep_page.write_page(
      folder,
      found,
      result_table.of_sweep(found),
      figures=paths,
      failures={},
    )
    page = _Page(page.read_text())
    self.assertNotIn(('details', {'open': None}), page.tags)
    self.assertIn('plots/a: 3 more', page.text)
    self.assertNotIn('Synthetic data', page.text)
    shown = [
      attrs.get('alt', tag)
      for tag, attrs in page.tags
      if tag in ('img', 'details')
    ]
    self.assertEqual(
      shown[:7],
      [
        'plots/a/eval_personalized_accuracy_by_round.png',
        'details',
        'plots/a/eval_personalized_accuracy_by_bytes.png',
        'plots/a/eval_global_accuracy_by_round.png',
        'plots/a/barrier_accuracy.png',
        'details',
        'plots/b/eval_personalized_accuracy_by_round.png',
      ],
    )

  def test_what_is_missing_is_told(self):
    runs = fake_sweeps.grid(['fed_avg'], seed=(0,))
    folder, found = fake_sweeps.write_results(self, runs, [])
    page = sweep_page.write_page(
      folder,
      found,
      result_table.of_sweep(found),
      figures=[],
      failures={'plots': 'no ink'},
    )
    text = _Page(page.read_text()).text
    self.assertIn(text_table.NOTHING, text)
    self.assertIn('There are no figures. no ink', text)
    self.assertIn('1 run, 0 failed', text)

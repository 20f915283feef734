# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the results page of a sweep."""

import html.parser

from launch.plots import style
from launch.results import result_table
from launch.results import sweep_page
from tests import temporary_folders
from tests.launch.sweeps import fake_sweeps

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
    folder, found = fake_sweeps.write_results(self, runs, [0.5, 0.5, 0.6, 0.6])
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
      result_table.of_sweep(found),
      figures=[link, secret, path],
      failures={runs[3].name: f'why {_EVIL}'},
    )

  def test_what_is_on_it(self):
    path = self._write()
    self.assertEqual(path.name, 'index.html')
    page = _Page(path.read_text())
    self.assertIn('4 of 4 runs are finished.', page.text)
    for text in ('50', '0, 1', '5 of 24 training clients per round'):
      self.assertIn(text, page.text)
    self.assertIn('fed_fish-seed_1', page.text)
    self.assertIn('failed', page.text)
    self.assertIn('Test accuracy', page.text)
    # The figures, the runs (open, as one has failed), the configs, and each.
    folded = [attrs for tag, attrs in page.tags if tag == 'details']
    self.assertEqual(folded, [{}, {'open': None}, *[{}] * 5])
    anchors = {attrs['id'] for tag, attrs in page.tags if tag == 'h2'}
    links = [attrs['href'] for tag, attrs in page.tags if tag == 'a']
    self.assertEqual({link.removeprefix('#') for link in links}, anchors)
    self.assertIn('"client_learning_rate": 0.05', page.text)

  def test_text_of_others_is_text_and_nothing_is_fetched(self):
    page = _Page(self._write().read_text())
    self.assertIn(f'why {_EVIL}', page.text)
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

  def test_the_global_model_comes_first_and_other_figures_are_folded(self):
    runs = fake_sweeps.grid(['fed_avg'], seed=(0,))
    folder, found = fake_sweeps.write_results(self, runs, [])
    names = [
      'a/barrier_accuracy',
      'a/eval_global_accuracy_by_bytes',
      'a/eval_global_accuracy_by_round',
      'b/eval_global_accuracy_by_round',
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
    shown = [
      attrs.get('alt', tag)
      for tag, attrs in _Page(page.read_text()).tags
      if tag in ('img', 'details')
    ]
    self.assertEqual(
      shown[:6],
      [
        'plots/a/eval_global_accuracy_by_round.png',
        'details',
        'plots/a/eval_global_accuracy_by_bytes.png',
        'plots/a/barrier_accuracy.png',
        'details',
        'plots/b/eval_global_accuracy_by_round.png',
      ],
    )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The site of `make docs`: nothing is missing, and it works in a browser."""

from collections.abc import Iterator
import re
import subprocess

from tests import chromium
from tests import processes
from tests import repository

from absl.testing import absltest
import pytest
import yaml

pages = repository.load_script('.ci/site/pages.py')

_SITE = repository.ROOT / 'build' / 'docs'
# Search shows what it found in the shadow of an element.
_SEARCH = (
  '[...document.querySelectorAll("*")]'
  '.map(e => e.shadowRoot).find(s => s?.querySelector("dialog"))'
)


def _leaves(nav: object) -> Iterator[str]:
  """The pages of a navigation of MkDocs."""
  if isinstance(nav, str):
    yield nav
  else:
    for part in nav.values() if isinstance(nav, dict) else nav:
      yield from _leaves(part)


class PagesTest(absltest.TestCase):
  def test_every_page_is_in_the_navigation(self):
    config = yaml.safe_load((repository.ROOT / 'mkdocs.yml').read_text())
    expected = [f'api/{name}.md' for name in pages.api_pages()]
    for pattern in ('*.md', 'docs/*.md'):
      expected += [
        path.relative_to(repository.ROOT).as_posix()
        for path in repository.ROOT.glob(pattern)
      ]
    self.assertCountEqual(_leaves(config['nav']), expected)

  def test_symbols_in_backticks_are_links(self):
    self.assertEqual(
      pages.link_symbols(
        '`algorithms.build_ditto`, `build_ditto`, [`build_ditto`](x), `tf.data`\n'
        '```\n`algorithms.build_ditto`\n```\n',
        'fedfish_tff.algorithms',
      ),
      '[`algorithms.build_ditto`][fedfish_tff.algorithms.build_ditto], '
      '[`build_ditto`][fedfish_tff.algorithms.build_ditto], [`build_ditto`](x), '
      '`tf.data`\n```\n`algorithms.build_ditto`\n```\n',
    )


@pytest.mark.slow
class SiteTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    subprocess.run(
      ['make', 'docs'],
      cwd=repository.ROOT,
      check=True,
      timeout=processes.HANG_SECONDS,
    )

  def test_has_every_public_symbol(self):
    missing = []
    for package, symbols in pages.exports().items():
      html = (_SITE / 'api' / f'{package}.html').read_text()
      ids = set(re.findall(r'\bid="([\w.]+)"', html))
      missing += {f'{package}.{symbol}' for symbol in symbols} - ids
    self.assertEmpty(missing)

  def test_works_in_a_browser_without_the_network(self):
    browser = chromium.Chromium(self.create_tempdir().full_path)
    self.addCleanup(browser.close)
    for page in sorted(_SITE.rglob('*.html')):
      if page.name != '404.html':  # For web servers: its links are absolute.
        browser.open(page.as_uri())
    browser.open((_SITE / 'index.html').as_uri())
    browser.evaluate('document.querySelector(".md-search__button").click()')
    browser.wait_for(f'{_SEARCH}.activeElement')
    browser.type('build_fed_fish')
    expected = (_SITE / 'api' / 'fedfish_tff.algorithms.html').as_uri()
    # The first of what is found, when all has been typed.
    found = f'({_SEARCH}.querySelector("a[href*=api]")?.href ?? "")'
    browser.wait_for(
      f'{found}.startsWith("{expected}") && '
      f'{found}.endsWith("#fedfish_tff.algorithms.build_fed_fish")'
    )

    errors, elsewhere = [], []
    for event in browser.events:
      params = event['params']
      match event['method']:
        case 'Network.requestWillBeSent':
          url = params['request']['url']
          if not url.startswith((_SITE.as_uri(), 'data:')):
            elsewhere.append(url)
        case 'Network.loadingFailed' | 'Runtime.exceptionThrown':
          errors.append(params)
        case 'Runtime.consoleAPICalled' if params['type'] == 'error':
          errors.append(params)
        case 'Log.entryAdded' if params['entry']['level'] == 'error':
          errors.append(params)
    self.assertEmpty(errors)
    self.assertEmpty(elsewhere)

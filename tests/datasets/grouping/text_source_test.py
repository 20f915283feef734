# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of web pages and news in files."""

import datetime
import gzip
import json
import pathlib

from fedfish_tff.datasets.grouping import client_keys
from fedfish_tff.datasets.grouping import sources
from fedfish_tff.datasets.grouping import text_source
from fedfish_tff.datasets.grouping import web_keys
from tests import temporary_folders

from absl.testing import parameterized
from hypothesis import given
from hypothesis import strategies as st
import pyarrow as pa
from pyarrow import parquet
import pytest

_PAGE = {'url': 'http://www.a.org/1', 'text': 'Zoë went. ', 'timestamp': 't'}


class TextSourceTest(temporary_folders.TestCase):
  def _read(self, name, content, *, format_name='c4', key='host'):
    """Returns (client id, example) and what was skipped."""
    if content is not None:
      (self.folder / name).write_bytes(content)
    source = text_source.TextSource(
      format=format_name,
      pattern=str(self.folder / name),
      key=client_keys.ClientKey(name=key),
    )
    examples, skipped = [], []
    for part in source.parts():
      for item in source.read(part, lambda _: None):
        if isinstance(item, sources.Skipped):
          skipped.append((item.kind, pathlib.Path(item.where).name))
          continue
        values = {name: value.decode() for name, value in item.values.items()}
        examples.append((item.client_id, values))
    return examples, skipped

  @parameterized.parameters(
    (b'{"url": "http://a.org", "text": "half', 'malformed_json'),
    (b'no json', 'malformed_json'),
    (b'["http://a.org", "x"]', 'malformed_json'),
    (b'[' * 100_000, 'malformed_json'),
    (b'{"url": "http://a.org", "text": "\xff"}', 'invalid_utf8'),
    (b'{"url": "http://a.org", "text": "\\ud800"}', 'invalid_utf8'),
    (
      b'{"url": "http://a.org", "text": "x", "timestamp": "\\ud800"}',
      'invalid_utf8',
    ),
    (b'{"url": "http://a.org"}', 'missing_text'),
    (b'{"url": "http://a.org", "text": null}', 'missing_text'),
    (b'{"url": "http://a.org", "text": " \\n"}', 'missing_text'),
    (b'{"url": "http://a.org", "text": 5}', 'missing_text'),
    (b'{"text": "x"}', 'missing_url'),
    (
      b'{"text": "x", "url": "http://a.org", "timestamp": [1]}',
      'invalid_timestamp',
    ),
  )
  def test_bad_lines(self, line, kind):
    good = json.dumps(_PAGE).encode()
    examples, skipped = self._read('a.jsonl', b'\n'.join([good, line, good]))
    self.assertLen(examples, 2)
    self.assertEqual(skipped, [(kind, 'a.jsonl, line 2')])

  def test_news(self):
    news = {
      'url': 'http://www.a.org/1',
      'domain': 'a.org',
      'title': 'A title',
      'text': 'one two',
      'date': '2017-01-01',
    }
    without_url = {'domain': 'www.B.org', 'text': 'x', 'date': 2017}
    content = '\n'.join(map(json.dumps, [news, without_url])).encode()
    examples, skipped = self._read('a.json', content, format_name='cc_news')
    filled = dict(without_url, url='', title='', date='2017')
    self.assertEqual(examples, [('a.org', news), ('b.org', filled)])
    self.assertEmpty(skipped)

  def test_news_in_parquet(self):
    table = pa.table(
      {
        'text': ['x y', None, 'z'],
        'domain': ['a.org', 'a.org', 'b.org'],
        'date': [datetime.datetime(2017, 1, 2), None, None],
        'author': ['Zoë', 'Zoë', None],
      }
    )
    parquet.write_table(table, self.folder / 'a.parquet')
    examples, skipped = self._read(
      'a.parquet', None, format_name='cc_news', key='author'
    )
    ((client_id, example),) = examples
    self.assertEqual(client_id, 'Zoë')
    self.assertEqual(example['date'], '2017-01-02 00:00:00')
    self.assertEqual(example['domain'], 'a.org')
    self.assertEqual(
      skipped,
      [
        ('missing_text', 'a.parquet, row 2'),
        ('missing_key', 'a.parquet, row 3'),
      ],
    )

  @parameterized.parameters(
    ([0, 2**60], pa.timestamp('us')),
    ([0, -(2**60)], pa.timestamp('us')),
    ([None, 0], pa.timestamp('us', 'Mars/Olympus')),
    ([None, 0], pa.timestamp('ns', '+99:99')),
    ([0, 2**31 - 1], pa.date32()),
    ([None, 2**62], pa.duration('s')),
    ([b'a', b'\xff'], pa.string()),
  )
  def test_values_that_python_does_not_have(self, values, dtype):
    if pa.types.is_string(dtype):
      # Arrow takes these bytes as a text, without a look at them.
      values = pa.StructArray.from_arrays([pa.array(values).view(dtype)], ['a'])
    else:
      values = pa.array(values, dtype)
    page = {name: [value] * 2 for name, value in _PAGE.items()}
    for name in ('url', 'text', 'timestamp', 'key'):
      parquet.write_table(
        pa.table(page | {'key': ['a', 'a'], name: values}),
        self.folder / 'a.parquet',
      )
      examples, skipped = self._read('a.parquet', None, key='key')
      self.assertLen(examples + skipped, 2)
      self.assertEqual(skipped[-1], ('undecodable', 'a.parquet, row 2'), name)

  @given(
    st.lists(
      st.one_of(
        st.binary(max_size=20).map(lambda line: line.replace(b'\n', b'')),
        st.dictionaries(
          st.sampled_from(['url', 'text', 'timestamp', 'key', 'other']),
          st.one_of(
            st.sampled_from(['http://a.org', 'x' * 99, 1e999, 10**4000, -1]),
            st.text(max_size=9),
            st.characters(categories=['Cs']),
            st.text(max_size=9).map('http://{}'.format),
            st.none() | st.booleans() | st.integers() | st.floats(),
            st.lists(st.integers(), max_size=2),
          ),
        ).map(lambda record: json.dumps(record).encode()),
        st.integers(1, 20_000).map(
          lambda depth: b'{"key":' + b'[' * depth + b']' * depth + b'}'
        ),
        st.integers(1, 9000).map(lambda size: b'{"key":' + b'9' * size + b'}'),
      ),
      max_size=9,
    ),
    st.sampled_from(['host', 'registered_domain', 'key', 'text']),
  )
  @pytest.mark.thorough
  def test_every_line_is_an_example_or_counted(self, lines, key):
    good = json.dumps(_PAGE | {'key': 'k'}).encode()
    lines = [good, *lines, good]
    examples, skipped = self._read('a.jsonl', b'\n'.join(lines), key=key)
    self.assertLen(
      examples + skipped, sum(bool(line.strip()) for line in lines)
    )
    self.assertEqual(examples[0], examples[-1])

  def test_damaged_files_are_named(self):
    line = json.dumps(_PAGE).encode() + b'\n'
    content = gzip.compress(line * 3)
    examples, skipped = self._read('a.json.gz', content[:-1])
    self.assertLen(examples, 3)
    self.assertEqual(
      skipped, [('truncated_gzip', 'a.json.gz, read up to line 3')]
    )
    # A record that ends where the file breaks is whole.
    examples, skipped = self._read(
      'a.json.gz', gzip.compress(line * 2 + line[:-1])[:-1]
    )
    self.assertLen(examples, 3)
    self.assertEqual(
      skipped, [('truncated_gzip', 'a.json.gz, read up to line 3')]
    )
    examples, skipped = self._read('b.parquet', content)
    self.assertEmpty(examples)
    self.assertEqual(
      skipped, [('damaged_parquet', 'b.parquet, read up to line 0')]
    )

  def test_the_description_has_no_folder(self):
    for name in ('a.json', 'b.json'):
      (self.folder / name).write_bytes(b'12345')
    source = text_source.TextSource(
      format='c4',
      pattern=f'{self.folder}/*.json',
      key=client_keys.ClientKey(name='host'),
    )
    self.assertEqual(
      source.description(source.parts()),
      {'format': 'c4', 'input': '*.json', 'files': 2, 'bytes': 10},
    )


class HostTest(parameterized.TestCase):
  @parameterized.parameters(
    ('http://www.example.org/a?b#c', 'www.example.org'),
    ('https://Example.ORG:8080/', 'example.org'),
    ('HTTP://user:word@news.example.org', 'news.example.org'),
    ('  https://example.org.  ', 'example.org'),
    ('https://my_shop-.example.org', 'my_shop-.example.org'),
    ('https://bücher.example', 'xn--bcher-kva.example'),
    ('https://xn--bcher-kva.example', 'xn--bcher-kva.example'),
    ('http://192.168.0.1/x', '192.168.0.1'),
    ('http://[2001:DB8::0:1]:80/', '2001:db8::1'),
    ('http://localhost/', 'localhost'),
  )
  def test_host_of_url(self, url, host):
    self.assertEqual(web_keys.host_of_url(url), host)

  @parameterized.parameters(
    '',
    'example.org',
    'example.org/page',
    '//example.org/',
    'ftp://example.org/',
    'mailto:me@example.org',
    'http://',
    'http:///page',
    'http://[::1/',
    'http://example.org:port/',
    'http://two words.org/',
    'http://a..b/',
    'http://999.1.1.1/',
    'http://exa%6dple.org/',
    f'http://{"a" * 64}.org/',
    f'http://{"abc." * 80}org/',
    'http://ex\u2100mple.org/',
    'http://\u00ad/',
  )
  def test_no_host(self, url):
    self.assertIsNone(web_keys.host_of_url(url))

  @given(st.text(max_size=40))
  def test_any_text_has_a_host_or_none(self, text):
    for url in (text, f'http://{text}/', f'https://{text}.example.org'):
      host = web_keys.host_of_url(url)
      if host is not None:
        self.assertTrue(host.isascii())
        self.assertEqual(web_keys.normalize_host(host), host)
        domain = web_keys.registered_domain(host)
        self.assertTrue(f'.{host}'.endswith(f'.{domain}'))


class RegisteredDomainTest(parameterized.TestCase):
  @parameterized.parameters(
    ('www.example.org', 'example.org'),
    ('a.b.example.co.uk', 'example.co.uk'),
    ('example.co.uk', 'example.co.uk'),
    ('co.uk', 'co.uk'),
    ('someone.github.io', 'someone.github.io'),
    ('github.io', 'github.io'),
    ('a.someone.blogspot.com', 'someone.blogspot.com'),
    ('a.xn--bcher-kva.example', 'xn--bcher-kva.example'),
    ('192.168.0.1', '192.168.0.1'),
    ('2001:db8::1', '2001:db8::1'),
    ('localhost', 'localhost'),
  )
  def test_registered_domain(self, host, domain):
    self.assertEqual(web_keys.registered_domain(host), domain)

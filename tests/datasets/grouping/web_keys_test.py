# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of hosts and registered domains."""

from fedfish_tff.datasets.grouping import web_keys

from absl.testing import parameterized
from hypothesis import given
from hypothesis import strategies as st


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

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the clients of records."""

from fedfish_tff.datasets.grouping import client_keys

from absl.testing import parameterized


class ClientKeyTest(parameterized.TestCase):
  @parameterized.parameters(
    ('host', {'url': 'http://www.a.org/x'}, 'a.org'),
    ('host', {'url': 'https://www.com/'}, 'www.com'),
    ('host', {'url': 'https://wwww.a.org'}, 'wwww.a.org'),
    ('host', {'domain': 'www.www.a.org'}, 'www.a.org'),
    ('host', {'url': b'http://www.a.org/x', 'domain': 'b.org'}, 'a.org'),
    ('host', {'url': ' ', 'domain': 'www.B.org'}, 'b.org'),
    ('registered_domain', {'url': 'http://x.a.co.uk/'}, 'a.co.uk'),
    ('registered_domain', {'domain': 'x.www.de'}, 'www.de'),
    ('domain', {'url': 'http://a.org', 'domain': 'www.B.org'}, 'www.B.org'),
    ('author', {'author': 'Zoë'.encode()}, 'Zoë'),
    ('author', {'author': 7}, '7'),
    ('author', {'author': 0}, '0'),
    ('author', {'author': True}, 'True'),
  )
  def test_client_id(self, name, record, client_id):
    self.assertEqual(
      client_keys.ClientKey(name=name).client_id(record), client_id
    )

  def test_keeps_www(self):
    key = client_keys.ClientKey(name='host', keep_www=True)
    self.assertEqual(key.client_id({'url': 'http://www.a.org'}), 'www.a.org')
    self.assertEqual(key.client_id({'domain': 'www.a.org'}), 'www.a.org')

  @parameterized.parameters(
    ('host', {}, 'missing_url'),
    ('host', {'url': None, 'domain': ''}, 'missing_url'),
    # A page's address that is wrong is not made up for.
    ('host', {'url': 'a.org', 'domain': 'a.org'}, 'invalid_url'),
    ('host', {'url': 5}, 'invalid_url'),
    ('host', {'domain': 'no host'}, 'invalid_url'),
    ('host', {'url': b'http://\xff.org'}, 'invalid_utf8'),
    ('host', {'url': 'http://a.org/\ud800'}, 'invalid_utf8'),
    ('author', {'url': 'http://a.org'}, 'missing_key'),
    ('author', {'author': ''}, 'missing_key'),
    ('author', {'author': ['a']}, 'invalid_key'),
    ('author', {'author': 1.5}, 'invalid_key'),
    ('author', {'author': b'\xff'}, 'invalid_utf8'),
  )
  def test_bad_records(self, name, record, kind):
    with self.assertRaises(client_keys.BadRecordError) as caught:
      client_keys.ClientKey(name=name).client_id(record)
    self.assertEqual(caught.exception.kind, kind)

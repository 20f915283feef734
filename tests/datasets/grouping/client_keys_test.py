# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the keys of clients and of counted records."""

import dataclasses
import itertools
import json

from fedfish_tff import errors
from fedfish_tff.datasets.grouping import client_keys
from fedfish_tff.datasets.grouping import record_counts

from absl.testing import absltest
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


def _count(part, numbers, *, kind='ugly', examples=0, size=0):
  counts = record_counts.RecordCounts(examples=examples, size=size)
  for number in numbers:
    where = f'{part}, line {number}'
    counts.add(kind, 1, [[part, number, where]])
  return counts


class RecordCountsTest(absltest.TestCase):
  def test_the_first_bad_records_are_named_in_any_order_of_parts(self):
    parts = [
      _count(0, range(3), examples=1, size=5),
      _count(1, range(30), examples=2),
      _count(0, range(2), kind='other'),
      _count(2, [], examples=4),
    ]
    for order in itertools.permutations(parts):
      counts = record_counts.RecordCounts()
      for other in order:
        counts.merge(other)
      self.assertEqual((counts.examples, counts.size), (7, 5))
      self.assertEqual(counts.skipped, {'ugly': 33, 'other': 2})
      named = [f'0, line {i}' for i in range(3)]
      named += [f'1, line {i}' for i in range(17)]
      self.assertEqual(
        counts.names(), {'ugly': named, 'other': ['0, line 0', '0, line 1']}
      )
      kept = json.dumps(dataclasses.asdict(counts))
      self.assertEqual(record_counts.RecordCounts(**json.loads(kept)), counts)

  def test_the_share_of_all_records(self):
    counts = _count(0, range(10), examples=990)
    counts.check(0.01, total_size=None)
    with self.assertRaisesRegex(
      errors.InputError,
      '^10 of 1,000 records read cannot be used: 10 ugly '
      r'\(such as 0, line 0\); at most 0.99% of all',
    ):
      counts.check(0.0099, total_size=None)
    with self.assertRaisesRegex(errors.InputError, 'must have records'):
      record_counts.RecordCounts().check(1.0, total_size=None)

  def test_too_many_even_if_all_others_are_good(self):
    # A fifth of the source has been read, so there are about 1,000 records.
    counts = _count(0, range(10), examples=190, size=20)
    counts.check(0.01, total_size=100)
    with self.assertRaises(errors.InputError):
      counts.check(0.0099, total_size=100)
    # A few records do not tell how many there are.
    _count(0, range(10), size=20).check(0.01, total_size=100)

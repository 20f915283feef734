# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients that are read where they are used."""

import os
import pickle

from fedfish_tff import datasets
from fedfish_tff import errors

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np

# One in which other tests' sources load something else.
_loaded = {}


def load(*, name):
  return _loaded[name]


def _last_row(examples):
  return np.sort(examples)[-1:]


class _Unreadable(datasets.InMemoryClientData):
  """Clients of which this process knows all but the arrays."""

  def load_client(self, client_id):
    raise AssertionError(f'{client_id} is read here')


def _clients(sizes, of=datasets.InMemoryClientData):
  stream = np.random.default_rng(7)
  return of(
    {
      f'c{i}': dict(x=stream.normal(size=[size, 100]).astype(np.float32))
      for i, size in enumerate(sizes)
    }
  )


def _refer(clients, spec, client_id='c0'):
  return datasets.plan_client(
    clients, spec, client_id=client_id, seed=3, round_number=5, refers=True
  )


class StoredClientTest(absltest.TestCase):
  @hypothesis.given(
    size=st.integers(1, 40),
    batch_size=st.integers(1, 9),
    epochs=st.integers(1, 3),
    cap=st.none() | st.integers(1, 50),
    shuffle=st.booleans(),
  )
  @hypothesis.settings(max_examples=30)
  def test_has_the_batches_of_the_client_that_is_read(
    self, size, batch_size, epochs, cap, shuffle
  ):
    clients = _clients([size])
    name = f'sizes {size}'
    _loaded[name] = clients
    spec = datasets.BatchSpec(
      batch_size=batch_size, epochs=epochs, max_examples=cap, shuffle=shuffle
    )
    here = datasets.plan_client(
      clients, spec, client_id='c0', seed=3, round_number=5, refers=True
    )
    datasets.set_source(clients, f'{__name__}:load', name=name)
    reference = _refer(clients, spec)
    self.assertIsInstance(reference.stored, datasets.StoredClient)
    self.assertEqual(reference.num_rows_hint, epochs * min(size, cap or size))
    there = pickle.loads(pickle.dumps(reference))
    self.assertEqual(there.num_examples, here.num_examples)
    self.assertEqual(there.num_batches, here.num_batches)
    for found, expected in zip(there, here, strict=True):
      np.testing.assert_array_equal(found['x'], expected['x'])
    part = pickle.loads(pickle.dumps(there.replan(_last_row, batch_size=4)))
    expected = here.replan(_last_row, batch_size=4)
    np.testing.assert_array_equal(part.indices, expected.indices)
    (batch,) = part.read()
    np.testing.assert_array_equal(batch['x'], here.examples['x'][part.indices])
    self.assertEqual((part.num_examples, part.num_batches), (1, 1))

  def test_travels_without_being_read(self):
    _loaded['large'] = _clients([3000])
    clients = _clients([3000], _Unreadable)
    # The fingerprint reads clients, once for all rounds.
    clients.source = datasets.ClientSource(
      f'{__name__}:load',
      '{"name": "large"}',
      datasets.fingerprint(_loaded['large']),
    )
    reference = _refer(clients, datasets.BatchSpec(batch_size=10))
    text = pickle.dumps(reference)
    self.assertLess(len(text), 1000)
    part = reference.replan(_last_row)
    self.assertLess(len(pickle.dumps(part)), 1000)
    there = pickle.loads(text)
    self.assertLen(there.read().examples['x'], 3000)
    # Nothing is kept of what was read but its number.
    self.assertLess(len(pickle.dumps(there)), 1000)
    reference.num_examples = there.num_examples
    self.assertEqual(reference.num_batches, 300)
    view = clients.select(['c0'])
    self.assertIsNotNone(_refer(view, datasets.BatchSpec(batch_size=10)).stored)

  def test_other_clients_are_refused(self):
    clients = _clients([4, 5])
    datasets.set_source(clients, f'{__name__}:load', name='changed')
    _loaded['changed'] = _clients([4, 6])
    there = pickle.loads(
      pickle.dumps(_refer(clients, datasets.BatchSpec(batch_size=2)))
    )
    with self.assertRaisesRegex(errors.InputError, 'must give the clients'):
      _ = there.examples

  def test_a_loader_that_is_not_there(self):
    for loader in (f'{__name__}:nothing', 'no_such_module:load'):
      with self.assertRaisesRegex(errors.InputError, loader):
        datasets.ClientSource(loader, '{}', '').load()

  def test_clients_without_a_source_are_read(self):
    batches = _refer(_clients([4]), datasets.BatchSpec(batch_size=2))
    self.assertIsNone(batches.stored)
    self.assertFalse(datasets.takes_references())


class ApproximateSizeTest(parameterized.TestCase):
  def test_is_that_of_what_is_wrapped(self):
    clients = _clients([4, 7])
    wrapped = datasets.CachedClientData(
      datasets.PreprocessedClientData(
        clients.select(['c1']), lambda examples: dict(x=examples['x'][:1])
      ),
      max_bytes=100,
    )
    self.assertEqual(wrapped.approximate_size('c1'), 7)
    both = datasets.ConcatenatedClientData([clients, clients.select(['c0'])])
    self.assertEqual(both.approximate_size('c0'), 8)

  def test_a_folder_of_arrays_does_not_tell(self):
    folder = self.create_tempdir().full_path
    np.savez(
      os.path.join(folder, 'c0.npz'),
      x=np.ones([4, 2], np.float32),
      y=np.ones([4], np.int64),
    )
    clients = datasets.NpzFolderClientData(folder)
    self.assertEqual(clients.approximate_size('c0'), 0)

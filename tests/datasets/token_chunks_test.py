# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the way from texts to chunks of tokens."""

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff.datasets import token_chunks
from fedfish_tff.datasets import vocabulary

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np

_PAD, _BOS, _EOS, _OOV = vocabulary.SpecialTokens()


def _chunks(documents, sequence_length, **kwargs):
  return token_chunks.chunk_documents(
    [np.array(d, np.int32) for d in documents],
    sequence_length=sequence_length,
    **kwargs,
  )


class ChunkDocumentsTest(parameterized.TestCase):
  def test_by_hand(self):
    x, y = _chunks([[5, 6, 7], [8]], 4)
    np.testing.assert_array_equal(x, [[1, 5, 6, 7], [2, 1, 8, 2]])
    # A label that begins a document is padding.
    np.testing.assert_array_equal(y, [[5, 6, 7, 2], [0, 8, 2, 0]])
    self.assertEqual((x.dtype, y.dtype), (np.int32, np.int32))

  def test_ends(self):
    x, y = _chunks([[]], 3)
    np.testing.assert_array_equal(x, [[_BOS, _EOS, _PAD]])
    np.testing.assert_array_equal(y, [[_EOS, _PAD, _PAD]])
    x, y = _chunks([], 3)
    self.assertEqual((x.shape, y.shape), ((0, 3), (0, 3)))
    self.assertEqual((x.dtype, y.dtype), (np.int32, np.int32))

  @hypothesis.given(
    strategies.lists(
      strategies.lists(strategies.integers(3, 9), max_size=12), max_size=5
    ),
    strategies.integers(1, 9),
  )
  def test_each_token_is_predicted_once(self, documents, length):
    special = vocabulary.SpecialTokens(pad=0, bos=11, eos=12, oov=3)
    x, y = _chunks(documents, length, special_tokens=special)
    self.assertEqual(x.shape, y.shape)
    self.assertEqual(x.shape[1], length)
    expected = [t for d in documents for t in (*d, special.eos)]
    labels = y[y != special.pad].tolist()
    self.assertEqual(labels, expected)
    # What precedes a label is the token before it in its document, or bos.
    before = [t for d in documents for t in (special.bos, *d)]
    self.assertEqual(x[y != special.pad].tolist(), before[: len(labels)])
    if length > 1:
      self.assertTrue(np.all(np.any(y != special.pad, axis=1)))

  @parameterized.parameters(0, -1, 2.5)
  def test_bad_length(self, length):
    for function in (_chunks, self._chunk_fn):
      with self.assertRaisesRegex(
        errors.InputError, f'sequence_length .*positive integer, got {length}'
      ):
        function([[4]], length)

  def _chunk_fn(self, _, length):
    return token_chunks.build_chunk_fn(_words(), sequence_length=length)


class ChunkFnTest(absltest.TestCase):
  def _clients(self, **clients):
    texts = {
      name: dict(
        text=np.array([t.encode() for t in texts], object),
        url=np.array([b'u'] * len(texts), object),
      )
      for name, texts in clients.items()
    }
    inner = absltest.mock.create_autospec(datasets.ClientData, instance=True)
    inner.client_ids = tuple(texts)
    inner.load_client.side_effect = texts.__getitem__
    return inner

  def _preprocess(self, inner, **kwargs):
    return datasets.PreprocessedClientData(
      inner, token_chunks.build_chunk_fn(_words(), sequence_length=4, **kwargs)
    )

  def test_documents_of_clients_do_not_meet(self):
    words = _words()
    clients = self._preprocess(
      self._clients(a=['red red', 'blue'], b=['green blue grey'])
    )
    red, blue, green = (words.encode(w)[0] for w in ('red', 'blue', 'green'))
    x, y = clients.load_client('a')
    np.testing.assert_array_equal(
      x, [[_BOS, red, red, _EOS], [_BOS, blue, _EOS, _PAD]]
    )
    np.testing.assert_array_equal(
      y, [[red, red, _EOS, _PAD], [blue, _EOS, _PAD, _PAD]]
    )
    x, y = clients.load_client('b')
    np.testing.assert_array_equal(x, [[_BOS, green, blue, _OOV]])
    np.testing.assert_array_equal(y, [[green, blue, _OOV, _EOS]])
    self.assertEqual([s.shape for s in clients.element_spec], [[4], [4]])

  def test_errors_name_the_client(self):
    clients = self._clients(a=['red'])
    with self.assertRaisesRegex(
      errors.InputError, "Client 'a': There .*array 'title' .*text, url"
    ):
      _ = self._preprocess(clients, feature='title').element_spec
    clients.load_client('a')['text'][0] = b'\xff'
    with self.assertRaisesRegex(errors.InputError, "Client 'a': .*UTF-8"):
      _ = self._preprocess(clients).element_spec


def _words():
  return datasets.train_vocabulary(
    ['red red red green green blue'],
    kind=datasets.VocabularyKind.WORD,
    size=7,
  )

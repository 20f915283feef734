# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of news, read against Python's csv or generated, and their tokens."""

import csv

from fedfish_tff import errors
from tasks.text import ag_news_files
from tasks.text import generated_news
from tasks.text import text_tokens
from tests import local_data
from tests import temporary_folders

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np
from sklearn import linear_model
from sklearn.feature_extraction import text as sklearn_text

_ROW = '"3","Rates","They rise."\n'
# What `str.split` takes for a space is one space in the end.
_TEXT = strategies.text(
  strategies.characters(exclude_categories=('Cs', 'Cc')), max_size=12
)


class AgNewsFilesTest(temporary_folders.TestCase):
  def _write(self, content, name='test.csv'):
    path = self.folder / name
    if isinstance(content, str):
      content = content.encode()
    path.write_bytes(content)
    return path

  def test_reads_rows(self):
    path = self._write(
      '"4","A ""new"" comet","Seen\\by all,\\n twice"\n"1","Two\nlines","é"\n'
    )
    news = ag_news_files.read_news(path)
    self.assertEqual(
      news.texts, ('A "new" comet Seen by all, n twice', 'Two lines é')
    )
    np.testing.assert_array_equal(news.labels, [3, 0])
    self.assertEqual(news.labels.dtype, np.int32)

  @hypothesis.settings(max_examples=30)
  @hypothesis.given(
    strategies.lists(
      strategies.tuples(strategies.integers(1, 4), _TEXT, _TEXT), min_size=1
    )
  )
  def test_reads_what_csv_writes(self, rows):
    rows = [(c, title + 'x', text) for c, title, text in rows]
    path = self.folder / 'written.csv'
    with open(path, 'w', newline='') as file:
      csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator='\n').writerows(
        rows
      )
    news = ag_news_files.read_news(path)
    np.testing.assert_array_equal(news.labels + 1, [row[0] for row in rows])
    self.assertEqual(
      news.texts,
      tuple(
        ' '.join(f'{title} {text}'.replace('\\', ' ').split())
        for _, title, text in rows
      ),
    )

  @parameterized.parameters(
    (_ROW + '"0","a","b"\n', "line 2: the class must be .*got '0'"),
    ('class,title,description\n', "line 1: .*got 'class'"),
    (_ROW + '"5","a","b"\n', "line 2: .*got '5'"),
    (_ROW * 2 + '"2"," ","\\"\n', 'line 3: .*blank'),
    ('"1","a\nb","c"\n"2","d"\n', r'line 3: .*got 2 column\(s\)'),
    # What `str.splitlines` takes for ends of lines, too.
    (
      '"1","a\u2028b\x85c","d\x0be\x0cf"\r\n"2","d"\r\n',
      r'line 2: .*got 2 column\(s\)',
    ),
    (_ROW + '"2","a","b","c"\n', r'line 2: .*got 4 column\(s\)'),
    (_ROW + '\n', r'line 2: .*got 0 column\(s\)'),
    (_ROW.encode() + b'"1","\xff","b"\n', 'line 2: .*UTF-8.*byte 30'),
    ('', 'line 1: .*empty'),
    (_ROW + '"1","a" b,"c"\n', 'line 2: .* expected after'),
    (_ROW + '"1","a","b\n', 'line 2: unexpected end of data'),
  )
  def test_what_is_wrong_is_named_by_line(self, content, regex):
    with self.assertRaisesRegex(errors.InputError, f'test.csv, {regex}'):
      ag_news_files.read_news(self._write(content))

  def test_missing_files(self):
    with self.assertRaisesRegex(errors.InputError, 'no test.csv in .*'):
      ag_news_files.load_news(self.folder, test_fraction=0.5, seed=0)
    with self.assertRaisesRegex(errors.InputError, 'Cannot read .*absent.csv'):
      ag_news_files.read_news(self.folder / 'absent.csv')

  def test_published_training_and_test_set(self):
    self._write(_ROW * 3)
    self._write('"1","a","b"\n' * 5, 'train.csv')
    train, test = ag_news_files.load_news(
      self.folder, test_fraction=0.5, seed=0
    )
    self.assertEqual(train.texts, ('a b',) * 5)
    self.assertEqual(test.texts, ('Rates They rise.',) * 3)

  def test_a_test_set_alone_is_divided(self):
    rows = [
      f'"{c + 1}","title {n}","of {c}"\n' for n in range(20) for c in (0, 2)
    ]
    self._write(''.join(rows))
    with self.assertLogs('absl', level='INFO') as logs:
      train, test = ag_news_files.load_news(
        self.folder, test_fraction=0.25, seed=0
      )
    self.assertIn('30 news to train on and 10 to test on', logs.output[0])
    self.assertLen(set(train.texts) | set(test.texts), 40)
    for part, count in ((train, 15), (test, 5)):
      np.testing.assert_array_equal(np.bincount(part.labels), [count, 0, count])
      for text, label in zip(part.texts, part.labels):
        self.assertEndsWith(text, f'of {label}')
    _, again = ag_news_files.load_news(self.folder, test_fraction=0.25, seed=0)
    _, other = ag_news_files.load_news(self.folder, test_fraction=0.25, seed=1)
    self.assertEqual(test.texts, again.texts)
    self.assertNotEqual(test.texts, other.texts)
    with self.assertRaisesRegex(errors.InputError, 'test_fraction 0.01 of 40'):
      ag_news_files.load_news(self.folder, test_fraction=0.01, seed=0)

  def test_the_published_test_set(self):
    folder = local_data.find_sample('ag_news')
    train, test = ag_news_files.load_news(folder, test_fraction=0.25, seed=0)
    np.testing.assert_array_equal(np.bincount(train.labels), [1425] * 4)
    np.testing.assert_array_equal(np.bincount(test.labels), [475] * 4)
    news = ag_news_files.read_news(folder / 'test.csv')
    self.assertStartsWith(news.texts[0], 'Fears for T N pension after talks')
    self.assertEqual(ag_news_files.CLASS_NAMES[news.labels[0]], 'business')


_TEXTS = ['Rates rise again', 'the rates of the bank', 'a comet is seen'] * 4


class TextTokensTest(absltest.TestCase):
  def test_is_cut_and_filled_up(self):
    vocabulary = text_tokens.train_word_pieces(_TEXTS, 60)
    texts = ['Rates', 'the rates of the bank rise again', '']
    tokens = text_tokens.tokenize(vocabulary, texts, 6)
    self.assertEqual((tokens.shape, tokens.dtype), ((3, 6), np.int32))
    for row, text in zip(tokens, texts):
      expected = vocabulary.encode(text)[:6].tolist()
      self.assertEqual(row.tolist(), expected + [0] * (6 - len(expected)))
    self.assertNotIn(0, tokens[1])
    self.assertLess(tokens.max(), vocabulary.size)

  def test_case_is_of_no_account(self):
    vocabulary = text_tokens.train_word_pieces(_TEXTS, 60)
    upper, lower = text_tokens.tokenize(vocabulary, ['RATES', 'rates'], 9)
    np.testing.assert_array_equal(upper, lower)

  def test_is_a_function_of_texts_and_size(self):
    first, again = (
      text_tokens.train_word_pieces(texts, 60).to_json()
      for texts in (_TEXTS, _TEXTS[::-1])
    )
    self.assertEqual(first, again)
    self.assertNotEqual(
      first, text_tokens.train_word_pieces(_TEXTS, 50).to_json()
    )

  def test_too_small_a_vocabulary(self):
    with self.assertRaisesRegex(errors.InputError, 'a size of 5 was asked'):
      text_tokens.train_word_pieces(_TEXTS, 5)


class GeneratedNewsTest(absltest.TestCase):
  def test_is_a_function_of_the_seed(self):
    first, again, other = (
      generated_news.generate_news(41, seed=seed) for seed in (0, 0, 1)
    )
    self.assertEqual(first.texts, again.texts)
    np.testing.assert_array_equal(first.labels, again.labels)
    self.assertNoCommonElements(first.texts, other.texts)
    np.testing.assert_array_equal(np.bincount(first.labels), [10] * 4)
    self.assertEqual(first.labels.dtype, np.int32)
    for text in first.texts:
      self.assertBetween(len(text.split()), 12, 40)

  def test_a_linear_model_gets_most_of_them(self):
    news = generated_news.generate_news(4000, seed=0)
    counts = sklearn_text.CountVectorizer().fit_transform(news.texts)
    model = linear_model.LogisticRegression(C=0.1, max_iter=200)
    model.fit(counts[:3000], news.labels[:3000])
    accuracy = model.score(counts[3000:], news.labels[3000:])
    self.assertBetween(accuracy, 0.8, 0.95)

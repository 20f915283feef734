# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of reading tables."""

import io
import json

from fedfish_tff import errors
from launch.data import labelled_table
from launch.data import table_files
from tests import temporary_folders

from absl.testing import parameterized
import numpy as np
import pandas as pd
from PIL import Image
import pyarrow as pa
from pyarrow import parquet


def _frame():
  return pd.DataFrame(
    {
      'age': [30, 40, 50],
      'dose': [0.5, 1.5, 2.5],
      'hospital': ['b', 'a', 'b'],
      'label': ['well', 'ill', 'well'],
    }
  )


def _encode(pixels, image_format='PNG'):
  file = io.BytesIO()
  Image.fromarray(pixels).save(file, image_format)
  return file.getvalue()


class LabelledTableTest(temporary_folders.TestCase):
  def _write(self, columns, name='t.parquet'):
    path = self.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)
    return str(path)

  def _read(self, dataset, **options):
    return labelled_table.read(str(dataset), **{'split': 'train'} | options)

  @parameterized.parameters('csv', 'parquet')
  def test_columns_of_a_file(self, kind):
    path = self.folder / f't.{kind}'
    if kind == 'csv':
      _frame().to_csv(path, index=False)
    else:
      _frame().to_parquet(path)
    self.assertTrue(table_files.is_table(str(path)))
    data = self._read(path, others=['hospital'])
    self.assertEqual((data.feature, data.is_image), ('age,dose', False))
    np.testing.assert_array_equal(data.x, [[30, 0.5], [40, 1.5], [50, 2.5]])
    np.testing.assert_array_equal(data.labels, [1, 0, 1])
    self.assertEqual(data.names_of('label', data.labels)[0], 'well')
    self.assertEqual(data.others['hospital'].tolist(), ['b', 'a', 'b'])

  def test_keys_of_csv_files_are_as_written(self):
    path = self.folder / 't.csv'
    path.write_text('x,label,key,day\n1,0,007,2026-01-02\n2,1,7,2026-01-02\n')
    data = self._read(path, others=['key', 'day'])
    self.assertEqual(data.others['key'].tolist(), ['007', '7'])
    self.assertEqual(data.others['day'].tolist(), ['2026-01-02'] * 2)
    self.assertEqual(data.x.tolist(), [1, 2])
    path.write_text('x,label\n1,0.5\n')
    with self.assertRaisesRegex(
      errors.InputError, "'label' must hold integers"
    ):
      self._read(path, others=['label'])
    path.write_text('x,label,key\n1,0,7\n2,1,\n')
    with self.assertRaisesRegex(errors.InputError, "'key' .* got none in 1"):
      self._read(path, others=['key'])

  def test_targets_of_a_regression(self):
    path = self.folder / 't.csv'
    _frame().to_csv(path, index=False)
    data = self._read(path, label='dose', feature='age')
    np.testing.assert_array_equal(data.labels, [0.5, 1.5, 2.5])
    np.testing.assert_array_equal(data.x, [30, 40, 50])

  def test_lists(self):
    x = np.arange(12).reshape(2, 3, 2)
    data = self._read(self._write({'x': x.tolist(), 'label': [0, 1]}))
    np.testing.assert_array_equal(data.x, x)

  def test_columns_of_numbers_have_no_image_size(self):
    path = self._write({'x': [1.0], 'label': [0]})
    with self.assertRaisesRegex(errors.InputError, "'x', which .* got 2,3"):
      self._read(path, image_size=(2, 3))

  def test_deep_images_are_not_scaled(self):
    pixels = np.uint16([[0, 300]])
    data = self._read(self._write({'x': [_encode(pixels)], 'label': [0]}))
    self.assertFalse(data.is_image)
    np.testing.assert_array_equal(data.x, pixels[None, ..., None])

  @parameterized.parameters((1,), (3,), (4,))
  def test_images(self, channels):
    pixels = np.random.default_rng(0).integers(0, 255, [2, 5, 4, channels])
    pixels = pixels.astype(np.uint8)
    values = [_encode(p[..., 0] if channels == 1 else p) for p in pixels]
    for column in (values, [{'bytes': v, 'path': None} for v in values]):
      data = self._read(self._write({'image': column, 'label': [0, 1]}))
      self.assertTrue(data.is_image)
      np.testing.assert_array_equal(data.x, pixels)

  @parameterized.parameters(
    (['cat', 'dog'], ['dog', 'cat']),
    (['cat'], ['1', '0']),
    (['cat', 'cat'], ['1', '0']),
    (['cat', '\ud800'], ['1', '0']),
    (7, ['1', '0']),
  )
  def test_hugging_face_folder(self, names, expected):
    features = {'label': {'names': names, '_type': 'ClassLabel'}}
    note = json.dumps({'info': {'features': features}}).encode()
    table = pa.table({'x': [0.5, 1], 'label': [1, 0]})
    table = table.replace_schema_metadata({b'huggingface': note})
    folder = self.folder / 'saved'
    (folder / 'train').mkdir(parents=True)
    (folder / 'dataset_dict.json').write_text('{"splits": ["train"]}')
    saved = ('data-0.arrow', 'data-1.arrow')
    state = {'_data_files': [{'filename': name} for name in saved]}
    (folder / 'train' / 'state.json').write_text(json.dumps(state))
    # One of an earlier save, and one that is no data.
    for name in (*saved, 'data-2.arrow', 'cache-1.arrow'):
      with pa.ipc.new_stream(folder / 'train' / name, table.schema) as writer:
        writer.write_table(table)
    self.assertTrue(table_files.is_table(str(folder)))
    data = self._read(folder)
    self.assertEqual(data.labels.tolist(), [1, 0, 1, 0])
    self.assertEqual(data.names_of('label', data.labels[:2]), expected)
    with self.assertRaisesRegex(errors.InputError, "got 'test'"):
      self._read(folder, split='test')
    (folder / 'train' / saved[0]).unlink()
    with self.assertRaisesRegex(errors.InputError, 'none of data-0.arrow'):
      self._read(folder)

  def test_splits_are_files(self):
    for i, split in enumerate(('test', 'train')):
      self._write({'x': [i], 'label': [0]}, f'd/data/{split}-0-of-1.parquet')
    self.assertEqual(self._read(self.folder / 'd').x.tolist(), [1])
    self.assertEqual(self._read(self.folder / 'd', split='test').x, [0])
    with self.assertRaisesRegex(errors.InputError, "got '../d'"):
      self._read(self.folder / 'd', split='../d')

  @parameterized.named_parameters(
    ('no_label', {'x': [1], 'labels': [1]}, r"'x', 'labels', .*mean labels\?"),
    ('missing_value', {'x': [1, 2], 'label': [1, None]}, 'got none in 1'),
    ('missing_in_list', {'x': [[1, None]], 'label': [1]}, 'missing values'),
    (
      'ragged',
      {'x': [[1], [1, 2]], 'label': [0, 1]},
      'one length .*, got 1, 2',
    ),
    (
      'no_values',
      {'x': pa.array([[]], pa.list_(pa.int64())), 'label': [0]},
      'got 0',
    ),
    ('text', {'x': ['a'], 'label': [0]}, '--feature must name'),
    ('texts', {'x': [['a']], 'label': [0]}, "--feature must name .* 'x'"),
    ('no_target', {'x': [1, 2], 'label': [1, np.nan]}, 'NaN or infinity in 1'),
    ('infinite', {'x': [1], 'label': [np.inf]}, 'NaN or infinity in 1'),
    ('no_number', {'x': [[1, np.inf]], 'label': [1]}, "'x' .* infinity in 1"),
    ('dates', {'x': [1], 'label': pa.array([0], 'date32')}, 'got date32'),
    ('huge', {'x': [1], 'label': np.uint64([2**63])}, 'below 2..63, got 92'),
    ('empty', {'x': [1], 'label': ['']}, "'label' must have a value .* in 1"),
    ('no_image', {'x': [b'a'], 'label': [0]}, 'Row 0 .* must be an image'),
    ('no_rows', {'x': pa.array([], 'int8'), 'label': []}, 'got none'),
  )
  def test_unusable_columns(self, columns, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      self._read(self._write(columns))

  @parameterized.parameters('parquet', 'arrow')
  def test_damaged_files(self, kind):
    path = self.folder / f'd.{kind}'
    path.write_bytes(b'PAR1,\xff\n1\n')
    with self.assertRaisesRegex(errors.InputError, f'd.{kind} cannot be read'):
      self._read(path)

  @parameterized.named_parameters(
    (
      'question_mark',
      'a,b,label\n1,5,0\n?,6,1\n3,4,1\n',
      "'a' .* '\\?' .* in 1",
    ),
    ('decimal_comma', 'a;b;label\n1;2,5;0\n2;3,5;1\n', "'b' .* '2,5' .* in 2"),
    (
      'thousands',
      'a,b,label\n1,"1,234.5",0\n2,7,1\n',
      "'b' .* '1,234.5' .* in 1",
    ),
    ('target', 'a,label\n1,0.5\n2,n.a.\n3,0.7\n', "'label' .* 'n.a.' .* in 1"),
    ('column_twice', 'a,b,b,label\n1,2,3,0\n', "'b' must .* once, got 2"),
    ('spaces', 'a,label\n1,yes\n2,yes \n3,no\n', "'yes' and 'yes ', .*spaces"),
    ('zero', 'a,label\n1,01\n2,1\n3,02\n', "'01' and '1', .* one value"),
    ('forms', 'a,label\n1,true\n2,TRUE\n3,0\n', "'true' and 'TRUE', .* value"),
    ('large', f'a,label\n1,{2**63}\n2,0\n', r'below 2\*\*63, got 9.*808;'),
  )
  def test_columns_that_csv_files_get_wrong(self, content, regex):
    path = self.folder / 't.csv'
    path.write_text(content)
    with self.assertRaisesRegex(errors.InputError, regex):
      self._read(path)

  def test_labels_of_csv_files_are_numbers_where_that_is_certain(self):
    path = self.folder / 't.csv'
    for written, expected in (
      (('01', '02', ' 02'), [1, 2, 2]),
      (('1e30', '2', '2.0'), [1e30, 2, 2]),
      (('true', 'false', 'true'), [1, 0, 1]),
      (('+1', '-1', '+1'), [1, -1, 1]),
      (('"b, c"', '0', '"b, c"'), [1, 0, 1]),
    ):
      path.write_text('a,label\n' + ''.join(f'1,{t}\n' for t in written))
      self.assertEqual(self._read(path).labels.tolist(), expected)

  def test_features_are_what_tasks_take(self):
    path = self.folder / 't.csv'
    path.write_text(
      ',Unnamed: 0.1,Unnamed: 0,a,label\n0,0,0,true,0\n1,1,1,false,1\n'
    )
    data = self._read(path)
    self.assertEqual((data.feature, data.x.dtype), ('a', np.uint8))
    np.testing.assert_array_equal(data.x, [1, 0])
    path.write_text(f'a,b,label\n{2**53 + 1},0.5,0\n2,1,1\n')
    with self.assertRaisesRegex(errors.InputError, f"'a' .* got {2**53 + 1};"):
      self._read(path)
    self.assertEqual(self._read(path, feature='a').x[0], 2**53 + 1)

  def test_a_missing_key_among_numbers_is_no_client(self):
    path = self.folder / 't.csv'
    path.write_text('x,label,key\n1,0,7\n2,1,NA\n')
    with self.assertRaisesRegex(errors.InputError, "'key' .* got none in 1"):
      self._read(path, others=['key'])
    path.write_text('x,label,key\n1,0,NA\n2,1,DE\n')
    self.assertEqual(self._read(path, others=['key']).others['key'][0], 'NA')
    with self.assertRaisesRegex(errors.InputError, "'key', which is read as"):
      self._read(path, others=['key'], feature='x,key')

  def test_texts_that_are_no_features(self):
    path = self.folder / 't.csv'
    path.write_text(
      ',a,ip,code,tel,Unnamed: 0,label\n'
      '0,5,10.0.0.1,A1,079 12 34,7,1\n1,6,10.0.0.2,B7,079 12 35,8,0\n'
    )
    data = self._read(path)
    self.assertEqual((data.feature, data.x.tolist()), ('a', [5, 6]))
    self.assertEqual(data.unused, ['', 'ip', 'code', 'tel', 'Unnamed: 0'])
    data = self._read(path, feature='Unnamed: 0,a')
    self.assertEqual(data.x.tolist(), [[7, 5], [8, 6]])
    for feature in ('a,label', 'a,a'):
      with self.assertRaisesRegex(errors.InputError, f'once, .*got {feature}'):
        self._read(path, feature=feature)

  def test_unlabelled_examples(self):
    features = {'label': {'names': ['cat', 'dog'], '_type': 'ClassLabel'}}
    note = json.dumps({'info': {'features': features}}).encode()
    table = pa.table({'x': [0.5, 1, 2], 'label': [1, -1, -1]})
    path = self.folder / 't.parquet'
    parquet.write_table(
      table.replace_schema_metadata({b'huggingface': note}), path
    )
    with self.assertRaisesRegex(
      errors.InputError, 'a class .* got -1, .* in 2'
    ):
      self._read(path)

  def test_other_names_are_no_tables(self):
    for name in ('mnist', 'emnist/byclass', 'mnist:3.0.1', str(self.folder)):
      self.assertFalse(table_files.is_table(name), name)

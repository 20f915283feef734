# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of titles of columns and of tables as text."""

from launch.results import column_titles
from launch.results import text_table

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np


class ColumnTitlesTest(parameterized.TestCase):
  @parameterized.parameters(
    ('eval/global/accuracy', 'Validation accuracy, global model'),
    (
      'eval/own_global/accuracy',
      "Training clients' own test accuracy, global model",
    ),
    (
      'validation/own/accuracy_worst_tenth',
      "Training clients' own test accuracy, own models, worst tenth",
    ),
    (
      'eval/own_fine_tuned/accuracy',
      "Training clients' own test accuracy, after fine-tuning",
    ),
    (
      'eval/new_global/accuracy_jain_index',
      "Validation clients' own test accuracy, global model, Jain's index",
    ),
    (
      'test/new_fine_tuned/accuracy',
      "Test clients' own test accuracy, after fine-tuning",
    ),
    ('validation/personalized/mse', 'Validation MSE, after fine-tuning'),
    (
      'eval/personalized/mse_before',
      'Validation MSE, before fine-tuning',
    ),
    (
      'test/personalized/accuracy_worst_tenth',
      'Test accuracy, after fine-tuning, worst tenth',
    ),
    # The quantile may be of a metric of which lower is better.
    (
      'test/own/mse_high_tenth',
      "Training clients' own test MSE, own models, 90th percentile",
    ),
    ('validation/mse', 'Validation MSE'),
    ('train/num_examples', 'Training num examples'),
    ('csb/mse', 'Barrier in MSE'),
    ('privacy/epsilon_pld', 'Epsilon by PLD'),
    ('accuracy', 'Accuracy'),
  )
  def test_a_title_tells_the_split_the_model_and_the_statistic(
    self, column, expected
  ):
    self.assertEqual(column_titles.title(column), expected)

  @parameterized.parameters(
    ('eval/global/mse', 'MSE, global model on validation clients'),
    (
      'eval/new_fine_tuned/accuracy',
      "Accuracy, after fine-tuning, on validation clients' own test data",
    ),
    (
      'test/personalized/mse_before',
      'MSE, before fine-tuning, on the other half of the data of test clients',
    ),
    ('train/loss', 'Loss, training clients'),
    ('csb/accuracy', 'Barrier in accuracy, clients against the server'),
    (
      'csb/accuracy_by_examples',
      'Barrier in accuracy by examples, clients against the server',
    ),
    ('other/column', 'other/column'),
  )
  def test_a_description_tells_what_a_column_is_of(self, column, expected):
    self.assertEqual(column_titles.describe(column), expected)


class TextTableTest(absltest.TestCase):
  def test_columns_are_as_wide_as_their_widest_cell(self):
    self.assertEqual(
      text_table.align(
        [
          ('method', 'mean', ''),
          ('FedFish', '0.5 ± 0.25', 'one pair'),
          ('', '1', ''),
        ]
      ),
      'method   mean\nFedFish  0.5 ± 0.25  one pair\n         1',
    )

  def test_rows_of_another_length_are_refused(self):
    with self.assertRaises(ValueError):
      text_table.align([('a', 'b'), ('c',)])

  def test_latex(self):
    # It has been through pdflatex, and looked at.
    rows = [('a_b', '50% & ~$x^2$'), (r'{c}\d', '0.5 ± 0.1'), ('#1', '')]
    table = text_table.Table(['A note.'], rows, bold=[(1, 1)])
    self.assertEqual(
      text_table.to_latex('A title', table).splitlines(),
      [
        '% A title',
        '% A note.',
        r'% It needs \usepackage{booktabs}.',
        r'\begin{tabular}{@{}ll@{}}',
        r'\toprule',
        r'a\_b & 50\% \& \textasciitilde{}\$x\textasciicircum{}2\$ \\',
        r'\midrule',
        r'\{c\}\textbackslash{}d & \textbf{0.5 $\pm$ 0.1} \\',
        r'\#1 &  \\',
        r'\bottomrule',
        r'\end{tabular}',
      ],
    )

  def test_numbers_are_aligned_at_the_right(self):
    rows = [('Method', 'A'), ('x', '1')]
    table = text_table.Table(['A note.'], rows, bold=[(1, 1)], num_left=1)
    self.assertIn(r'\begin{tabular}{@{}lr@{}}', text_table.to_latex('t', table))
    self.assertEqual(
      text_table.to_markdown('t', table).splitlines(),
      [
        *('# t', '', 'A note.', ''),
        '| Method |     A |',
        '| ---    |  ---: |',
        '| x      | **1** |',
      ],
    )
    self.assertIn('<td>x</td><td class="number">', text_table.to_html(table))

  def test_csv(self):
    rows = [('FedFish, 1', 0.1, None), ('ä', float('nan'), np.nan)]
    for keep_nan, last in ((False, 'ä,,'), (True, 'ä,nan,nan')):
      content = text_table.to_csv(
        ['method', 'mean', 'low'], rows, keep_nan=keep_nan
      )
      self.assertEqual(
        content.decode(), f'method,mean,low\n"FedFish, 1",0.1,\n{last}\n'
      )

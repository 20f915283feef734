# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is shown during a run."""

import contextlib
import io
import os
from unittest import mock

from fedfish_tff.simulation import hooks
from fedfish_tff.simulation import progress

from absl.testing import absltest

_METRICS = {'train/loss': 0.123456, 'train/accuracy': 0.5, 'other': 1}


class _Terminal(io.StringIO):
  def isatty(self):
    return True


class ProgressReporterTest(absltest.TestCase):
  def test_steps_are_lines_even_beside_a_bar(self):
    stream = io.StringIO()
    with contextlib.redirect_stderr(stream):
      progress.report_step('reading')
      report = progress.ProgressReporter(2, show_bar=True)
      progress.report_step('evaluating')
      report.observe(0, {'train/loss': 0.5})
      report.close()
    self.assertStartsWith(stream.getvalue(), 'reading ...\n\r')
    self.assertIn('\revaluating ...\n', stream.getvalue())
    self.assertIn('loss=0.5', stream.getvalue())

  def test_a_run_that_goes_on_does_not_begin_at_0(self):
    for last in (5, 2):
      stream = io.StringIO()
      report = progress.ProgressReporter(5, show_bar=True, stream=stream)
      report.begin(
        hooks.Run(
          first_round=0,
          last_round=last,
          participation=lambda number: (),
          start_totals={},
          read_rows=list,
          load=lambda number: None,
        )
      )
      report.close()
      shown = stream.getvalue().rstrip().rpartition('\r')[2]
      self.assertIn(f'| {last}/5 [', shown)

  def test_plain_lines_without_a_terminal(self):
    stream = io.StringIO()
    report = progress.ProgressReporter(5, report_every=2, stream=stream)
    report.observe(0, {})
    for round_number in range(1, 6):
      report.observe(round_number, _METRICS)
    report.close()
    self.assertEqual(
      stream.getvalue(),
      'round 0/5\n'
      + ''.join(
        f'round {r}/5: train loss 0.1235, train accuracy 0.5\n'
        for r in (2, 4, 5)
      ),
    )

  def test_a_line_names_each_score_and_what_judges(self):
    stream = io.StringIO()
    progress.ProgressReporter(
      5, stream=stream, judged_column='eval/new_fine_tuned/mse'
    ).observe(
      0,
      {
        'train/loss': 0.1,
        'eval/global/mse': 0.2,
        'eval/new_fine_tuned/mse': 0.3,
        'eval/own_global/mse': 0.4,
        'eval/own/mse': float('nan'),
        'eval/own_fine_tuned/mse': 0.6,
        'eval/own_fine_tuned/mse_median': 0.7,
      },
    )
    self.assertEqual(
      stream.getvalue(),
      'round 0/5: train loss 0.1, '
      "training clients' own-test mse (global model) 0.4, "
      "training clients' own-test mse (own models) diverged, "
      "training clients' own-test mse (fine-tuned) 0.6, "
      'validation mse (global model) 0.2; judged by '
      "validation clients' own-test mse (fine-tuned) 0.3\n",
    )

  def test_bar_on_a_terminal(self):
    stream = _Terminal()
    report = progress.ProgressReporter(4, stream=stream)
    self.assertIn('0/4', stream.getvalue())
    # As after resuming from round 2.
    report.observe(3, _METRICS)
    report.observe(4, {'eval/global/accuracy': 0.75})
    report.close()
    shown = stream.getvalue()
    self.assertIn('\rresumed after round 2\n', shown)
    self.assertIn('4/4', shown)
    self.assertIn('train accuracy=0.5', shown)
    self.assertIn('validation accuracy (global model)=0.75', shown)
    self.assertEndsWith(shown, '\n')

  def test_the_bar_has_room_for_the_figure_that_counts(self):
    row = {
      'eval/global/loss': 1.25,
      'eval/global/accuracy': 0.5,
      'eval/personalized/accuracy': 0.875,
      'privacy/epsilon_pld': 2.0,
    }
    for judged, name, value in (
      (None, 'validation accuracy (global model)', '0.5'),
      ('eval/global/accuracy', 'validation accuracy (global model)', '0.5'),
      ('eval/global/loss', 'validation loss (global model)', '1.25'),
      (
        'eval/personalized/accuracy',
        'validation accuracy (fine-tuned)',
        '0.875',
      ),
    ):
      stream = _Terminal()
      with mock.patch.dict(os.environ, COLUMNS='80'):
        report = progress.ProgressReporter(
          2000, stream=stream, judged_column=judged
        )
        report.observe(1, _METRICS | row)
        report.close()
      last = stream.getvalue().rstrip().split('\r')[-1]
      self.assertRegex(last, r'\| 1/2000 \[ *[?\d.]+/s, ')
      self.assertEndsWith(last, f'{name}={value}]')
      self.assertLess(len(last), 80)
    lines = io.StringIO()
    progress.ProgressReporter(1, stream=lines).observe(1, row)
    self.assertIn('epsilon (PLD) 2, ', lines.getvalue())

  def test_a_run_that_begins_later_is_not_resumed(self):
    for first_shown, told in ((3, ''), (4, 'resumed after round 3\n')):
      stream = io.StringIO()
      report = progress.ProgressReporter(5, first_round=3, stream=stream)
      report.observe(first_shown, {})
      report.close()
      self.assertEqual(stream.getvalue(), f'{told}round {first_shown}/5\n')

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the personalisation plots."""

from launch.plots import personalization

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

_BEFORE = np.array([0.4, 0.5, 0.6, 0.7])
_AFTER = np.array([0.6, 0.5, 0.5, 0.9])


class PlotBeforeAfterTest(parameterized.TestCase):
  @parameterized.parameters((True, '2 gain, 1 lose'), (False, '1 gain, 2 lose'))
  def test_a_point_a_client_and_the_count_of_gains(self, higher, counts):
    figure = personalization.plot_before_after(
      {'FedAvg': (_BEFORE, _AFTER), 'FedFish': (_BEFORE, _BEFORE)},
      higher_is_better=higher,
    )
    first, second = figure.axes
    np.testing.assert_allclose(
      first.collections[0].get_offsets(), np.stack([_BEFORE, _AFTER], axis=1)
    )
    self.assertEqual(
      first.texts[0].get_text(), f'{counts}; mean 0.550 to 0.625'
    )
    self.assertStartsWith(second.texts[0].get_text(), '0 gain, 0 lose')
    self.assertEqual(first.get_xlim(), second.get_ylim())

  def test_more_methods_than_fit_in_a_row(self):
    figure = personalization.plot_before_after(
      {str(i): (_BEFORE, _AFTER) for i in range(5)}
    )
    self.assertLen(figure.axes, 5)

  def test_no_client_at_all(self):
    empty = np.array([])
    figure = personalization.plot_before_after({'FedAvg': (empty, empty)})
    self.assertEqual(figure.axes[0].texts[0].get_text(), '0 gain, 0 lose')


class PlotFewShotTest(absltest.TestCase):
  def test_a_line_a_client_and_their_mean(self):
    figure = personalization.plot_few_shot(
      {'FedFish': {0.5: _AFTER, 0.0: _BEFORE}}
    )
    (axis,) = figure.axes
    self.assertLen(axis.lines, 5)
    np.testing.assert_allclose(
      axis.lines[-1].get_xydata(), [[0, 0.55], [0.5, 0.625]]
    )


if __name__ == '__main__':
  absltest.main()

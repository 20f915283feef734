# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A check of drawn figures."""

import warnings

from absl.testing import absltest
from matplotlib import figure as mpl_figure


def check_fits(test: absltest.TestCase, figure: mpl_figure.Figure) -> None:
  """Checks that there is room for the axes, and that no text is cut off."""
  with warnings.catch_warnings():
    # Matplotlib warns where there is no room for the axes.
    warnings.simplefilter('error')
    figure.draw_without_rendering()
  texts = [text for key in figure.legends for text in key.get_texts()]
  for axis in figure.axes:
    texts += [axis.title, axis.xaxis.label, axis.yaxis.label, *axis.texts]
  for text in texts:
    if text.get_text():
      box = text.get_window_extent()
      test.assertGreaterEqual(box.x0, -1, text)
      test.assertGreaterEqual(box.y0, -1, text)
      test.assertLessEqual(box.x1, figure.bbox.x1 + 1, text)
      test.assertLessEqual(box.y1, figure.bbox.y1 + 1, text)

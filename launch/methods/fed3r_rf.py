# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fed3R-RF (Fanì et al., 2024): Fed3R on random Fourier features."""

from fedfish_tff import fields
from launch.methods import closed_form
from launch.methods import fed3r
from launch.methods import method

METHOD = method.Method(
  name='fed3r_rf',
  title='Fed3R-RF',
  fields={
    **fed3r.FIELDS,
    'num_random_features': fields.Field(
      5000, fields.integer(1), 'How many random features there are.'
    ),
    'bandwidth': fields.Field(
      0.0,
      fields.number(positive=False),
      "The kernel's; 0 for the median distance between features of validation "
      'clients.',
    ),
  },
  supports={'fine_tuning_start'},
  reasons=closed_form.REASONS,
  create_model=closed_form.create_model,
  shared_across=closed_form.SHARED,
  # Random features are constants.
  draws=lambda algorithm: True,
  build=fed3r.build,
)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The distance of subspaces against SciPy's angles."""

from fedfish_tff import evaluation

from absl.testing import absltest
import numpy as np
from scipy import linalg


class PrincipalAngleDistanceTest(absltest.TestCase):
  def test_is_the_sine_of_scipys_largest_angle(self):
    rng = np.random.default_rng(0)
    one = rng.normal(size=[7, 3])
    for scale in (1e-3, 0.1, 1.0):
      other = one + scale * rng.normal(size=one.shape)
      np.testing.assert_allclose(
        evaluation.principal_angle_distance(one, other),
        np.sin(linalg.subspace_angles(one, other).max()),
        rtol=1e-9,
      )

  def test_is_of_spaces_and_not_of_their_bases(self):
    basis = np.eye(5)[:, :2]
    same = basis @ [[3.0, 1.0], [0.0, -2.0]]
    self.assertAlmostEqual(
      evaluation.principal_angle_distance(basis, same), 0, places=12
    )
    orthogonal = np.eye(5)[:, 1:3]
    self.assertAlmostEqual(
      evaluation.principal_angle_distance(basis, orthogonal), 1
    )

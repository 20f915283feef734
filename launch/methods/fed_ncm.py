# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedNCM (Legate et al., 2023): the nearest class mean."""

from fedfish_tff import algorithms
from fedfish_tff import choices
from fedfish_tff import fields
from launch.methods import building
from launch.methods import closed_form
from launch.methods import method


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  feature_map, model, arguments = closed_form.prepare(parts)
  return building.BuiltMethod(
    model=model,
    process=algorithms.build_fed_ncm(
      feature_map,
      distance=choices.ClassDistance(parts.algorithm.distance),
      **arguments,
    ),
  )


METHOD = method.Method(
  name='fed_ncm',
  title='FedNCM',
  fields={
    'distance': fields.Field(
      'cosine',
      fields.member_of(choices.ClassDistance),
      'How near features are to the mean of a class; cosine as published.',
    ),
    **closed_form.FIELDS,
  },
  supports={'fine_tuning_start'},
  reasons=closed_form.REASONS,
  create_model=closed_form.create_model,
  shared_across=closed_form.SHARED,
  build=_build,
)

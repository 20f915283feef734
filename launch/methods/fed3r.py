# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fed3R (Fanì et al., 2024): ridge regression from one visit to each client."""

import functools
from typing import Any

from fedfish_tff import algorithms
from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from fedfish_tff import simulation
from launch.methods import building
from launch.methods import closed_form
from launch.methods import method

from absl import logging


def build(parts: building.Ingredients) -> building.BuiltMethod:
  """Builds Fed3R on the task's features or on random features of them."""
  algorithm = parts.algorithm
  feature_map, model, arguments = closed_form.prepare(parts)
  solution = {
    'bias': choices.RidgeBias(algorithm.bias),
    'normalize_classes': algorithm.normalize_classes,
  }
  path = list(algorithm.regularization_path)
  return building.BuiltMethod(
    model=model,
    process=algorithms.build_fed3r(
      feature_map,
      regularization=algorithm.regularization,
      **solution,
      **arguments,
    ),
    costs_per_client={
      building.PUBLISHED_BYTES: simulation.closed_form_upload_bytes(
        feature_map.num_features, arguments['num_classes']
      )
    },
    solve_path=(
      functools.partial(_solve, feature_map=feature_map, path=path, **solution)
      if path
      else None
    ),
    reported_hparams=('regularization',),
  )


def _solve(
  state: Any, *, feature_map: Any, path: list[float], **arguments: Any
) -> dict[float, Any]:
  """Returns the weights by lambda; None where the sums have no solution."""
  sums = (feature_map, state['statistics'])
  try:
    return models.solve_ridge_path(*sums, path, **arguments)
  except errors.InputError:
    # At least one value has no solution; solve the others one by one.
    solved = {}
  for regularization in path:
    try:
      solved |= models.solve_ridge_path(*sums, [regularization], **arguments)
    except errors.InputError as error:
      logging.warning('%s It is left out of the choice.', error)
      solved[regularization] = None
  return solved


# The values of the official code.
FIELDS = {
  'regularization': fields.Field(
    0.01, fields.number(positive=False), 'Lambda of the ridge.'
  ),
  'regularization_path': fields.Field(
    (),
    fields.numbers,
    'Lambdas of which the best on validation clients is taken at the end.',
  ),
  'bias': fields.Field(
    'regularized',
    fields.member_of(choices.RidgeBias),
    'Whether there is one, and whether it is regularised or centred.',
  ),
  'normalize_classes': fields.Field(
    True, fields.boolean, "Whether to divide a class' weights by their norm."
  ),
  **closed_form.FIELDS,
}
METHOD = method.Method(
  name='fed3r',
  title='Fed3R',
  fields=FIELDS,
  supports={'fine_tuning_start'},
  reasons=closed_form.REASONS,
  create_model=closed_form.create_model,
  shared_across=closed_form.SHARED,
  build=build,
)

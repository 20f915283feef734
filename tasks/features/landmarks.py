# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Federated Google Landmarks: photographs by user.

The split gld160k has 2,028 landmarks and 1,262 users, gld23k 203 and 233; both
are of Hsu, Qi and Brown (2020, arXiv:2003.08082). data_dir is the folder that
`tff.simulation.datasets.gldv2.load_data` filled as its cache_dir. See
`photographs.create_photographs_task`.
"""

import functools

from tasks.features import photographs

NAME = 'landmarks'
SPLITS = {
  'gld160k': photographs.Split(2028, folders=('gld160k',)),
  'gld23k': photographs.Split(203, folders=('gld23k',)),
}

create_task = functools.partial(
  photographs.create_photographs_task,
  NAME,
  SPLITS,
  'tff.simulation.datasets.gldv2.load_data',
  split='gld160k',
)

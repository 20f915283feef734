# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Federated Google Landmarks: photographs, a client being a user.

2,028 landmarks by 1,262 users in the split gld160k, 203 by 233 in gld23k.
Divided by Hsu, Qi and Brown (2020, arXiv:2003.08082). data_dir is the folder
that `tff.simulation.datasets.gldv2.load_data` made as its cache_dir. See
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

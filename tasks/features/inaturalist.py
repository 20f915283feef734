# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Federated iNaturalist: photographs of 1,203 species by user or by place.

A client is a user in the split user_120k (users-120k in Fed3R), and a place in
the splits geo_*, all of Hsu, Qi and Brown (2020, arXiv:2003.08082). data_dir is
the folder that `tff.simulation.datasets.inaturalist.load_data` filled as its
cache_dir. See `photographs.create_photographs_task`.
"""

import functools

from tasks.features import photographs

NAME = 'inaturalist'
SPLITS = {
  # TFF reads from a folder in upper case, but writes to one in lower case.
  split: photographs.Split(1203, folders=(split.upper(), split))
  for split in (
    'user_120k',
    'geo_100',
    'geo_300',
    'geo_1k',
    'geo_3k',
    'geo_10k',
    'geo_30k',
  )
}

create_task = functools.partial(
  photographs.create_photographs_task,
  NAME,
  SPLITS,
  'tff.simulation.datasets.inaturalist.load_data',
  split='user_120k',
)

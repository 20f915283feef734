# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""News articles of CC-News, a client being a domain.

data_dir is a folder that launch.group_dataset --format=cc_news wrote, with a
vocabulary of launch.train_tokenizer; without it pages are made up. Test clients
are the folder's split held_out.
"""

from collections.abc import Mapping
import functools
from typing import Any

from tasks import language

NAME = 'cc_news'

# Recommended values of config fields: table 2 of the FedFish paper, as for C4.
DEFAULTS: Mapping[str, Any] = {
  'seed': 0,
  'rounds': 10_000,
  'cohort_size': 8,
  'local_epochs': 1,
  'batch_size': 4,
  'max_examples_per_client': 16,
  'client_learning_rate': 1e-3,
  'server_learning_rate': 1e-2,
  'evaluate_every': 500,
  'checkpoint_every': 100,
}

create_task = functools.partial(language.create_web_text_task, NAME)

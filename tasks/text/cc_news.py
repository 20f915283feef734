# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""News articles of CC-News by web domain.

data_dir is a folder that launch.group_dataset --format=cc_news wrote, with a
vocabulary of launch.train_tokenizer; without it, pages are synthetic. The test
clients are the folder's split held_out.
"""

import functools

from tasks.text import language

NAME = 'cc_news'

create_task = functools.partial(language.create_web_text_task, NAME)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pages of C4 by web domain: pretraining of a language model.

data_dir is a folder that launch.group_dataset --format=c4 wrote, with a
vocabulary of launch.train_tokenizer; without it, pages are synthetic. The test
clients are the folder's split held_out.
"""

import functools

from tasks.text import language

NAME = 'c4'

create_task = functools.partial(language.create_web_text_task, NAME)

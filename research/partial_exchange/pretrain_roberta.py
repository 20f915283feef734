# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Pretrains a small RoBERTa on the text of grouped clients.

  python -m research.partial_exchange.pretrain_roberta --input=runs/news \
    --output_dir=runs/roberta_news
  python -m launch.sweep --data_dir=path/to/ag_news \
    --config=research/partial_exchange/ag_news.py:roberta \
    --sweep_dir=runs/ag_news_pretrained \
    --config.task.checkpoint=runs/roberta_news

The texts are those of the clients of the split train in a folder of
launch.group_dataset, a line an example. The model learns to predict masked
tokens (Liu et al. 2019, arXiv:1907.11692, section 2), with the transformers
library. --output_dir then holds its config, weights and tokens, as that library
saves them: a checkpoint for the task ag_news, which adds a classifier. The same
command again on the same machine gives the same weights; it starts anew if it
was stopped.
"""

from collections.abc import Sequence

from fedfish_tff import errors
from launch import cli
from launch import path_flags

from absl import flags

_INPUT = path_flags.define('input', None, 'A folder of grouped clients.')
_OUTPUT_DIR = path_flags.define(
  'output_dir', None, 'The folder of the checkpoint, a new one.'
)
_SIZE = flags.DEFINE_enum(
  'size', 'tiny', ['tiny', 'small', 'base'], 'The size, as in task ag_news.'
)
_VOCABULARY_SIZE = flags.DEFINE_integer(
  'vocabulary_size', 4096, 'The most token ids, special ones included.'
)
_SEQUENCE_LENGTH = flags.DEFINE_integer(
  'sequence_length', 64, 'The number of tokens of an example.', lower_bound=3
)
_EPOCHS = flags.DEFINE_integer(
  'epochs', 3, 'The number of epochs.', lower_bound=1
)
_LEARNING_RATE = flags.DEFINE_float(
  'learning_rate', 1e-3, 'The largest learning rate of AdamW.', lower_bound=0
)


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  if not _INPUT.value or not _OUTPUT_DIR.value:
    raise errors.InputError(
      '--input and --output_dir are needed; --help shows an example.'
    )
  # Imported late: TensorFlow takes seconds, and all above answers at once.
  cli.report_import()
  from research.partial_exchange import roberta_pretraining  # pylint: disable=g-import-not-at-top

  roberta_pretraining.run(
    _INPUT.value,
    _OUTPUT_DIR.value,
    size=_SIZE.value,
    vocabulary_size=_VOCABULARY_SIZE.value,
    sequence_length=_SEQUENCE_LENGTH.value,
    epochs=_EPOCHS.value,
    learning_rate=_LEARNING_RATE.value,
  )


if __name__ == '__main__':
  cli.run(main)

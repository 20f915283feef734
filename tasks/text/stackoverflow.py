# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Questions and answers of Stack Overflow; each client is an author.

TFF's own loader (`tff.simulation.datasets.stackoverflow`) reads the data from
its cache, the file stackoverflow.sqlite in data_dir. TFF splits texts by time:
train holds texts from before 2018, test holds later texts, some by the same
authors. The authors of heldout are in neither. So training clients are TFF's
train authors, validation clients its heldout ones, and test clients its test
authors, with ids that begin with "test/" here.

Texts are words in lower case between spaces, as TFF publishes them.
"""

from __future__ import annotations

from fedfish_tff import datasets
from tasks import options
from tasks import tff_files
from tasks.task import Task
from tasks.text import language

NAME = 'stackoverflow'
FILE_NAME = 'stackoverflow.sqlite'
# The name of the array of texts.
FEATURE = 'tokens'
_TEST_PREFIX = 'test/'


OPTIONS = {
  **language.counted_words_options(10_004),
  **language.model_options(model='rnn', size='6x384', sequence_length=128),
  'download': tff_files.DOWNLOAD_OPTION,
}


@options.declare(OPTIONS)
def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  vocabulary: str | datasets.Vocabulary | None,
  vocabulary_size: int,
  vocabulary_clients: int,
  model: str,
  size: str,
  activation_dtype: str,
  sequence_length: int,
  eval_sequence_length: int,
  cache_megabytes: int,
  download: bool,
) -> Task:
  """Creates the task; `OPTIONS` describes the options.

  The seed is that of initial weights. data_dir is the folder of
  stackoverflow.sqlite; None means TFF's cache, ~/.tff.

  Returns:
    The task: x and y int32 [tokens], y being x one token ahead; metric
    accuracy, of the next token.
  """
  train, held_out, test = load_clients(data_dir, download=download)
  if vocabulary is None:
    counted = train.client_ids[: vocabulary_clients or None]
    tokens = datasets.train_vocabulary(
      language.Texts(train.select(counted), feature=FEATURE),
      kind=datasets.VocabularyKind.WORD,
      size=vocabulary_size,
    )
  else:
    tokens = language.load_vocabulary(vocabulary)
  return language.create_language_task(
    NAME,
    train=train,
    validation=held_out,
    test=test,
    vocabulary=tokens,
    seed=seed,
    model=model,
    size=size,
    activation_dtype=activation_dtype,
    sequence_length=sequence_length,
    eval_sequence_length=eval_sequence_length,
    cache_megabytes=cache_megabytes,
    feature=FEATURE,
  )


def load_clients(
  data_dir: str | None, *, download: bool = False
) -> tuple[datasets.ClientData, datasets.ClientData, datasets.ClientData]:
  """Returns TFF's splits train, heldout and test: clients with `FEATURE`.

  Args:
    data_dir: The folder of stackoverflow.sqlite; None for TFF's cache, ~/.tff.
    download: Whether to download a missing file.
  """
  import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

  return tuple(
    datasets.TffClientData(source, prefix=prefix)
    for source, prefix in zip(
      tff_files.load_tff_data(
        NAME,
        tff.simulation.datasets.stackoverflow.load_data,
        FILE_NAME,
        splits=('train', 'heldout', 'test'),
        data_dir=data_dir,
        download=download,
      ),
      ('', '', _TEST_PREFIX),
      strict=True,
    )
  )

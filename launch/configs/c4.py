# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Language models on C4 as in the FedFish paper; clients are web domains.

  python -m launch.train --config=launch/configs/c4.py:fed_fish \
    --workdir=runs/c4_fed_fish --data_dir=path/to/grouped

The fields are those of table 2 of Dhawan et al. (2024, arXiv:2311.10291);
the paper has 1 and 16 local epochs, and gives only the kind of its model.
path/to/grouped is a folder of clients with a vocabulary, made once:

  python -m launch.group_dataset --format=c4 --input='c4/en/*.json.gz' \
    --key=host --validation_fraction=0.02 --held_out_fraction=0.1 \
    --output_dir=path/to/grouped
  python -m launch.train_tokenizer --input=path/to/grouped

corpus=cc_news has the news of CC-News, --format=cc_news, a target of transfer in
the paper, with C4's fields. launch/configs/base.py explains the variants. A
local epoch of a round has up to 131,072 tokens, or 10^14 floating-point
operations, so it needs GPUs.

size=tiny is a model of two layers with sequences of 64 tokens, which runs
anywhere in minutes. Without --data_dir, it runs on synthetic pages, which serve
as a demonstration and say nothing about real text:

  python -m launch.train --config=launch/configs/c4.py:fed_fish,size=tiny \
    --workdir=runs/c4_tiny
  python -m launch.evaluate --workdir=runs/c4_tiny --targets=c4,cc_news

With seed 0, expect an accuracy of 0.075 on synthetic test domains, after about
a minute, and of 0.071 and 0.077 on those of the two targets that are large
enough. Adam at the server is faster here: server=adam, with TFF's values of its
fields (algorithm.server_epsilon 1e-7, algorithm.server_beta_2 0.999), has 0.107.

size=results is tiny with sequences of 128 tokens, as in the paper's evaluation,
and few rounds; with corpus=cc_news, half of them, because news sites have more
text. research/fedfish/c4.py has the sweeps of docs/results_fedfish.md.
"""

from launch.configs import base
from launch.configs import language
from launch.configs import sweeps

_CORPORA = ('c4', 'cc_news')


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  corpus = base.value_of('corpus', variant, _CORPORA)
  results = dict(language.RESULTS)
  if corpus == 'cc_news':
    results['rounds'] //= 2
  return base.create_config(
    variant,
    axes={
      'corpus': dict.fromkeys(_CORPORA, {}),
      'size': {'tiny': language.TINY, 'results': results},
    },
    task={'name': corpus},
    rounds=10_000,
    cohort_size=8,
    local_epochs=1,
    batch_size=4,
    max_examples_per_client=16,
    client_learning_rate=1e-3,
    evaluate_every=500,
    checkpoint_every=100,
    evaluation=language.evaluation_fields(),
  )


sweep = sweeps.choice(get_config, sweeps.ready_sweeps)

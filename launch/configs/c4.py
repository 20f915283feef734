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
the paper, with C4's fields. Variants: see launch/configs/base.py. A local epoch
of a round has up to 131,072 tokens, or 10^14 floating-point operations, so it
needs GPUs.

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
and few rounds: 512 local epochs in total, 1 or 16 of them per round. Its sweeps
have Adam at the server, because plain steps learn next to nothing in so few
rounds. docs/results.md has the results, also on other corpora, with their
commands. With corpus=cc_news, they have half of the rounds, 256 local epochs in
total, because news sites have more text, and the best learning rates on C4.
"""

from collections.abc import Iterator
import functools

from launch.configs import base
from launch.configs import language
from launch.configs import sweeps

_CORPORA = {'c4': {}, 'cc_news': {'task.name': 'cc_news'}}
# The paper's local epochs for text.
_LOCAL_EPOCHS = (1, 16)
# The learning rates of clients and server that tuning chose on C4, by sweep and
# by method and local epochs.
_C4_RATES = {
  'fixed_compute': {
    ('fed_avg', 1): (0.1, 0.005),
    ('fed_fish', 1): (0.1, 0.005),
    ('fed_avg', 16): (0.01, 0.01),
    ('fed_fish', 16): (0.01, 0.01),
  },
  'fixed_rounds': {
    ('fed_avg', 1): (0.01, 0.01),
    ('fed_fish', 1): (0.05, 0.01),
    ('fed_avg', 16): (0.01, 0.01),
    ('fed_fish', 16): (0.01, 0.01),
  },
}


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  results = dict(language.RESULTS)
  if base.value_of('corpus', variant, _CORPORA) == 'cc_news':
    results['rounds'] //= 2
  return base.create_config(
    variant,
    axes={
      'corpus': _CORPORA,
      'size': {'tiny': language.TINY, 'results': results},
    },
    task={
      'name': 'c4',
      # Or rnn, TFF's recurrent baseline for Stack Overflow.
      'model': 'transformer',
      # Or 6x384, tiny.
      'size': '12x768',
      'sequence_length': 1024,
      'eval_sequence_length': 128,
      # For synthetic pages.
      'num_generated_domains': 200,
      **language.task_fields(),
    },
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


def _comparison_sweeps(
  get_config: sweeps.GetConfig,
) -> dict[str, sweeps.MakeRuns]:
  """Returns `sweeps.ready_sweeps` of FedAdam and FedFish with Adam, by name.

  Both have the paper's local epochs for text, TFF's values of Adam, and on
  CC-News the rates of C4.
  """
  ready = sweeps.ready_sweeps(
    get_config,
    methods=('fed_avg,server=adam', 'fed_fish,server=adam'),
    local_epochs=_LOCAL_EPOCHS,
  )
  is_tuned = get_config('fed_avg').task.name == 'c4'

  def complete(name: str) -> Iterator[sweeps.Run]:
    for run in ready[name]():
      fields = {**run.overrides}
      if name != 'variants':
        fields |= sweeps.TFF_ADAM
      if not is_tuned and name in _C4_RATES:
        method, _ = base.parse_variant(run.variant)
        client, server = _C4_RATES[name][method, fields['local_epochs']]
        fields['client_learning_rate'] = client
        fields['server_learning_rate'] = server
      yield sweeps.Run(run.variant, fields)

  return {name: functools.partial(complete, name) for name in ready}


sweep = sweeps.choice(
  get_config, sweeps.ready_sweeps, {'size=results': _comparison_sweeps}
)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The rate that clients tune with, against a loop over rates in NumPy."""

import contextlib
import dataclasses
import functools
import io
import math
import pathlib
from unittest import mock

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import parameters
from fedfish_tff import simulation
from launch.configs import srpfl_digits
from launch.methods import config_checks
from launch.runs import evaluation_run
from launch.runs import experiment as experiment_lib
from launch.runs import tuned_evaluation
from tests import tolerance
from tests.evaluation import softmax_regression
from tests.launch import small_configs
from tests.launch.runs import softmax_task

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest

_RATES = (3.0, 0.1, 10.0, 1.0)
_RATE_COLUMN = 'personalization_learning_rate'


@functools.cache
def _built(variant):
  return experiment_lib.build_experiment_of(
    config_checks.read(softmax_task.make_config(variant, ())),
    softmax_task.make_task(),
  )


def _experiment(rates, *, variant='fed_avg', **changes):
  """Returns an experiment with rates; its tasks differ in no graph."""
  return dataclasses.replace(
    _built(variant),
    config=config_checks.read(softmax_task.make_config(variant, rates)),
    task=softmax_task.make_task(**changes),
  )


def _evaluate(experiment):
  return tuned_evaluation.TunedEvaluation(experiment)(
    experiment.initial_state(), lambda client_id, structure: None
  )


def _loss(tuned_on, scored_on, rate):
  weights = softmax_regression.numpy_train(
    softmax_regression.initial_weights(),
    [tuned_on] * softmax_task.EPOCHS,
    rate=rate,
  )
  return softmax_regression.numpy_metrics(weights, scored_on)['loss']


def _losses_by_rate(split):
  """Returns the mean over a split's clients, on test data of their own."""
  return {
    rate: np.mean(
      [
        _loss(*softmax_task.clients()[c], rate)
        for c in softmax_task.SIZES[split]
      ]
    )
    for rate in _RATES
  }


def _untuned_loss(split):
  weights = softmax_regression.initial_weights()
  return np.mean(
    [
      softmax_regression.numpy_metrics(weights, softmax_task.clients()[c][1])[
        'loss'
      ]
      for c in softmax_task.SIZES[split]
    ]
  )


def _best(losses):
  return min(losses, key=losses.get)


class TunedEvaluationTest(parameterized.TestCase):
  def _assert_close(self, columns, expected):
    for name, value in expected.items():
      tolerance.assert_close(
        columns[name],
        value,
        relative=tolerance.FLOAT32_STEPS,
        scale=max(1, value),
        err_msg=name,
      )

  # Of fed_per clients keep the head; new ones tune all of the model, too.
  @parameterized.parameters('fed_avg', 'fed_per')
  def test_validation_clients_choose_by_their_own_test_data(self, variant):
    columns = _evaluate(_experiment(_RATES, variant=variant))
    by_rate = {split: _losses_by_rate(split) for split in softmax_task.SIZES}
    rate = _best(by_rate['validation'])
    self.assertNotIn(rate, (_best(by_rate['train']), _best(by_rate['test'])))
    self.assertEqual(columns[_RATE_COLUMN], rate)
    self._assert_close(
      columns,
      {
        'new_fine_tuned/loss': by_rate['validation'][rate],
        'own_fine_tuned/loss': by_rate['train'][rate],
        'new_global/loss': _untuned_loss('validation'),
        'own_global/loss': _untuned_loss('train'),
        **self._halves(rate),
      },
    )

  def test_they_choose_by_their_unseen_half_without(self):
    columns = _evaluate(_experiment(_RATES, own_test=None))
    by_rate = {rate: self._halves(rate) for rate in _RATES}
    rate = min(by_rate, key=lambda rate: by_rate[rate]['personalized/loss'])
    self.assertEqual(columns[_RATE_COLUMN], rate)
    self._assert_close(columns, by_rate[rate])

  def _halves(self, rate):
    """Returns validation clients' mean on one half, tuned on the other."""
    losses, sizes = [], []
    for client_id in softmax_task.SIZES['validation']:
      x, y = softmax_task.clients()[client_id][0]
      tuned_on, unseen = (
        (x[rows], y[rows])
        for rows in datasets.split_rows(
          len(y), fraction=0.5, client_id=client_id, seed=0
        )
      )
      losses.append(_loss(tuned_on, unseen, rate))
      sizes.append(len(unseen[0]))
    return {'personalized/loss': np.average(losses, weights=sizes)}

  def test_the_rate_of_training_alone_changes_nothing(self):
    columns = _evaluate(_experiment((softmax_task.CLIENT_RATE,)))
    self.assertEqual(columns.pop(_RATE_COLUMN), softmax_task.CLIENT_RATE)
    self.assertEqual(columns, _evaluate(_experiment(())))

  def test_one_rate_is_taken_as_it_is(self):
    self._assert_close(
      _evaluate(_experiment((10.0,))),
      {'new_fine_tuned/loss': _losses_by_rate('validation')[10.0]},
    )

  def test_a_rate_with_which_clients_diverge_is_not_chosen(self):
    columns = _evaluate(_experiment((3e38, 10.0)))
    self.assertEqual(columns[_RATE_COLUMN], 10.0)

  def test_without_a_finite_rate_the_smallest_is_reported(self):
    rates = (3e38, 2e38)
    columns = _evaluate(_experiment(rates))
    self.assertEqual(columns[_RATE_COLUMN], min(rates))
    self.assertTrue(math.isnan(columns['new_fine_tuned/loss']))
    self.assertTrue(math.isfinite(columns['new_global/loss']))
    experiment = _experiment(rates)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
      rate = tuned_evaluation.choose_rate(
        experiment, experiment.initial_state()
      )
    self.assertEqual(rate, min(rates))
    self.assertRegex(printed.getvalue(), 'diverge with all: 2e[+]38$')

  @parameterized.parameters(
    (False, {0.1: 0.5, 0.2: 0.4, 0.3: 0.6}, 0.2),
    (True, {0.1: 0.5, 0.2: 0.4, 0.3: 0.6}, 0.3),
    (True, {0.1: 0.5, 0.2: 0.6, 0.3: 0.6}, 0.2),
    # With a client that has diverged.
    (False, {0.1: math.nan, 0.2: 0.5, 0.3: 0.6}, 0.2),
  )
  def test_the_best(self, higher_is_better, scores, expected):
    evaluation = tuned_evaluation.TunedEvaluation(
      _experiment(tuple(scores), higher_is_better=higher_is_better)
    )

    def score(unused_state, rate):
      return {'new_fine_tuned/loss': scores[rate]}

    with mock.patch.object(evaluation, '_score', score):
      rate, columns = evaluation.choose(None)
    self.assertEqual(rate, expected)
    self.assertEqual(columns['new_fine_tuned/loss'], scores[expected])

  def test_a_method_whose_rate_is_its_own_is_refused(self):
    with self.assertRaisesRegex(
      errors.InputError, r'_rates must be empty, .*hf_maml .*got \(0.1,\)'
    ):
      experiment_lib.build_experiment_of(
        config_checks.read(softmax_task.make_config('hf_maml', (0.1,))),
        softmax_task.make_task(),
      )

  def test_contexts_that_know_no_parameters_are_refused(self):
    experiment = _experiment((0.1,))
    with mock.patch.object(parameters, 'replaced', contextlib.nullcontext):
      with self.assertRaisesRegex(
        errors.InputError, r'such as cohort, for evaluation\..*_rates \(0.1,\)'
      ):
        _evaluate(experiment)


@pytest.mark.thorough
class WholeRunTest(absltest.TestCase):
  def test_test_clients_tune_with_the_rate_of_the_last_evaluation(self):
    """As where it is the only one."""
    self.enter_context(small_configs.built_once())
    config = srpfl_digits.get_config('fed_avg').to_dict()
    config.update(rounds=1, cohort_size=4, local_epochs=1)
    config['task'].update(num_clients=6, num_held_out=4, hidden_units=(8,))
    config['evaluation']['personalization_epochs'] = 1
    folder = pathlib.Path(self.create_tempdir().full_path)

    def run(name, rates):
      config['evaluation']['personalization_learning_rates'] = rates
      summary = small_configs.train(config, folder / name)
      evaluation_run.evaluate(folder / name)
      table = folder / name / 'evaluation' / 'clients.csv'
      return summary['test'], table.read_bytes()

    of_several = run('several', (0.001, 0.5))
    rows = simulation.read_rows(folder / 'several' / 'metrics.csv')
    rate = rows[-1][f'eval/{_RATE_COLUMN}']
    self.assertEqual(rate, 0.5)
    self.assertEqual(run('one', (rate,)), of_several)
    test, table = run('none', ())
    self.assertNotEqual(test, of_several[0])
    self.assertNotEqual(table, of_several[1])
    self.assertEqual(test['global/loss'], of_several[0]['global/loss'])

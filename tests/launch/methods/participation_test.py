# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the cohorts that configs ask for."""

from fedfish_tff import errors
from launch.methods import participation
from launch.runs import experiment
from tests.launch import small_configs

from absl.testing import absltest


class ParticipationTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.task = experiment.create_task(small_configs.make_config())

  def _cohorts(self, name, rounds, **changes):
    cohort = participation.create_participation(
      small_configs.make_config(
        'fed3r', rounds=rounds, **{'participation.name': name, **changes}
      ),
      self.task,
    )
    return [cohort(r) for r in range(1, rounds + 1)]

  def test_visit_once(self):
    cohorts = self._cohorts('visit_once', small_configs.VISITING_ROUNDS)
    self.assertEqual([len(cohort) for cohort in cohorts], [3, 3, 2])
    self.assertCountEqual(sum(cohorts, ()), self.task.train.client_ids)
    # A cohort may be as large as it likes.
    (everyone,) = self._cohorts('visit_once', 1, cohort_size=100)
    self.assertCountEqual(everyone, self.task.train.client_ids)

  def test_visit_once_ends_when_all_came(self):
    with self.assertRaisesRegex(
      errors.InputError,
      '^rounds is 4, but participation visit_once has seen all 8 training '
      'clients after 3; at most 3 was expected.$',
    ):
      self._cohorts('visit_once', 4)

  def test_first_visits_are_of_the_cohorts_that_others_see(self):
    uniform = participation.create_participation(
      small_configs.make_config('fed_avg'), self.task
    )
    seen = set()
    for number, cohort in enumerate(self._cohorts('first_visits', 12), start=1):
      self.assertEqual(
        cohort, tuple(c for c in uniform(number) if c not in seen)
      )
      seen |= set(cohort)
    self.assertCountEqual(seen, self.task.train.client_ids)


if __name__ == '__main__':
  absltest.main()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the cohorts that policies choose."""

from fedfish_tff import errors
from fedfish_tff import simulation
from launch.methods import config_checks
from launch.methods import participation
from launch.methods import policies
from tests.launch import small_configs

from absl.testing import parameterized

_SEED, _NUM_CLIENTS = 0, small_configs.NUM_TRAINING_CLIENTS
_config = small_configs.make_timed_config


class PoliciesTest(small_configs.TaskTestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.speeds = staticmethod(simulation.fixed_exponential_speeds(seed=_SEED))
    # From the fastest on.
    seconds = cls.speeds(1, cls.ids)
    cls.ranked = [cls.ids[i] for i in seconds.argsort()]

  def _cohorts(self, rounds, **changes):
    """Returns the cohorts of a closed-form method."""
    cohort = (
      small_configs.read_config('fed3r', rounds=rounds, **changes)
      .create_cohorts(self.task)
      .participation
    )
    return [cohort(r) for r in range(1, rounds + 1)]

  def test_visit_once(self):
    cohorts = self._cohorts(small_configs.VISITING_ROUNDS)
    self.assertEqual([len(cohort) for cohort in cohorts], [3, 3, 2])
    self.assertCountEqual(sum(cohorts, ()), self.task.train.client_ids)
    # A cohort may be as large as it likes.
    (everyone,) = self._cohorts(1, cohort_size=100)
    self.assertCountEqual(everyone, self.task.train.client_ids)

  def test_visit_once_ends_when_all_came(self):
    with self.assertRaisesRegex(
      errors.InputError,
      'rounds.*participation visit_once has seen all 8 training clients.*4',
    ):
      self._cohorts(4)

  def test_those_of_private_methods(self):
    for name in ('poisson', 'epochs'):
      config = small_configs.make_config(
        'fed_avg', **{'participation.name': name}
      )
      expected = getattr(simulation, f'{name}_participation')(
        self.task.train.client_ids,
        cohort_size=config['cohort_size'],
        seed=_SEED,
      )
      cohort = (
        config_checks.read(config).create_cohorts(self.task).participation
      )
      for number in range(1, 6):
        self.assertEqual(cohort(number), expected(number))

  def test_fastest(self):
    fastest = self.create_participation(_config('fastest'))
    self.assertEqual(fastest(3), tuple(self.ranked[:4]))
    fastest = self.create_participation(_config('fastest', sampled=6))
    sample = simulation.uniform_participation(
      self.ids, cohort_size=6, seed=_SEED
    )
    self.assertEqual(
      fastest(3), tuple(c for c in self.ranked if c in sample(3))[:4]
    )
    # Half as many again.
    over = self.create_participation(_config('uniform', over_selection=0.5))
    self.assertEqual(over(3), fastest(3))

  def test_candidates(self):
    choice = self.create_participation(_config('power_of_choice', candidates=6))
    self.assertLen(set(choice.candidates(1)), 6)
    self.assertContainsSubset(choice.planned(1), choice.candidates(1))
    self.assertLen(choice.planned(1), 4)
    # All of them by default.
    everyone = self.create_participation(_config('power_of_choice')).candidates(
      1
    )
    self.assertCountEqual(everyone, self.ids)

  def test_deadline(self):
    config = _config(
      'deadline',
      deadline=float(self.speeds(1, self.ranked[:3]).max()),
      over_selection=1.0,
      communication_seconds=2.0,
    )
    config['cohort_size'] = 4
    cohort = self.create_participation(config)
    # All eight are asked, and three are in time.
    self.assertEqual(cohort(1), tuple(self.ranked[:3]))
    clock = self.create_wall_clock(config)
    block = config['participation']
    self.assertEqual(clock(1, self.ranked[:3]), block['deadline'] + 2.0)
    self.assertEqual(
      clock(1, self.ranked[:4]), self.speeds(1, self.ranked[:4]).max() + 2.0
    )

  def test_asynchronous(self):
    config = small_configs.make_config(
      'fed_buff,participation=asynchronous',
      **{'cohort_size': 2, 'participation.speeds.communication_seconds': 2.0},
    )
    cohort = self.create_participation(config)
    own = config_checks.read(config)
    clock = self.create_wall_clock(config)
    # All are at work, and only they can begin again.
    self.assertEqual(cohort(1), tuple(self.ranked[:2]))
    self.assertEqual(clock(1, ()), self.speeds(1, self.ranked[:2]).max() + 2.0)
    self.assertEqual(participation.max_staleness(own), 20)
    config['participation']['concurrency'] = 1
    with self.assertRaisesRegex(errors.InputError, 'concurrency .* 2.* 8.* 1'):
      self.create_participation(config)
    config['cohort_size'] = 9
    with self.assertRaisesRegex(
      errors.InputError, 'cohort_size must be at most 8.* got 9'
    ):
      self.create_participation(config)

  def test_stages(self):
    flanp = self.create_participation(
      _config('flanp', n0=2, rounds_per_stage=3)
    )
    self.assertEqual(flanp(3), tuple(self.ranked[:2]))
    self.assertEqual(flanp(4), tuple(self.ranked[:4]))
    # Then cohorts of 4 are drawn, at last from everybody.
    self.assertLen(flanp(7), 4)
    srpfl = self.create_participation(
      _config('srpfl', n0=1, rounds_per_stage=3)
    )
    self.assertEqual([len(srpfl(r)) for r in (1, 3, 4, 7, 20)], [1, 1, 2, 4, 4])

  def test_flanp_is_srpfl_where_all_are_sampled_and_nothing_changes(self):
    flanp, srpfl = (
      self.create_participation(
        _config(name, rounds_per_stage=2, cohort_size=_NUM_CLIENTS)
      )
      for name in ('flanp', 'srpfl')
    )
    for round_number in range(1, 8):
      self.assertEqual(flanp(round_number), srpfl(round_number))

  def test_rounds_of_exponential_speeds(self):
    srpfl = self.create_participation(
      _config('srpfl', n0=1, rounds_per_stage=0)
    )
    stages = simulation.exponential_stages(1, most=4, contraction=0.9)
    for first, size in zip(stages.first_rounds, stages.sizes):
      self.assertLen(srpfl(first), size)
      self.assertLen(srpfl(max(1, first - 1)), max(1, size // 2))

  @parameterized.parameters(
    *(n for n, found in policies.POLICIES.items() if 'dropout' in found.fields)
  )
  def test_dropouts_do_not_come(self, name):
    rounds = {'rounds': 2} if name == 'visit_once' else {}
    config = {**_config(name, dropout=0.9), **rounds}
    lossy = self.create_participation(config)
    asked = self.create_participation({**config, **_config(name), **rounds})
    if name == 'power_of_choice':
      lossy, asked = lossy.candidates, asked.candidates
    for round_number in (1, 2):
      answers = simulation.drop_out(lambda _: self.ids, 0.9, seed=_SEED)
      answers = set(answers(round_number))
      if name in ('fastest', 'srpfl'):
        # The next fastest come in their place.
        self.assertContainsSubset(lossy(round_number), answers)
      else:
        self.assertEqual(
          set(lossy(round_number)), answers.intersection(asked(round_number))
        )

  @parameterized.parameters(
    ('srpfl', dict(n0=5), 'n0.*most 4 clients take part.*5'),
    ('power_of_choice', dict(candidates=3), 'candidates .*got 3'),
    ('power_of_choice', dict(candidates=9), 'candidates .*got 9'),
    ('asynchronous', {}, "must not be 'asynchronous' for fed_avg"),
    ('deadline', dict(over_selection=1.1), 'got 1.1, which asks 9'),
    ('flanp', dict(n0=9), 'n0 .*most 8 clients .*9'),
    ('srpfl', dict(cohort_size=9), 'cohort_size is 9, but there are only 8'),
    ('uniform', dict(cohort_size=9), 'cohort_size is 9, but there are on'),
    ('fastest', dict(cohort_size=9), 'cohort_size is 9, but there are onl'),
    ('fastest', dict(sampled=9), 'from cohort_size, 4.*9'),
    ('fastest', dict(sampled=3), 'all 8 training .*3'),
    ('uniform', dict(over_selection=1.1), '1.1.*9'),
    ('srpfl', dict(over_selection=1.0), 'over_selection does not exist for'),
    ('srpfl', dict(rounds_per_stage=0, speeds='dynamic'), 'rounds_per_stage'),
    ('flanp', dict(rounds_per_stage=0), 'cohort_size .*8, as many .*4'),
    ('flanp', dict(speeds='classes'), 'exponential, trace'),
  )
  def test_refuses(self, policy, changes, message):
    with self.assertRaisesRegex(errors.InputError, message) as caught:
      self.create_participation(_config(policy, **changes))
    self.assertNotIn('\n', str(caught.exception))

  def test_losses_are_of_the_model_that_clients_train(self):
    keeps = 'fed_avg,exchange=partial,unsent=client_keeps'
    for method in ('fed_rep', 'fed_ma', keeps):
      config = small_configs.make_config(method)
      config['participation'] = participation.BLOCK.defaults('power_of_choice')
      with self.assertRaisesRegex(
        errors.InputError,
        f"must not be 'power_of_choice' for {method.partition(',')[0]}",
      ):
        self.create_participation(config)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of small blocks."""

import contextlib
import dataclasses
import pathlib
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.execution import contexts
from fedfish_tff.execution.replay import compiled_loops
from launch.methods import adapters
from launch.methods import building
from launch.methods import compiled_loops as compiled_loops_block
from launch.methods import config_checks
from launch.methods import local_layers
from launch.results import run_reader
from launch.runs import experiment as experiment_lib
from tests import tolerance
from tests.launch import run_files
from tests.launch import small_configs

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff


def _config(**changes):
  config = small_configs.make_config('fed_avg')
  block = adapters.BLOCK.defaults('lora')
  return {**config, 'adapters': {**block, 'rank': 2, 'trained': '', **changes}}


class AdaptersTest(small_configs.TaskTestCase):
  def test_the_merged_model_is_the_task_s_and_computes_the_same(self):
    plain = self.task.create_model()
    first = self.task.tensor_names[0].rpartition('/')[0]
    config = _config(targets=first)
    adapted = building.prepare(config_checks.read(config), self.task).task
    model = adapted.create_model()
    self.assertEqual(
      adapted.tensor_names, (f'{first}/lora_a', f'{first}/lora_b')
    )
    weights = tff.learning.models.ModelWeights(
      tuple(w + np.float32(0.1) for w in model.initial_weights[0]), ()
    )
    found, merged = adapters.BLOCK.merge(
      config_checks.read(config), self.task, model, weights
    )
    x, _ = self.task.train.load_client(self.task.train.client_ids[0])
    self.assertEqual(
      [w.shape for w in merged.trainable],
      [w.shape for w in plain.initial_weights[0]],
    )
    tolerance.assert_close(
      found.predict_on_batch((merged.trainable, ()), tf.constant(x), False),
      model.predict_on_batch((weights.trainable, ()), tf.constant(x), False),
      relative=tolerance.FLOAT32_SUMS,
    )

  def test_what_is_not_there_is_named(self):
    with self.assertRaisesRegex(
      errors.InputError, "block adapters.*layer.*'query'"
    ):
      building.prepare(config_checks.read(_config()), self.task)


class RunTest(parameterized.TestCase):
  def _train(self, variant, **changes):
    """The summary of a run of two rounds, and its last row."""
    config = small_configs.make_config(variant, rounds=2, **changes)
    workdir = self.create_tempdir().full_path
    with small_configs.built_once():
      summary = small_configs.train(config, workdir)
    return summary, run_reader.read_run(workdir).rounds.iloc[-1]

  def _check(self, axes=''):
    """The sent values are nearly the same, in about half of the bytes."""
    variant = f'fed_avg{axes}'
    _, plain = self._train(variant)
    summary, found = self._train(
      f'{variant},compression=quantized',
      # Two numbers to an int32.
      **{'compression.bits': 14},
    )
    self.assertAlmostEqual(found['train/loss'], plain['train/loss'], places=2)
    payload = found['communication/payload_bytes']
    self.assertEqual(summary['totals']['payload_bytes'], 2 * payload)
    saved = (
      plain['communication/wire_bytes'] - found['communication/wire_bytes']
    )
    # Both are of whole numbers; each tensor also has two ends, of 8 bytes.
    self.assertBetween(saved / payload, 0.75, 1.0)

  def test_counts_bytes(self):
    self._check()

  @parameterized.parameters('adaptive', 'clipped', 'centered')
  @pytest.mark.thorough
  def test_counts_bytes_behind_a_clip(self, preset):
    self._check(f',aggregation={preset}')


class LocalLayersTest(small_configs.TaskTestCase):
  def _parts(self, variant='fed_per', task=None, **changes):
    return building.Ingredients(
      config=small_configs.read_config(variant, **changes),
      task=task or self.task,
    )

  @parameterized.parameters(
    ('', (False, False, True, True)),
    ('hidden_0', (True, True, False, False)),
    ('hidden_0/bias, output', (False, True, True, True)),
  )
  def test_select(self, layers, expected):
    parts = self._parts(**{'algorithm.local_layers': layers})
    self.assertEqual(local_layers.select(parts, 'local_layers'), expected)

  @parameterized.parameters(
    ('head', "^algorithm.local_layers is 'head': No tensor .* output/bias"),
    ('hidden_0,output', '4 tensors .*output/bias'),
  )
  def test_refuses_layers(self, layers, message):
    parts = self._parts(**{'algorithm.local_layers': layers})
    with self.assertRaisesRegex(errors.InputError, message):
      local_layers.select(parts, 'local_layers')

  def test_needs_names(self):
    nameless = dataclasses.replace(self.task, tensor_names=())
    with self.assertRaisesRegex(
      errors.InputError, "'digits' must have tensor_names, .*local_layers"
    ):
      local_layers.select(self._parts(task=nameless), 'local_layers')

  def test_an_exchange_is_of_what_is_shared(self):
    parts = self._parts('fed_per,exchange=partial')
    arguments = local_layers.arguments(parts, (False, False, True, True))
    self.assertEqual(
      arguments['tensor_names'], ('hidden_0/kernel', 'hidden_0/bias')
    )
    built = building.build_method(parts.config, parts.task)
    measured = built.process.next.type_signature.result['metrics'].member
    self.assertEqual(
      tff.structure.name_list(measured['aggregator']['sent']),
      ['hidden_0/kernel', 'hidden_0/bias'],
    )


class BuildTest(absltest.TestCase):
  def test_clients_or_servers_that_keep_something_have_no_average(self):
    # Refused as configs, so that no sweep begins such runs.
    for variant, reason in (
      ('scaffold', 'clients keep something'),
      ('fed_buff', 'fed_buff: its server'),
      ('fed_async', 'fed_async: its server'),
      ('fed_ncm', 'its clients train no model'),
      ('fed_avg,exchange=partial,unsent=client_keeps', 'weights of their own'),
    ):
      with self.assertRaisesRegex(errors.InputError, reason):
        small_configs.read_config(f'{variant},weight_average=ema')


class WeightAverageRunTest(small_configs.TestCase):
  def _train(self, variant):
    config = small_configs.make_config(
      variant,
      **{
        'rounds': 3,
        'evaluate_every': 1,
        'checkpoint_every': 1,
        'evaluation.barrier': True,
        'evaluation.personalization_epochs': 1,
      },
    )
    if config.get('weight_average'):
      config['weight_average']['decay'] = 0.5
    folder = pathlib.Path(self.create_tempdir().full_path) / 'w'
    small_configs.train(config, folder)
    return run_files.read_rows(folder)

  @pytest.mark.thorough
  def test_what_it_changes(self):
    """Only what is scored: training and the barrier are of the raw weights."""
    averaged = self._train('fed_avg,weight_average=ema')
    plain = self._train('fed_avg')
    self.assertEqual(averaged[:2], plain[:2])
    for one, other in zip(averaged[2:], plain[2:], strict=True):
      self.assertEqual(one.keys(), other.keys())
      changed = {name for name in one if one[name] != other[name]}
      self.assertTrue(
        changed and all(name.startswith('eval/') for name in changed), changed
      )
      self.assertIn('eval/global/loss', changed)
      self.assertIn('csb/loss', one)


class LoopsRunTest(small_configs.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _train(self, name, variant='fed_avg,loops=xla', killed_in=None):
    config = small_configs.make_config(
      variant,
      rounds=4,
      checkpoint_every=2,
      **{'evaluation.personalization_epochs': 1},
    )
    count = simulation.CommunicationCosts.after_round

    def die(hook, round_):
      if round_.number == killed_in:
        raise KeyError(killed_in)
      count(hook, round_)

    with mock.patch.object(simulation.CommunicationCosts, 'after_round', die):
      small_configs.train(config, self.folder / name)
    return run_files.read_rows(self.folder / name)

  def test_methods_whose_clients_take_no_steps_are_refused(self):
    for method, reason in (('fed_sgd', 'no steps'), ('fed3r', 'train no')):
      with self.assertRaisesRegex(errors.InputError, reason):
        small_configs.read_config(f'{method},loops=xla')

  def test_contexts_that_compile_no_loops_are_refused(self):
    (hook,) = compiled_loops_block.BLOCK.hooks(None)
    for name, is_refused in (('cohort', False), ('local_worker', True)):
      with (
        contexts.create_context(name) as context,
        tff.framework.get_context_stack().install(context),
        self.assertRaisesRegex(errors.InputError, '--context must be cohort')
        if is_refused
        else contextlib.nullcontext(),
      ):
        self.assertEmpty(experiment_lib.round_parameters([hook], 1))

  @pytest.mark.slow
  def test_a_run_resumes_with_the_same_compiler_only(self):
    call = compiled_loops.call
    with mock.patch.object(compiled_loops, 'call', side_effect=call) as calls:
      rows = self._train('whole')
      with self.assertRaises(KeyError):
        self._train('killed', killed_in=3)
      with self.assertRaisesRegex(errors.InputError, 'loops'):
        self._train('killed', 'fed_avg')
      self.assertEqual(self._train('killed'), rows)
    # Each process compiles one loop; evaluations, which train too, compile none.
    self.assertBetween(calls.call_count, 1, 3)
    plain = self._train('plain', 'fed_avg')
    for row, other in zip(rows, plain, strict=True):
      self.assertEqual(row.keys(), other.keys())
      for name in row:
        np.testing.assert_allclose(
          row[name], other[name], 1e-5, 1e-6, err_msg=name
        )

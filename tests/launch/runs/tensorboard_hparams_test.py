# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The HPARAMS tab's records, as TensorBoard itself reads them."""

from launch import json_config
from tests.launch import small_configs

from tensorboard.backend.event_processing import event_accumulator
from tensorboard.plugins.hparams import metadata
import tensorflow as tf


def _read(folder):
  """The hyper-parameters, and of each scalar its steps and values."""
  found = event_accumulator.EventAccumulator(
    str(folder), size_guidance={event_accumulator.TENSORS: 0}
  ).Reload()
  content = found.summary_metadata[
    metadata.SESSION_START_INFO_TAG
  ].plugin_data.content
  info = metadata.parse_session_start_info_plugin_data(content)
  values = {
    name: getattr(value, value.WhichOneof('kind'))
    for name, value in info.hparams.items()
  }
  scalars = {
    tag: [
      (e.step, float(tf.make_ndarray(e.tensor_proto)))
      for e in found.Tensors(tag)
    ]
    for tag in found.Tags()['tensors']
    if tag.startswith('test/')
  }
  return info.group_name, values, scalars


class TensorBoardHparamsTest(small_configs.TestCase):
  def test_a_run(self):
    workdir = self.workdir
    config = small_configs.make_config('fed_avg', rounds=2, evaluate_every=2)
    summary = small_configs.train(config, workdir)
    group, values, scalars = _read(workdir / 'tensorboard')
    self.assertRegex(group, '^w-[0-9a-f]{8}$')
    fields = json_config.flatten(config)
    self.assertEqual(values.keys(), fields.keys())
    self.assertEqual(
      values['client_learning_rate'], config['client_learning_rate']
    )
    self.assertEqual(values['algorithm.name'], 'fed_avg')
    self.assertIs(values['evaluation.barrier'], config['evaluation']['barrier'])
    self.assertEqual(
      values['task.hidden_units'], str(config['task']['hidden_units'])
    )
    self.assertEqual(scalars.keys(), {f'test/{n}' for n in summary['test']})
    for name, value in summary['test'].items():
      ((step, found),) = scalars[f'test/{name}']
      self.assertEqual(step, 2)
      self.assertAlmostEqual(found, value, places=5)
    # The same command again doubles nothing.
    small_configs.train(config, workdir)
    self.assertEqual(_read(workdir / 'tensorboard'), (group, values, scalars))
    self.assertLen(list((workdir / 'tensorboard').glob('*.hparams')), 1)

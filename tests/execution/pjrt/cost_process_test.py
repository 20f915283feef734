# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for cost_process, through `round_costs.CostProcess`."""

from fedfish_tff import errors
from fedfish_tff import private_apis
from fedfish_tff.execution.pjrt import device_client
from fedfish_tff.execution.pjrt import round_costs
from tests.execution.pjrt import accelerator

from absl.testing import parameterized
import tensorflow as tf

_SIZE = 32
_PRODUCT = 2 * _SIZE**3


def _nested_loops(x, outer, inner):
  """Two products in a loop, and one in a loop within it."""

  def body(i, x):
    x = (x @ x) @ x
    _, x = tf.while_loop(
      lambda j, _: j < inner,
      lambda j, x: (j + 1, tf.sin(x @ x)),
      (tf.constant(0), tf.sin(x)),
      name='inner',
    )
    return i + 1, x

  _, x = tf.while_loop(
    lambda i, _: i < outer, body, (tf.constant(0), x), name='outer'
  )
  return x


def _hlo(function, *specs):
  return private_apis.compile_to_hlo(
    tf.function(function, jit_compile=True).get_concrete_function(*specs)
  ).SerializeToString()


class CostProcessTest(accelerator.TestCase, parameterized.TestCase):
  def _start(self, platform, topology):
    if platform == 'tpu' and not accelerator.is_installed(with_tpus=True):
      self.skipTest('make accelerator PLATFORM=tpu was not run')
    process = round_costs.CostProcess(platform, topology)
    self.addCleanup(process.stop)
    return process

  @parameterized.parameters(
    ('cpu', '', 1), ('tpu', 'v5e:2x2', 4), ('tpu', 'v4:2x2x1', 4)
  )
  def test_loops_by_name(self, platform, topology, num_chips):
    process = self._start(platform, topology)
    self.assertEqual(process.num_chips, num_chips)
    answer = process.compile(
      _hlo(
        _nested_loops,
        tf.TensorSpec([_SIZE, _SIZE]),
        tf.TensorSpec([], tf.int32),
        tf.TensorSpec([], tf.int32),
      )
    )
    self.assertGreaterEqual(answer['arguments'], 4 * _SIZE**2)
    self.assertGreaterEqual(answer['results'], 4 * _SIZE**2)
    program, outer, inner = answer['loops']
    self.assertEqual(
      [(loop['parent'], loop['trips']) for loop in (program, outer, inner)],
      [(None, 1), (0, None), (1, None)],
    )
    self.assertStartsWith(outer['name'], 'outer')
    self.assertIn('inner', inner['name'])
    # Sines cost something, too: some operations each, of 1,024 numbers.
    self.assertBetween(outer['flops'], 2 * _PRODUCT, 2.3 * _PRODUCT)
    self.assertBetween(inner['flops'], _PRODUCT, 1.3 * _PRODUCT)
    self.assertGreaterEqual(inner['bytes'], 2 * 4 * _SIZE**2)
    self.assertEqual(inner['cycles'] > 0, platform == 'tpu')

  def test_a_constant_number_of_trips(self):
    answer = self._start('cpu', '').compile(
      _hlo(
        lambda x: tf.while_loop(
          lambda i, _: i < 7,
          lambda i, x: (i + 1, tf.sin(x @ x)),
          (tf.constant(0), x),
        ),
        tf.TensorSpec([_SIZE, _SIZE]),
      )
    )
    self.assertEqual([loop['trips'] for loop in answer['loops']], [1, 7])

  def test_what_is_no_program(self):
    process = self._start('cpu', '')
    with self.assertRaises(device_client.ProgramError):
      process.compile(b'nothing')

  def test_a_topology_that_is_none(self):
    if not accelerator.is_installed(with_tpus=True):
      self.skipTest('make accelerator PLATFORM=tpu was not run')
    with self.assertRaisesRegex(errors.InputError, "'v5e:9x9x9'"):
      round_costs.CostProcess('tpu', 'v5e:9x9x9')

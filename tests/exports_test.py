# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Every public symbol of the library and of networks is exported, with types."""

import ast
from collections.abc import Iterator
import importlib
import subprocess
import sys

from fedfish_tff import lazy
import fedfish_tff.evaluation
import fedfish_tff.simulation
from tests import repository

from absl.testing import absltest

pages = repository.load_script('.ci/site/pages.py')

# Rooms of which everything is a part of contexts, exported one room above.
_INTERNAL_ROOMS = tuple(
  f'fedfish_tff.execution.{room}.'
  for room in ('packing', 'pjrt', 'ray', 'reading', 'replay', 'running')
)

# What grouped_dataset and its sources are made of.
_GROUPING_PARTS = (
  'beam_engine',
  'client_keys',
  'client_splits',
  'input_files',
  'local_engine',
  'record_counts',
  'web_keys',
  'work',
)

# Modules that are imported by their own names only, each with the reason.
# What of them is of use by itself may be exported all the same.
INTERNAL_MODULES = {
  'fedfish_tff.aggregators.sum_factories': 'a part of aggregators and methods',
  'fedfish_tff.aggregators.tensor_names': 'a part of two aggregators',
  'fedfish_tff.algorithms.averaged_statistics': 'a part of compose',
  'fedfish_tff.algorithms.closed_form': 'a part of closed-form methods',
  'fedfish_tff.algorithms.padded_networks': 'a part of FedMA',
  'fedfish_tff.choices': 'stands beside the packages, not in one',
  'fedfish_tff.client_work.partial_update': 'a part of partial exchange',
  'fedfish_tff.datasets.client_files': 'a part of grouped folders',
  'fedfish_tff.datasets.dirichlet_draws': 'a part of two partitions',
  'fedfish_tff.datasets.folder_writer': 'a part of grouped folders',
  'fedfish_tff.datasets.grouped_examples': 'a part of grouped folders',
  'fedfish_tff.datasets.grouped_folder': 'a part of grouped folders',
  'fedfish_tff.datasets.partition_checks': 'a part of every partition',
  'fedfish_tff.datasets.record_files': 'a part of grouped folders',
  'fedfish_tff.errors': 'stands beside the packages, not in one',
  'fedfish_tff.finite_checks': 'stands beside the packages, not in one',
  'fedfish_tff.lazy': 'stands beside the packages, not in one',
  'fedfish_tff.evaluation.metric_names': 'what columns say, without TensorFlow',
  'fedfish_tff.execution.interruption': 'a part of execution_context',
  'fedfish_tff.execution.threads': 'a part of execution_context',
  'fedfish_tff.execution.worker.local_worker': 'exported one room above',
  'fedfish_tff.execution.worker.local_worker_executors': 'a part of local_worker',
  'fedfish_tff.execution.worker.worker_process': 'a part of local_worker',
  'fedfish_tff.private_apis': 'stands beside the packages, not in one',
  'fedfish_tff.fields': 'stands beside the packages, not in one',
  'fedfish_tff.graph_functions': 'stands beside the packages, not in one',
  'fedfish_tff.loop_compilation': 'stands beside the packages, not in one',
  'fedfish_tff.parameters': 'stands beside the packages, not in one',
  'fedfish_tff.stateless_kernels': 'stands beside the packages, not in one',
  'fedfish_tff.plug_ins': 'stands beside the packages, not in one',
  'fedfish_tff.locks': 'stands beside the packages, not in one',
  'fedfish_tff.new_files': 'stands beside the packages, not in one',
  'fedfish_tff.regular_files': 'stands beside the packages, not in one',
  'fedfish_tff.trust': 'stands beside the packages, not in one',
  'fedfish_tff.models.autograph': 'a part of the models and of client work',
  'fedfish_tff.models.keras_conversion': 'a part of Keras models',
  'fedfish_tff.models.keras_metrics': 'a part of Keras models',
  'fedfish_tff.models.keras_weights': 'a part of weight_files',
  'fedfish_tff.models.layers': 'a part of models and networks',
  'fedfish_tff.models.stored_tensors': 'what files of weights share',
  'fedfish_tff.models.supervised': 'a part of models and networks',
  'fedfish_tff.models.traced_graph': 'a part of frozen_graph',
  'fedfish_tff.simulation.federated_round': 'a part of training_loop',
  'fedfish_tff.simulation.files': 'safe writing for the modules beside it',
  'fedfish_tff.simulation.checked_json': 'a part of checkpoints and workdirs',
  'fedfish_tff.simulation.checkpoint_manifest': 'the reading part of checkpoints',
  'fedfish_tff.simulation.metrics_rows': 'the reading part of metrics_csv',
  'fedfish_tff.simulation.round_problems': 'a part of training_loop',
  'fedfish_tff.simulation.costs': 'a part of training_loop',
}
INTERNAL_MODULES |= {
  f'fedfish_tff.datasets.grouping.{name}': 'a part of grouping'
  for name in _GROUPING_PARTS
}


def _public_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
  """Functions of a module and methods of its classes; none nested in them."""
  for node in tree.body:
    body = node.body if isinstance(node, ast.ClassDef) else [node]
    for child in body:
      if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if not child.name.startswith('_') or child.name == '__init__':
          yield child


def _unannotated(function: ast.FunctionDef) -> list[str]:
  """Names of the arguments without a type, self and cls aside."""
  spec = function.args
  arguments = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
  arguments += filter(None, (spec.vararg, spec.kwarg))
  return [
    argument.arg
    for argument in arguments
    if argument.annotation is None and argument.arg not in ('self', 'cls')
  ]


class ExportsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.library = {
      name: module
      for name, module in repository.read_modules().items()
      if name.startswith(('fedfish_tff', 'tasks.networks'))
    }
    self.exports = pages.exports()

  def test_public_symbols_are_exported(self):
    hidden = []
    for name, module in self.library.items():
      package = self.library.get(name.rpartition('.')[0])
      if module.is_package or package is None or name in INTERNAL_MODULES:
        continue
      if name.startswith(_INTERNAL_ROOMS):
        continue
      exports = self.exports.get(package.name, {})
      hidden += [
        f'{package.path}: {symbol} of {name}'
        for symbol in sorted(pages.public_symbols(module.tree))
        if exports.get(symbol) != name
      ]
    self.assertEmpty(hidden, 'Export these, or give them a leading underscore.')

  def test_exported_symbols_exist_and_are_public(self):
    wrong = [
      f'{package}: {module} has no public {symbol}'
      for package, symbols in self.exports.items()
      for symbol, module in symbols.items()
      if symbol not in pages.public_symbols(self.library[module].tree)
    ]
    self.assertEmpty(wrong)

  def test_packages_find_what_type_checkers_see(self):
    for package, symbols in self.exports.items():
      importlib.import_module(package)
      self.assertEqual(
        lazy.find_symbols(package),
        {
          symbol: module
          for symbol, module in symbols.items()
          # Imported with the package.
          if module != 'fedfish_tff.choices'
        },
      )

  def test_arguments_of_public_functions_have_types(self):
    untyped = [
      f'{module.path}:{function.lineno}: {function.name}({argument})'
      for module in repository.read_modules().values()
      if module.path.parts[0] != 'tests'
      for function in _public_functions(module.tree)
      for argument in _unannotated(function)
    ]
    self.assertEmpty(untyped)

  def test_internal_modules_exist(self):
    self.assertContainsSubset(INTERNAL_MODULES, self.library)


# Of every package a symbol, which the others do not need.
_PACKAGES = (
  'aggregators',
  'algorithms',
  'client_work',
  'datasets',
  'evaluation',
  'execution',
  'models',
  'simulation',
)


class LazyTest(absltest.TestCase):
  def test_packages_are_imported_without_tensorflow(self):
    names = ', '.join(f'fedfish_tff.{name}' for name in _PACKAGES)
    program = (
      f'import sys, {names}\n'
      'from fedfish_tff import choices\n'
      'from fedfish_tff.simulation import read_rows\n'
      'assert choices.Direction("largest") is choices.Direction.LARGEST\n'
      'print({"tensorflow", "tensorflow_federated"} & set(sys.modules))'
    )
    found = subprocess.run(
      [sys.executable, '-c', program],
      capture_output=True,
      text=True,
      check=True,
      timeout=300,
    )
    self.assertEqual(found.stdout, 'set()\n')

  def test_symbols_are_those_of_their_modules(self):
    from fedfish_tff.evaluation import paired_comparison

    self.assertIs(
      fedfish_tff.evaluation.compare_paired, paired_comparison.compare_paired
    )
    self.assertContainsSubset(
      ['compare_paired', 'worst_tenth', '__name__'],
      dir(fedfish_tff.evaluation),
    )

  def test_a_symbol_that_is_not_there(self):
    with self.assertRaises(AttributeError):
      _ = fedfish_tff.simulation.read_row
    self.assertFalse(hasattr(fedfish_tff.simulation, 'TYPE_CHECKED'))

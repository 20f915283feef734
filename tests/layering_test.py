# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Imports point one way: research, launch, tasks, library, and inside them."""

import ast
import graphlib
import re

from tests import repository

from absl.testing import absltest

# What each part may import beside itself. A part is a folder, or a single
# module that others may use without the rest of its folder.
_LIBRARY = {
  'fedfish_tff.choices',
  'fedfish_tff.errors',
  'fedfish_tff.fields',
  'fedfish_tff.parameters',
  'fedfish_tff.datasets',
  'fedfish_tff.datasets.grouping',
  'fedfish_tff.models',
  'fedfish_tff.client_work',
  'fedfish_tff.aggregators',
  'fedfish_tff.algorithms',
  'fedfish_tff.algorithms.client_state_process',
  'fedfish_tff.algorithms.process',
  'fedfish_tff.evaluation',
  'fedfish_tff.simulation',
  'fedfish_tff.execution',
  'fedfish_tff.import_setup',
  'fedfish_tff.plug_ins',
  'fedfish_tff.programs',
  'fedfish_tff.trust',
}
# From methods to sweeps: each room of launch may import those before it.
_ROOMS = (
  'launch.methods',
  'launch.configs',
  'launch.results',
  'launch.plots',
  'launch.runs',
  'launch.sweeps',
)
# They read what runs have written, whatever methods and configs made it.
_READERS = ('launch.results', 'launch.plots')
# The flags that binaries share.
_FLAGS = ('launch.context_flag', 'launch.path_flags', 'launch.trust_flags')
_EXECUTION_ROOMS = tuple(
  f'fedfish_tff.execution.{room}'
  for room in (
    'interruption',
    'runner',
    'packing',
    'reading',
    'replay',
    'running',
  )
)
# What any module may import.
_FOR_ALL = (
  'fedfish_tff',
  'fedfish_tff.lazy',
  'fedfish_tff.locks',
  'fedfish_tff.new_files',
  'fedfish_tff.regular_files',
)
ALLOWED = {
  'fedfish_tff': {'fedfish_tff.import_setup'},
  'fedfish_tff.choices': set(),
  'fedfish_tff.errors': set(),
  'fedfish_tff.finite_checks': set(),
  'fedfish_tff.fields': {'fedfish_tff.errors'},
  # Finds what stands above the library, by the folder that a wheel has it in.
  'fedfish_tff.programs': set(),
  # What client work makes and execution replaces, without knowing each other.
  'fedfish_tff.parameters': {
    'fedfish_tff.errors',
    'fedfish_tff.graph_functions',
    'fedfish_tff.private_apis',
  },
  # What client work marks and execution compiles.
  'fedfish_tff.loop_compilation': {'fedfish_tff.private_apis'},
  # What TensorFlow and TFF do not promise to keep.
  'fedfish_tff.private_apis': set(),
  # What execution and extractors of features may not run side by side.
  'fedfish_tff.graph_functions': {'fedfish_tff.private_apis'},
  'fedfish_tff.stateless_kernels': {
    'fedfish_tff.graph_functions',
    'fedfish_tff.private_apis',
  },
  # Finds what stands above the library, by its name.
  'fedfish_tff.plug_ins': {'fedfish_tff.errors', 'fedfish_tff.trust'},
  # What may be run that is somebody else's.
  'fedfish_tff.trust': {'fedfish_tff.errors'},
  'fedfish_tff.import_setup': set(),
  'fedfish_tff.lazy': set(),
  'fedfish_tff.locks': {'fedfish_tff.errors'},
  'fedfish_tff.new_files': set(),
  'fedfish_tff.regular_files': {'fedfish_tff.errors'},
  'fedfish_tff.datasets': {'fedfish_tff.errors'},
  # Needs Beam and more, which only those install who group: nothing else of
  # the library may import it.
  'fedfish_tff.datasets.grouping': {
    'fedfish_tff.errors',
    'fedfish_tff.datasets',
  },
  'fedfish_tff.models': {
    'fedfish_tff.choices',
    'fedfish_tff.errors',
    'fedfish_tff.graph_functions',
    'fedfish_tff.private_apis',
    'fedfish_tff.stateless_kernels',
    'fedfish_tff.trust',
    'fedfish_tff.datasets',
  },
  'fedfish_tff.client_work': {
    'fedfish_tff.choices',
    'fedfish_tff.errors',
    'fedfish_tff.finite_checks',
    'fedfish_tff.loop_compilation',
    'fedfish_tff.models',
    'fedfish_tff.parameters',
  },
  'fedfish_tff.aggregators': {
    'fedfish_tff.choices',
    'fedfish_tff.errors',
    'fedfish_tff.finite_checks',
  },
  'fedfish_tff.algorithms': {
    'fedfish_tff.choices',
    'fedfish_tff.errors',
    'fedfish_tff.finite_checks',
    'fedfish_tff.models',
    'fedfish_tff.client_work',
    'fedfish_tff.aggregators',
    'fedfish_tff.algorithms.client_state_process',
    'fedfish_tff.algorithms.process',
  },
  # What a process is; evaluation and simulation know this and no method.
  'fedfish_tff.algorithms.client_state_process': set(),
  'fedfish_tff.algorithms.process': {
    'fedfish_tff.errors',
    'fedfish_tff.models',
  },
  'fedfish_tff.evaluation': {
    'fedfish_tff.errors',
    'fedfish_tff.finite_checks',
    'fedfish_tff.datasets',
    'fedfish_tff.models',
    'fedfish_tff.algorithms.client_state_process',
    'fedfish_tff.algorithms.process',
  },
  'fedfish_tff.simulation': {
    'fedfish_tff.choices',
    'fedfish_tff.errors',
    'fedfish_tff.parameters',
    'fedfish_tff.private_apis',
    'fedfish_tff.datasets',
    'fedfish_tff.models',
    'fedfish_tff.evaluation',
    'fedfish_tff.algorithms.client_state_process',
    'fedfish_tff.algorithms.process',
  },
  'fedfish_tff.execution': {
    'fedfish_tff.errors',
    'fedfish_tff.execution.worker',
    # Actors on other machines read clients themselves.
    'fedfish_tff.datasets',
    'fedfish_tff.parameters',
    'fedfish_tff.private_apis',
    *_EXECUTION_ROOMS,
  },
  'fedfish_tff.execution.worker': {
    'fedfish_tff.errors',
    'fedfish_tff.datasets',
    'fedfish_tff.execution.runner',
  },
  **{
    room: {
      'fedfish_tff.errors',
      'fedfish_tff.datasets',
      'fedfish_tff.graph_functions',
      'fedfish_tff.loop_compilation',
      'fedfish_tff.parameters',
      'fedfish_tff.private_apis',
      'fedfish_tff.stateless_kernels',
      *_EXECUTION_ROOMS[:position],
    }
    for position, room in enumerate(_EXECUTION_ROOMS)
  },
  'tasks': {
    'fedfish_tff.errors',
    'fedfish_tff.fields',
    'fedfish_tff.datasets',
    'fedfish_tff.models',
    'fedfish_tff.plug_ins',
    'fedfish_tff.trust',
    'tasks.networks',
  },
  'tasks.networks': {
    'fedfish_tff.errors',
    'fedfish_tff.datasets',
    'fedfish_tff.models',
  },
  'launch.installed': set(),
  'launch.plain_text': set(),
  'launch.process_settings': set(),
  'launch.json_config': {'fedfish_tff.errors', 'launch.installed'},
  'launch.cli': {
    'fedfish_tff.errors',
    'fedfish_tff.simulation',
    'launch.installed',
    'launch.plain_text',
    'launch.process_settings',
  },
  'launch.context_flag': {'fedfish_tff.execution'},
  'launch.path_flags': set(),
  'launch.trust_flags': {'fedfish_tff.trust'},
  'launch.data': {'launch.results', 'launch.plots', *_LIBRARY},
  **{
    room: {
      'launch.cli',
      'launch.installed',
      'launch.json_config',
      'launch.plain_text',
      *(
        other
        for other in _ROOMS[:position]
        if room not in _READERS or other in _READERS
      ),
      'tasks',
      *_LIBRARY,
    }
    for position, room in enumerate(_ROOMS)
  },
  # The binaries.
  'launch': {
    'launch.cli',
    'launch.installed',
    'launch.json_config',
    'launch.data',
    *_FLAGS,
    *_ROOMS,
    'tasks',
    *_LIBRARY,
  },
  'research': {
    'launch.cli',
    'launch.data',
    *_FLAGS,
    *_ROOMS,
    'tasks',
    'tasks.networks',
    *_LIBRARY,
  },
  'examples': {*_ROOMS, 'tasks', *_LIBRARY},
  'benchmarks': {'launch.cli', 'tasks.networks', *_LIBRARY},
  'tests': {
    'examples',
    'fedfish_tff.finite_checks',
    'fedfish_tff.graph_functions',
    'fedfish_tff.loop_compilation',
    'fedfish_tff.private_apis',
    'fedfish_tff.stateless_kernels',
    'launch',
    'launch.cli',
    'launch.installed',
    'launch.json_config',
    'launch.plain_text',
    'launch.process_settings',
    'launch.data',
    *_FLAGS,
    'benchmarks',
    'research',
    'tasks',
    'tasks.networks',
    'fedfish_tff.execution.worker',
    *_EXECUTION_ROOMS,
    *_ROOMS,
    *_LIBRARY,
  },
}


def _part(name: str) -> str:
  """The part a module belongs to: the longest prefix that has a rule."""
  parts = name.split('.')
  # The library's top package is one file, and launch's the binaries: neither
  # is the home of folders without a rule.
  files = {'fedfish_tff': 1, 'launch': 2}.get(parts[0], len(parts))
  shortest = 1 if len(parts) <= files else 2
  for length in range(len(parts), shortest - 1, -1):
    prefix = '.'.join(parts[:length])
    if prefix in ALLOWED:
      return prefix
  raise AssertionError(f'{name}: no rule in ALLOWED says what it may import.')


# Of named tuples, and what Beam asks its users for.
_PUBLIC_NAMES = {'_add_argparse_args', '_asdict', '_fields', '_replace'}


def _find_private_apis(tree: ast.Module) -> list[str]:
  """Returns what a module takes of others that is private there."""
  imports = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
  attributes = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
  own = {n.attr for n in attributes if ast.unparse(n.value) in ('self', 'cls')}
  private = re.compile('_[a-z]|__internal__')
  return [
    *filter(re.compile(r'tensorflow(_federated)?\.python\b').match, imports),
    *(
      ast.unparse(n)
      for n in attributes
      if private.match(n.attr) and n.attr not in own | _PUBLIC_NAMES
    ),
  ]


class LayeringTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.modules = repository.read_modules()

  def test_imports_follow_the_arrows(self):
    wrong = []
    for name, module in self.modules.items():
      part = _part(name)
      for imported in repository.imported_modules(module):
        other = _part(imported)
        if other not in ALLOWED[part] | {part, *_FOR_ALL}:
          wrong.append(f'{module.path} imports {imported}')
    self.assertEmpty(wrong)

  def test_library_imports_no_names_of_what_stands_above_it(self):
    # As text, so that imports built from strings are seen as well.
    pattern = re.compile(
      r"""(?:^\s*(?:from|import)\s+|import_module\(\s*f?['"])"""
      r'(?:tasks|launch|tests)\b',
      re.MULTILINE,
    )
    wrong = [
      str(module.path)
      for module in self.modules.values()
      if module.path.parts[0] == 'fedfish_tff'
      and pattern.search((repository.ROOT / module.path).read_text())
    ]
    self.assertEmpty(wrong)

  def test_private_apis_stand_in_one_module(self):
    users = {
      name: found
      for name, module in self.modules.items()
      if name.startswith('fedfish_tff')
      and (found := _find_private_apis(module.tree))
    }
    self.assertEqual(list(users), ['fedfish_tff.private_apis'], users)

  def test_modules_form_no_cycle(self):
    # Imports for annotations alone count, too.
    graphlib.TopologicalSorter(
      {
        name: repository.imported_modules(module) - {name}
        for name, module in self.modules.items()
      }
    ).prepare()

  def test_rules_form_no_cycle(self):
    done = set()

    def visit(part, trail):
      self.assertNotIn(part, trail)
      if part not in done:
        for other in ALLOWED[part]:
          visit(other, (*trail, part))
        done.add(part)

    for part in ALLOWED:
      visit(part, ())

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Everything that must happen before TensorFlow and TFF are imported.

`import fedfish_tff` runs this module. It keeps the code that AutoGraph generates
out of a folder that all users share. TFF 0.87 was published for TensorFlow 2.14
and Python 3.11; the rest lets it run, unchanged, on newer ones, and changes
nothing on those. Nothing else of the process changes.
"""

from collections.abc import Callable
from collections.abc import Sequence
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import linecache
import os
import pkgutil
import random
import sys
import types

# TensorFlow's estimators, which tensorflow_privacy needs, ended with 2.15.
_IS_AFTER_2_15 = importlib.util.find_spec('tensorflow_estimator') is None
if _IS_AFTER_2_15:
  # Then tf.keras is Keras 3, which TFF does not know, unless this is set: with
  # it, tf.keras is tf-keras, Keras 2.
  os.environ['TF_USE_LEGACY_KERAS'] = '1'


def _use_legacy_keras(tensorflow: types.ModuleType) -> None:
  """Makes tf.keras Keras 2's where TensorFlow has been imported already.

  Raises:
    ImportError: If tf.keras has been used, and is Keras 3's.
  """
  if getattr(tensorflow, '_tf_uses_legacy_keras', True):
    return
  # A module that is imported at its first use, which this would be.
  keras = vars(vars(tensorflow)['keras'])
  if keras.get('_tfll_initialized', True) or 'tensorflow.keras' in sys.modules:
    raise ImportError(
      'fedfish_tff must be imported before tf.keras is used: TensorFlow '
      'Federated needs Keras 2, and tf.keras is Keras 3 already. Restart '
      'Python and import fedfish_tff first, or set TF_USE_LEGACY_KERAS=1.'
    )
  # `from tensorflow.keras import ...` looks here.
  legacy = importlib.util.find_spec('tf_keras').submodule_search_locations[0]
  tensorflow.__path__.insert(0, os.path.join(legacy, 'api', '_v2'))


if 'tensorflow' in sys.modules:
  _use_legacy_keras(sys.modules['tensorflow'])

# TFF imports it in any case. Imported before TensorFlow, it loads its parts at
# their first use, and TFF uses only one, for discrete noise.
import tensorflow_probability  # noqa: E402, F401

_numbers = itertools.count()


def _load_generated_source(
  source: str, delete_on_exit: bool
) -> tuple[types.ModuleType, str]:
  """Loads a module that AutoGraph has generated from memory.

  TensorFlow's own function writes the module to the temporary folder and
  imports it from there. On most machines all users share that folder, and
  Python would run compiled code that another user has put into its __pycache__.

  Args:
    source: The code of the module.
    delete_on_exit: Whether to remove the file at the end; unused, since there
      is no file.

  Returns:
    The module, and its path in tracebacks and `inspect`.
  """
  name = f'__autograph_generated_file{next(_numbers)}'
  module = types.ModuleType(name)
  # A path at which no file can be, which would be read as the source.
  module.__file__ = f'{os.devnull}/{name}.py'
  module.__loader__ = types.SimpleNamespace(get_source=lambda _: source)
  linecache.lazycache(module.__file__, vars(module))
  exec(compile(source, module.__file__, 'exec'), vars(module))
  sys.modules[name] = module
  return module, module.__file__


def _keep_code_in_memory(
  module: types.ModuleType, execute: Callable[[types.ModuleType], None]
) -> None:
  """Executes AutoGraph's loader and replaces its function."""
  execute(module)
  module.load_source = _load_generated_source


_DP_QUERIES = 'tensorflow_privacy.privacy.dp_query'


def _load_dp_queries(
  module: types.ModuleType, execute: Callable[[types.ModuleType], None]
) -> None:
  """Executes tensorflow_privacy with its DP queries alone.

  The rest of its exports, of which TFF uses nothing, needs TensorFlow's
  estimators, which ended with 2.15. Its own switch leaves all exports out.
  """
  sys.skip_tf_privacy_import = True
  try:
    execute(module)
  finally:
    del sys.skip_tf_privacy_import
  # One of them reads distutils.version, which setuptools has since Python 3.12,
  # and makes importable where it has been imported.
  importlib.import_module('setuptools')
  importlib.import_module('distutils.version')
  package = importlib.import_module(_DP_QUERIES)
  for _, name, _ in pkgutil.iter_modules(package.__path__):
    if not name.endswith('_query') and name != 'tree_aggregation':
      continue
    queries = importlib.import_module(f'{_DP_QUERIES}.{name}')
    setattr(module, name, queries)
    for key, value in vars(queries).items():
      if isinstance(value, type) and value.__module__ == queries.__name__:
        setattr(module, key, value)


def _draw_integers(
  module: types.ModuleType, execute: Callable[[types.ModuleType], None]
) -> None:
  """Executes a module of TFF that asks random.randint for 1e9 at most.

  Python 3.12 and later take no float there.
  """
  execute(module)
  module.random = types.SimpleNamespace(
    randint=lambda least, most: random.randint(least, int(most))
  )


def _without_keras_3(
  module: types.ModuleType, execute: Callable[[types.ModuleType], None]
) -> None:
  """Executes a module that looks for a part of Keras 2 in Keras 3.

  It does without the part, but the search would import Keras 3, which takes a
  second.
  """
  if 'keras' in sys.modules:
    execute(module)
    return
  sys.modules['keras'] = None  # Importing it fails.
  try:
    execute(module)
  finally:
    del sys.modules['keras']


# Modules that are changed when they are imported, and how: functions of the
# module and of what executes it. Their names are private but one; they are not
# in `private_apis`, since that imports TensorFlow.
_CHANGES = {'tensorflow.python.autograph.pyct.loader': _keep_code_in_memory}
if _IS_AFTER_2_15:
  _CHANGES |= {
    'tensorflow_privacy': _load_dp_queries,
    'tensorflow_model_optimization.python.core.sparsity.keras.prune_registry': (
      _without_keras_3
    ),
  }
if sys.version_info >= (3, 12):
  _CHANGES |= {
    'tensorflow_federated.python.simulation.baselines.emnist.emnist_models': (
      _draw_integers
    ),
    'tensorflow_federated.python.simulation.models.mnist': _draw_integers,
  }


class _Finder(importlib.abc.MetaPathFinder):
  """Finds modules that are imported otherwise than their authors have it."""

  def find_spec(
    self,
    name: str,
    path: Sequence[str] | None,
    target: types.ModuleType | None = None,
  ) -> importlib.machinery.ModuleSpec | None:
    if name not in _CHANGES:
      return None
    spec = importlib.machinery.PathFinder.find_spec(name, path, target)
    if spec:
      spec.loader.exec_module = functools.partial(
        _CHANGES[name], execute=spec.loader.exec_module
      )
    return spec


sys.meta_path.insert(0, _Finder())
for _name in _CHANGES.keys() & sys.modules.keys():
  _CHANGES[_name](sys.modules[_name], execute=lambda module: None)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Names of tensors in the HDF5 files of Keras 2 and 3.

The older form (`model.h5`) has names of tensors, in the model's order. The
newer one (`.weights.h5`, also in a `.keras`) has numbers of tensors in their
layers, and layers by their classes. Keras 3 adds the layers' names.
"""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import re
from typing import NamedTuple

from fedfish_tff.models import stored_tensors

import h5py

# The groups that name the layers of a model by their classes, in its order.
_LAYERS = ('_layer_checkpoint_dependencies', 'layers')
# The groups of the newer form with other values than weights.
_NO_WEIGHTS = {'optimizer', 'seed_generator'}
# The older form's group of weights in a file of a whole model.
_MODEL_WEIGHTS = 'model_weights'
# A name that Keras gives to a layer or to the group of one, and its number.
_NUMBERED = re.compile(r'(.*?)(?:_(\d+))?')

# The names of a model's tensors, in its order, and their shapes.
Shapes = Mapping[str, tuple[int, ...]]
Tensors = dict[str, stored_tensors.StoredTensor]


class KerasWeights(NamedTuple):
  """The tensors of a file.

  Attributes:
    tensors: The tensors, by the model's names where those are certain.
    writer: The Keras that has written the file.
  """

  tensors: Tensors
  writer: str


def find_weights(file: h5py.Group, expected: Shapes) -> KerasWeights:
  """Finds the tensors of a model in a file of Keras' two forms.

  Args:
    file: A file by `stored_tensors.open_hdf5`, or a group of it.
    expected: The shapes of the model's tensors, by name.
  """
  items = stored_tensors.find_items(file)
  if isinstance(items.get(_MODEL_WEIGHTS), h5py.Group):
    file = items[_MODEL_WEIGHTS]
    items = stored_tensors.find_items(file)
  stored = {
    name: stored_tensors.StoredTensor.of_array(item)
    for name, item in items.items()
    if isinstance(item, h5py.Dataset) and item.shape is not None
  }
  if 'layer_names' not in file.attrs:
    return _find_numbered(items, stored, expected)
  named = {
    name.partition(':')[0]: stored[f'{layer}/{name}']
    for layer in map(_to_text, file.attrs['layer_names'])
    for name in map(_to_text, items[layer].attrs['weight_names'])
  }
  version = _to_text(file.attrs.get('keras_version', ''))
  return KerasWeights(match_names(named, expected), f'Keras {version}'.rstrip())


def match_names(tensors: Tensors, expected: Shapes) -> Tensors:
  """Returns tensors in their order in a file, by a model's names for them.

  If not all have one, they get the names of the model's tensors in its order,
  where each has the same shape and the same kind (kernel, bias ...), and no
  layer has the name of another one.

  Args:
    tensors: The tensors by their names in the file, in the model's order.
    expected: The shapes of the model's tensors, by name.
  """
  named = _match_ends(tensors, expected)
  if set(named) == set(expected) or not fits_in_order(named, expected):
    return named
  for name, other in zip(named, expected, strict=True):
    is_same_kind = name.rpartition('/')[2] == other.rpartition('/')[2]
    if not is_same_kind or (
      name in expected and _is_another_layer(name, other)
    ):
      return named
  return dict(zip(expected, named.values(), strict=True))


def fits_in_order(tensors: Tensors, expected: Shapes) -> bool:
  """Returns whether tensors have the shapes of a model's, one by one."""
  found = [tensor.shape for tensor in tensors.values()]
  return found == list(expected.values())


def _find_numbered(
  items: Mapping[str, h5py.Group | h5py.Dataset],
  stored: Tensors,
  expected: Shapes,
) -> KerasWeights:
  """Finds the tensors in a file of the newer form."""
  by_layer, by_class, by_path = {}, {}, {}
  positions = {
    f'{layer}/vars/{number}': name
    for layer, names in _layers_of(expected).items()
    for number, name in enumerate(names)
  }
  writer = 'Keras 2, or an early Keras 3, without names of layers'
  for path, tensor in stored.items():
    parts = path.split('/')
    if _NO_WEIGHTS & {*parts}:
      continue
    groups = ('/'.join([*parts[:i], 'vars']) for i in range(1, len(parts) - 1))
    labels = [
      _to_text(items[group].attrs['name'])
      for group in groups
      if group in items and 'name' in items[group].attrs
    ]
    name = path
    for layers in _LAYERS:
      name = name.removeprefix(f'{layers}/')
    by_path[path] = by_class[name] = tensor
    label = '/'.join([*labels, *parts[-2:]]) if labels else name
    # Layers of a list may have the same name.
    by_layer[f'{label} ({name})' if label in by_layer else label] = tensor
    if labels:
      writer = 'Keras 3'
  by_layer = _match_ends(by_layer, positions)
  # As Keras does, takes layers of other names by the numbers of their classes.
  found = max(
    (by_layer, by_class),
    key=lambda named: len(named.keys() & positions.keys()),
  )
  found = {positions.get(name, name): found[name] for name in found}
  if found.keys() != expected.keys():
    certain = _match_layers(by_path, expected) or found
    places = {id(tensor): name for name, tensor in certain.items()}
    if not any(
      _is_another_layer(positions[name], places[id(tensor)])
      for name, tensor in by_layer.items()
      if name in positions
    ):
      found = certain
  return KerasWeights(found, writer)


def _match_layers(tensors: Tensors, expected: Shapes) -> Tensors | None:
  """Returns tensors by the only names that their shapes and order allow.

  Args:
    tensors: The tensors by their paths in a file of the newer form.
    expected: The shapes of the model's tensors, by name.

  Returns:
    The tensors by the model's names; None if layers of the same shapes have
    other classes or groups, so that their order is unknown.
  """
  found: dict[tuple[tuple[int, ...], ...], list[list[str]]] = {}
  for paths in _layers_of(tensors).values():
    paths = sorted(paths, key=lambda path: _number(path, after='/'))
    shapes = tuple(tensors[path].shape for path in paths)
    found.setdefault(shapes, []).append(paths)
  wanted: dict[tuple[tuple[int, ...], ...], list[Sequence[str]]] = {}
  for names in _layers_of(expected).values():
    wanted.setdefault(tuple(expected[name] for name in names), []).append(names)
  if {s: len(same) for s, same in found.items()} != {
    s: len(same) for s, same in wanted.items()
  }:
    return None
  named = {}
  for shapes, layers in found.items():
    if len(layers) > 1:
      groups = [layer[0].rpartition('/vars/')[0] for layer in layers]
      parents = {
        (group.rpartition('/')[0], _base(group.rpartition('/')[2]))
        for group in groups
      }
      ((parent, _), *others) = parents
      if others or parent.rpartition('/')[2] not in _LAYERS:
        return None
      layers = [
        layer
        for _, layer in sorted(
          zip(groups, layers, strict=True), key=lambda pair: _number(pair[0])
        )
      ]
    for names, paths in zip(wanted[shapes], layers, strict=True):
      named |= {n: tensors[path] for n, path in zip(names, paths, strict=True)}
  return named


def _match_ends(tensors: Tensors, known: Collection[str]) -> Tensors:
  """Returns tensors under a model's names for them where it has such.

  The names of a file may begin with those of the model, and in Keras 3 of the
  models in it, around the layers.

  Args:
    tensors: The tensors by their names in a file.
    known: The names in the model.
  """
  named: dict[str, str] = {name: name for name in tensors if name in known}
  for name in tensors:
    if name not in known:
      parts = name.split('/')
      ends = ('/'.join(parts[i:]) for i in range(1, len(parts)))
      fits = (end for end in ends if end in known and end not in named)
      named[next(fits, name)] = name
  given = {name: new for new, name in named.items()}
  return {given[name]: tensor for name, tensor in tensors.items()}


def _layers_of(names: Collection[str]) -> dict[str, list[str]]:
  """Returns names of tensors by what is before their last part."""
  layers = {}
  for name in names:
    layers.setdefault(name.rpartition('/')[0], []).append(name)
  return layers


def _is_another_layer(name: str, other: str) -> bool:
  """Returns whether tensors are of layers that differ in more than a number."""
  layer, other_layer = name.rpartition('/')[0], other.rpartition('/')[0]
  return _base(layer) != _base(other_layer)


def _base(name: str) -> str:
  return _NUMBERED.fullmatch(name)[1]


def _number(name: str, after: str = '_') -> int:
  number = name.rpartition(after)[2]
  return int(number) if number.isdecimal() else 0


def _to_text(name: str | bytes) -> str:
  return name.decode() if isinstance(name, bytes) else name

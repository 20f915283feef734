# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""RoBERTa from a local folder, without network access or code execution."""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import pathlib
import random
from typing import Any

from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import regular_files
from fedfish_tff.models import stored_tensors
from tasks.text import roberta_tokens

from absl import logging
import safetensors
import tensorflow as tf

_CONFIG = 'config.json'
# Any of these may be absent; the library has defaults.
_SIZES = (
  'hidden_size',
  'intermediate_size',
  'max_position_embeddings',
  'num_attention_heads',
  'num_hidden_layers',
  'type_vocab_size',
  'vocab_size',
)
_SAFETENSORS = 'model.safetensors'
_HDF5 = 'tf_model.h5'
_PICKLES = ('pytorch_model.bin', 'pytorch_model.bin.index.json')
# The first position of a token, after an unused one and that of padding.
_FIRST_POSITION = roberta_tokens.PADDING + 1
# Part of the names of the classifier's weights, beyond the language model's.
_HEAD = 'classifier'


@contextlib.contextmanager
def quiet_transformers() -> Iterator[Any]:
  """Imports the transformers library and silences its logs.

  The import takes seconds, so it happens only when the library is used.

  Yields:
    The library.
  """
  import transformers  # pylint: disable=g-import-not-at-top

  log = transformers.utils.logging
  verbosity = log.get_verbosity()
  log.set_verbosity(log.CRITICAL)
  # Keras draws seeds from this generator, for weights that are replaced anyway.
  state = random.getstate()
  try:
    yield transformers
  finally:
    random.setstate(state)
    log.set_verbosity(verbosity)


def is_head(variable: tf.Variable) -> bool:
  """Returns whether a variable of a model belongs to its classifier."""
  return f'/{_HEAD}/' in variable.name


def read_config(folder: pathlib.Path) -> dict[str, Any]:
  """Reads the config of a checkpoint, which must be one of RoBERTa."""
  if not folder.is_dir():
    raise errors.InputError(
      f'There is no folder {folder}, which must be that of a RoBERTa '
      'checkpoint.'
    )
  path = folder / _CONFIG
  config = regular_files.read_json(path, {'model_type': 'roberta'})
  for name in _SIZES:
    if name in config:
      fields.integer(1)(f'{name} in {path}', config[name])
  if 'initializer_range' in config:
    fields.number(positive=True)(
      f'initializer_range in {path}', config['initializer_range']
    )
  return config


def load_checkpoint(
  folder: pathlib.Path, *, config: Mapping[str, Any], sequence_length: int
) -> tuple[tf.keras.Model, bool]:
  """Loads a classifier, or a language model that a head is added to.

  Args:
    folder: The folder with model.safetensors or tf_model.h5.
    config: The config by `read_config`.
    sequence_length: The number of tokens per text, at most that of the weights.

  Returns:
    A TFRobertaForSequenceClassification, and whether its head is from the
    folder, which must then have a whole one with the same number of classes.
  """
  longest = config.get('max_position_embeddings', 512) - _FIRST_POSITION
  if sequence_length > longest:
    raise errors.InputError(
      f'sequence_length must be at most {longest}, as many tokens as the '
      f'checkpoint {folder} has positions for, got {sequence_length}.'
    )
  file = _find_weights(folder)
  with quiet_transformers() as transformers:
    try:
      model, found = _load(
        transformers,
        folder / file,
        transformers.RobertaConfig.from_dict(dict(config)),
      )
    # Three libraries raise many kinds of errors on damaged files.
    except Exception as error:
      raise errors.InputError(
        f'The weights {folder / file} cannot be read '
        f'({errors.first_line(error)}).'
      ) from error
  lacking = [*found['missing_keys'], *(m[0] for m in found['mismatched_keys'])]
  body = [name for name in lacking if _HEAD not in name]
  if body:
    raise errors.InputError(
      f"The weights {folder / file} must be all of RoBERTa's but those of "
      f'{_HEAD}, got none of {len(body)}, such as {body[0]}.'
    )
  if lacking:
    logging.info(
      'The checkpoint %s has no classifier of %d classes: its weights are '
      'drawn at random.',
      folder,
      model.config.num_labels,
    )
  return model, not lacking


def _load(
  transformers: Any, path: pathlib.Path, config: Any
) -> tuple[tf.keras.Model, Mapping[str, Any]]:
  """Returns a model, and the library's report on its weights."""
  model_class = transformers.TFRobertaForSequenceClassification
  if path.name == _SAFETENSORS:
    with safetensors.safe_open(path, framework='tf') as archive:
      if (archive.metadata() or {}).get('format') != 'tf':
        # For files of PyTorch, the library's own function requires PyTorch or
        # another release of safetensors.
        # pylint: disable-next=g-import-not-at-top
        from transformers import modeling_tf_pytorch_utils

        model = model_class(config)
        model.build_in_name_scope()
        return modeling_tf_pytorch_utils.load_pytorch_state_dict_in_tf2_model(
          model,
          {name: archive.get_tensor(name) for name in archive.keys()},
          tf_inputs=False,
          allow_missing_keys=True,
          output_loading_info=True,
          ignore_mismatched_sizes=True,
        )
  with contextlib.ExitStack() as stack:
    if path.name == _HDF5:
      # The library reads tensors before it compares them.
      stack.enter_context(stored_tensors.open_hdf5(path))
    return model_class.from_pretrained(
      str(path.parent),
      config=config,
      local_files_only=True,
      use_safetensors=path.name == _SAFETENSORS,
      ignore_mismatched_sizes=True,
      output_loading_info=True,
    )


def _find_weights(folder: pathlib.Path) -> str:
  """Returns the name of the file of the weights."""
  for file in (_SAFETENSORS, _HDF5):
    if (folder / file).is_file():
      return file
  for pickle in _PICKLES:
    if (folder / pickle).is_file():
      raise errors.InputError(
        f'The checkpoint {folder} must have its weights in {_SAFETENSORS} or '
        f'{_HDF5}, got {pickle}, a pickle, which can run any code when it is '
        'read.'
      )
  raise errors.InputError(
    f'The checkpoint {folder} must have weights, {_SAFETENSORS} or {_HDF5}, '
    'got none.'
  )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fingerprints that distinguish data sets."""

import hashlib
import json

from fedfish_tff.datasets import client_data as client_data_lib
from fedfish_tff.datasets import examples as examples_lib

import numpy as np
import tensorflow as tf

_IDS_AT_A_TIME = 4096
# So that large data sets cost no more than small ones.
_MAX_CLIENTS = 16


def fingerprint(client_data: client_data_lib.ClientData) -> str:
  """Returns a checksum of the client ids and of some clients' examples.

  It guards against mistakes, such as a run that continues with the data of
  another folder, and not against malice: a change of a client that is not read
  goes unnoticed unless its id changes, too.

  Args:
    client_data: The client data, of which at most 16 clients are read, evenly
      spaced over the sorted ids.

  Returns:
    The SHA-256, in hexadecimal digits, over all ids, and over the names,
    shapes, dtypes and contents of the arrays of the clients read. It is the
    same in every process.
  """
  client_ids = client_data.client_ids
  digest = hashlib.sha256(b'[')
  # The JSON of the list, in parts, since there may be millions of ids.
  for start in range(0, len(client_ids), _IDS_AT_A_TIME):
    part = _encode(list(client_ids[start : start + _IDS_AT_A_TIME]))[1:-1]
    digest.update(b', ' + part if start else part)
  digest.update(b']')
  num_read = min(_MAX_CLIENTS, len(client_ids))
  for index in np.linspace(0, len(client_ids) - 1, num_read, dtype=int):
    examples = client_data.load_client(client_ids[index])
    for name, array in zip(
      examples_lib.array_names(examples),
      tf.nest.flatten(examples),
      strict=True,
    ):
      # The header gives the number of bytes that follow, so moving bytes from
      # one array to the next changes the fingerprint.
      header = [client_ids[index], name, array.dtype.str, array.shape]
      digest.update(_encode(header))
      if array.dtype.hasobject:
        # Pointers are meaningless; the lengths separate the texts.
        digest.update(_encode([len(text) for text in array.flat]))
        digest.update(b''.join(array.flat))
      else:
        digest.update(array.tobytes())
  return digest.hexdigest()


def _encode(value: list) -> bytes:
  return json.dumps(value).encode()

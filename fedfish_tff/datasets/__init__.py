# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Client data: from raw data to clients, and from clients to batches.

Bad arguments, clients that cannot be used and files that cannot be read raise
`errors.InputError`, which names the client or file.
"""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.datasets.batches import *
  from fedfish_tff.datasets.client_data import *
  from fedfish_tff.datasets.client_index import *
  from fedfish_tff.datasets.client_sizes import *
  from fedfish_tff.datasets.client_sources import *
  from fedfish_tff.datasets.client_views import *
  from fedfish_tff.datasets.data_fingerprint import *
  from fedfish_tff.datasets.examples import *
  from fedfish_tff.datasets.feature_cache import *
  from fedfish_tff.datasets.grouped_client_data import *
  from fedfish_tff.datasets.grouped_table import *
  from fedfish_tff.datasets.grouped_writer import *
  from fedfish_tff.datasets.natural_key import *
  from fedfish_tff.datasets.npz_files import *
  from fedfish_tff.datasets.npz_folder import *
  from fedfish_tff.datasets.pachinko import *
  from fedfish_tff.datasets.partitions import *
  from fedfish_tff.datasets.random_streams import *
  from fedfish_tff.datasets.record_files import *
  from fedfish_tff.datasets.shards import *
  from fedfish_tff.datasets.sorted_ids import *
  from fedfish_tff.datasets.streamed_clients import *
  from fedfish_tff.datasets.tff_client_data import *
  from fedfish_tff.datasets.token_chunks import *
  from fedfish_tff.datasets.vocabulary import *
  from fedfish_tff.datasets.vocabulary_training import *

__getattr__, __dir__ = lazy.attach(__name__)

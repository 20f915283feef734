# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""From raw data to clients, and from clients to a round's batches."""

from fedfish_tff.datasets.batches import BatchSpec
from fedfish_tff.datasets.batches import ClientBatches
from fedfish_tff.datasets.batches import MIN_FEW_SHOT_EXAMPLES
from fedfish_tff.datasets.batches import plan_batches
from fedfish_tff.datasets.batches import sequential_batches
from fedfish_tff.datasets.batches import split_examples
from fedfish_tff.datasets.batches import split_few_shot
from fedfish_tff.datasets.cached_client_data import CachedClientData
from fedfish_tff.datasets.client_data import ClientData
from fedfish_tff.datasets.client_data import InMemoryClientData
from fedfish_tff.datasets.client_data import split_clients
from fedfish_tff.datasets.client_data import unknown_client_error
from fedfish_tff.datasets.client_index import ClientIndex
from fedfish_tff.datasets.client_index import INDEX_SCHEMA
from fedfish_tff.datasets.client_index import IndexRows
from fedfish_tff.datasets.client_index import ROW_GROUP_CLIENTS
from fedfish_tff.datasets.concatenated_client_data import ConcatenatedClientData
from fedfish_tff.datasets.data_fingerprint import fingerprint
from fedfish_tff.datasets.examples import array_names
from fedfish_tff.datasets.examples import count_bytes
from fedfish_tff.datasets.examples import count_examples
from fedfish_tff.datasets.examples import Examples
from fedfish_tff.datasets.examples import spec_of_examples
from fedfish_tff.datasets.examples import take_examples
from fedfish_tff.datasets.examples import validate_examples
from fedfish_tff.datasets.grouped_client_data import GroupedClientData
from fedfish_tff.datasets.grouped_writer import GroupedWriter
from fedfish_tff.datasets.natural_key import partition_by_key
from fedfish_tff.datasets.npz_folder import NpzFolderClientData
from fedfish_tff.datasets.pachinko import partition_by_pachinko
from fedfish_tff.datasets.partition_summary import count_labels
from fedfish_tff.datasets.partition_summary import unassigned_examples
from fedfish_tff.datasets.partitions import partition_by_dirichlet
from fedfish_tff.datasets.preprocessed_client_data import PreprocessedClientData
from fedfish_tff.datasets.random_streams import random_generator
from fedfish_tff.datasets.shards import partition_by_shards
from fedfish_tff.datasets.sorted_ids import contains_id
from fedfish_tff.datasets.sorted_ids import SortedIds
from fedfish_tff.datasets.streamed_clients import StreamedClient
from fedfish_tff.datasets.streamed_clients import StreamedClients
from fedfish_tff.datasets.tff_client_data import check_tff_database
from fedfish_tff.datasets.tff_client_data import TffClientData

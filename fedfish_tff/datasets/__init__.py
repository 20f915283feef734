# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Client data: from raw data to clients, and from clients to batches."""

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

_EXPORTS = {
  'batches': """
    BatchSpec ClientBatches ClientInput MIN_FEW_SHOT_EXAMPLES plan_batches
    plan_client plan_indices sequential_batches split_few_shot split_rows
    takes_references to_client_input
  """,
  'client_data': """
    ClientData ClientDataView InMemoryClientData split_clients
    unknown_client_error
  """,
  'client_index': """
    ClientIndex INDEX_SCHEMA IndexRows ROW_GROUP_CLIENTS
  """,
  'client_sizes': """
    ClientSizeLaw PUBLISHED_SPLITS PublishedSplit
  """,
  'client_sources': 'ClientSource set_source StoredClient',
  'client_views': """
    CachedClientData ConcatenatedClientData PreprocessedClientData
  """,
  'data_fingerprint': 'fingerprint',
  'examples': """
    array_names count_bytes count_examples Examples spec_of_examples
    take_examples validate_examples
  """,
  'feature_cache': """
    Arrays Extractor FeatureCache FeatureClientData FileFeatureClientData
  """,
  'grouped_client_data': 'GroupedClientData',
  'grouped_table': 'group_table',
  'grouped_writer': 'GroupedWriter',
  'natural_key': 'partition_by_key',
  'npz_files': """
    npz_array_names NPZ_READ_ERRORS open_archive read_npz_array read_npz_header
    read_npz_text write_npz
  """,
  'npz_folder': 'NpzFolderClientData',
  'pachinko': 'partition_by_pachinko',
  'partitions': """
    count_labels partition_alike partition_by_dirichlet
    partition_labels_by_dirichlet unassigned_examples
  """,
  'random_streams': 'random_generator uniform_numbers',
  'record_files': """
    open_file read_record RECORD_OVERHEAD scan_records write_record
  """,
  'shards': 'partition_by_shards',
  'sorted_ids': 'contains_id SortedIds',
  'streamed_clients': 'StreamedClient StreamedClients',
  'tff_client_data': 'check_tff_database TffClientData',
  'token_chunks': 'build_chunk_fn chunk_documents',
  'vocabulary': """
    create_character_vocabulary DEFAULT_SPECIAL_TOKENS load_vocabulary
    SPECIAL_TOKEN_NAMES SpecialTokens to_unicode Vocabulary
  """,
  'vocabulary_training': 'train_vocabulary VocabularyKind',
}
__getattr__, __dir__ = lazy.attach(__name__, _EXPORTS)

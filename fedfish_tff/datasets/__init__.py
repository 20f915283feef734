# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""From raw data to clients, and from clients to a round's batches."""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.datasets.batches import BatchSpec
  from fedfish_tff.datasets.batches import ClientBatches
  from fedfish_tff.datasets.batches import MIN_FEW_SHOT_EXAMPLES
  from fedfish_tff.datasets.batches import plan_batches
  from fedfish_tff.datasets.batches import sequential_batches
  from fedfish_tff.datasets.batches import split_examples
  from fedfish_tff.datasets.batches import split_few_shot
  from fedfish_tff.datasets.batches import split_rows
  from fedfish_tff.datasets.cached_client_data import CachedClientData
  from fedfish_tff.datasets.client_data import ClientData
  from fedfish_tff.datasets.client_data import InMemoryClientData
  from fedfish_tff.datasets.client_data import split_clients
  from fedfish_tff.datasets.client_data import unknown_client_error
  from fedfish_tff.datasets.client_index import ClientIndex
  from fedfish_tff.datasets.client_index import create_index_writer
  from fedfish_tff.datasets.client_index import INDEX_SCHEMA
  from fedfish_tff.datasets.client_index import IndexRows
  from fedfish_tff.datasets.client_index import ROW_GROUP_CLIENTS
  from fedfish_tff.datasets.client_inputs import ClientInput
  from fedfish_tff.datasets.client_inputs import to_client_input
  from fedfish_tff.datasets.client_sizes import ClientSizeLaw
  from fedfish_tff.datasets.client_sizes import fit_client_size_law
  from fedfish_tff.datasets.client_sizes import PUBLISHED_SPLITS
  from fedfish_tff.datasets.client_sizes import PublishedSplit
  from fedfish_tff.datasets.client_sources import ClientReference
  from fedfish_tff.datasets.client_sources import ClientSource
  from fedfish_tff.datasets.client_sources import plan_client
  from fedfish_tff.datasets.client_sources import set_source
  from fedfish_tff.datasets.client_sources import take_part
  from fedfish_tff.datasets.client_sources import takes_references
  from fedfish_tff.datasets.concatenated_client_data import (
    ConcatenatedClientData,
  )
  from fedfish_tff.datasets.data_fingerprint import fingerprint
  from fedfish_tff.datasets.examples import array_names
  from fedfish_tff.datasets.examples import count_bytes
  from fedfish_tff.datasets.examples import count_examples
  from fedfish_tff.datasets.examples import Examples
  from fedfish_tff.datasets.examples import spec_of_examples
  from fedfish_tff.datasets.examples import take_examples
  from fedfish_tff.datasets.examples import validate_examples
  from fedfish_tff.datasets.feature_cache import Arrays
  from fedfish_tff.datasets.feature_cache import Extractor
  from fedfish_tff.datasets.feature_cache import FeatureCache
  from fedfish_tff.datasets.feature_cache import FeatureClientData
  from fedfish_tff.datasets.feature_cache import FileFeatureClientData
  from fedfish_tff.datasets.grouped_client_data import GroupedClientData
  from fedfish_tff.datasets.grouped_table import group_table
  from fedfish_tff.datasets.grouped_writer import GroupedWriter
  from fedfish_tff.datasets.matched_partition import partition_alike
  from fedfish_tff.datasets.natural_key import partition_by_key
  from fedfish_tff.datasets.npz_files import npz_array_names
  from fedfish_tff.datasets.npz_files import NPZ_READ_ERRORS
  from fedfish_tff.datasets.npz_files import read_npz_array
  from fedfish_tff.datasets.npz_files import read_npz_shape
  from fedfish_tff.datasets.npz_folder import NpzFolderClientData
  from fedfish_tff.datasets.pachinko import partition_by_pachinko
  from fedfish_tff.datasets.partition_summary import count_labels
  from fedfish_tff.datasets.partition_summary import unassigned_examples
  from fedfish_tff.datasets.partitions import partition_by_dirichlet
  from fedfish_tff.datasets.partitions import partition_labels_by_dirichlet
  from fedfish_tff.datasets.preprocessed_client_data import (
    PreprocessedClientData,
  )
  from fedfish_tff.datasets.random_streams import random_generator
  from fedfish_tff.datasets.random_streams import uniform_numbers
  from fedfish_tff.datasets.record_files import read_record
  from fedfish_tff.datasets.record_files import RECORD_OVERHEAD
  from fedfish_tff.datasets.record_files import RecordWriter
  from fedfish_tff.datasets.record_files import scan_records
  from fedfish_tff.datasets.shards import partition_by_shards
  from fedfish_tff.datasets.sorted_ids import contains_id
  from fedfish_tff.datasets.sorted_ids import SortedIds
  from fedfish_tff.datasets.streamed_clients import StreamedClient
  from fedfish_tff.datasets.streamed_clients import StreamedClients
  from fedfish_tff.datasets.tff_client_data import check_tff_database
  from fedfish_tff.datasets.tff_client_data import TffClientData
  from fedfish_tff.datasets.token_chunks import build_chunk_fn
  from fedfish_tff.datasets.token_chunks import chunk_documents
  from fedfish_tff.datasets.vocabulary import create_character_vocabulary
  from fedfish_tff.datasets.vocabulary import DEFAULT_SPECIAL_TOKENS
  from fedfish_tff.datasets.vocabulary import load_vocabulary
  from fedfish_tff.datasets.vocabulary import SPECIAL_TOKEN_NAMES
  from fedfish_tff.datasets.vocabulary import SpecialTokens
  from fedfish_tff.datasets.vocabulary import to_unicode
  from fedfish_tff.datasets.vocabulary import Vocabulary
  from fedfish_tff.datasets.vocabulary_training import train_vocabulary
  from fedfish_tff.datasets.vocabulary_training import VocabularyKind

__getattr__, __dir__ = lazy.attach(__name__)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Groups web-scale text by client, with Dataset Grouper on Apache Beam.

Not imported by fedfish_tff.datasets: Beam and TFDS take seconds to import.
"""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.datasets.grouping.beam_options import *
  from fedfish_tff.datasets.grouping.client_keys import (
    BadRecordError as BadRecordError,
  )
  from fedfish_tff.datasets.grouping.client_keys import ClientKey as ClientKey
  from fedfish_tff.datasets.grouping.client_splits import (
    ClientSplits as ClientSplits,
  )
  from fedfish_tff.datasets.grouping.client_table import (
    ClientSizes as ClientSizes,
  )
  from fedfish_tff.datasets.grouping.flat_features import *
  from fedfish_tff.datasets.grouping.grouped_dataset import *
  from fedfish_tff.datasets.grouping.sources import *
  from fedfish_tff.datasets.grouping.text_source import *
  from fedfish_tff.datasets.grouping.tfds_source import *
  from fedfish_tff.datasets.grouping.web_keys import *

_EXPORTS = {
  'beam_options': 'complete_beam_flags create_beam_runner',
  'client_keys': 'BadRecordError ClientKey',
  'client_splits': 'ClientSplits',
  'client_table': 'ClientSizes',
  'flat_features': """
    count_words features_from_json features_to_json FlatFeature
    serialize_example
  """,
  'grouped_dataset': 'group GroupedDataset GroupingOptions WORK_FOLDER',
  'sources': 'Part Skipped Source SourceExample',
  'text_source': 'TEXT_FORMATS TextSource',
  'tfds_source': 'create_tfds_source TfdsSource',
  'web_keys': 'host_of_url normalize_host registered_domain',
}
__getattr__, __dir__ = lazy.attach(__name__, _EXPORTS)

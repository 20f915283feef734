# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Groups web-scale text by client, in the format of Dataset Grouper.

Not imported by fedfish_tff.datasets: its packages are an extra.
"""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.datasets.folder_writer import ClientSizes
  from fedfish_tff.datasets.grouping.beam_options import create_beam_runner
  from fedfish_tff.datasets.grouping.client_keys import BadRecordError
  from fedfish_tff.datasets.grouping.client_keys import ClientKey
  from fedfish_tff.datasets.grouping.client_splits import ClientSplits
  from fedfish_tff.datasets.grouping.grouped_dataset import group
  from fedfish_tff.datasets.grouping.grouped_dataset import GroupedDataset
  from fedfish_tff.datasets.grouping.grouped_dataset import WORK_FOLDER
  from fedfish_tff.datasets.grouping.sources import Part
  from fedfish_tff.datasets.grouping.sources import Skipped
  from fedfish_tff.datasets.grouping.sources import Source
  from fedfish_tff.datasets.grouping.sources import SourceExample
  from fedfish_tff.datasets.grouping.text_source import TEXT_FORMATS
  from fedfish_tff.datasets.grouping.text_source import TextSource
  from fedfish_tff.datasets.grouping.tfds_source import create_tfds_source
  from fedfish_tff.datasets.grouping.tfds_source import features_from_json
  from fedfish_tff.datasets.grouping.tfds_source import TfdsSource
  from fedfish_tff.datasets.grouping.web_keys import host_of_url
  from fedfish_tff.datasets.grouping.web_keys import normalize_host
  from fedfish_tff.datasets.grouping.web_keys import registered_domain
  from fedfish_tff.datasets.grouping.work import GroupingOptions

__getattr__, __dir__ = lazy.attach(__name__)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Groups web-scale text by client, in the format of Dataset Grouper.

It is not imported by fedfish_tff.datasets, since its packages are an extra.
Sources and folders that cannot be used raise `errors.InputError`. Files that
cannot be written raise `OSError`.
"""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.datasets.grouping.beam_options import *
  from fedfish_tff.datasets.grouping.client_keys import ClientKey as ClientKey
  from fedfish_tff.datasets.grouping.client_splits import (
    ClientSplits as ClientSplits,
  )
  from fedfish_tff.datasets.grouping.grouped_dataset import *
  from fedfish_tff.datasets.grouping.sources import *
  from fedfish_tff.datasets.grouping.text_source import *
  from fedfish_tff.datasets.grouping.tfds_source import *
  from fedfish_tff.datasets.grouping.work import (
    GroupingOptions as GroupingOptions,
  )

__getattr__, __dir__ = lazy.attach(__name__)

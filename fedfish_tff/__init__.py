# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedFish, FedAvg and related methods on TensorFlow Federated.

Importing this package, best before TensorFlow, lets TFF be imported. It changes
no more of the process than `import_setup` says.
"""

from fedfish_tff import import_setup

__version__ = '1.0.0'

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks by name: client data, a model and a metric to compare by.

Unknown names, options out of range and data that cannot be used raise
`errors.InputError`.
"""

from tasks.registry import create_task
from tasks.registry import task_names
from tasks.registry import task_options
from tasks.task import Task

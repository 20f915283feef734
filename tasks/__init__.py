# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: client data, a model and the metric that counts, by name."""

from tasks.registry import create_task
from tasks.registry import task_names
from tasks.registry import task_options
from tasks.task import Task

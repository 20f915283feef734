# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lists the programs: python -m launch, or fedfish beside a wheel."""

from launch import installed

if __name__ == '__main__':
  installed.list_commands()

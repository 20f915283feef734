# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The error that bad input raises."""


class InputError(ValueError):
  """Input that a run cannot use: one sentence says what and why.

  The message names the client, file, field or tensor, what was found and what
  was expected. Binaries print it as one line on stderr and exit with code 2.
  """

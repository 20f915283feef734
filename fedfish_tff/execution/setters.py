# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""From what creates a context to what makes a new one TFF's default."""

from collections.abc import Callable
import functools
from typing import Any

import tensorflow_federated as tff


def default_setter(create: Callable[..., Any]) -> Callable[..., None]:
  """Returns the function that makes a new context TFF's default.

  Args:
    create: `create_...`, which creates the context; `set_...` has the same
      parameters.
  """

  @functools.wraps(create)
  def set_default(*args: Any, **kwargs: Any) -> None:
    tff.framework.set_default_context(create(*args, **kwargs))

  name = create.__name__.replace('create_', 'set_', 1)
  set_default.__name__ = set_default.__qualname__ = name
  set_default.__doc__ = (
    f"Makes a new context of `{create.__name__}` TFF's default.\n\n"
    'The arguments are the same.'
  )
  return set_default

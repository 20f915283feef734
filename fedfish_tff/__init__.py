# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedFish, FedAvg and related methods on TensorFlow Federated.

Importing this package before TensorFlow keeps TensorFlow's start-up messages
off stderr; a level in the environment takes precedence.
"""

import atexit
import contextlib
import glob
import os
import signal
import sys

from fedfish_tff import import_setup

__version__ = '0.1.0'

# Private; not in `private_apis`, since that imports TensorFlow.
_RUNTIME_ERROR_CONTEXT = (
  'tensorflow_federated.python.core.impl.context_stack.runtime_error_context'
)
_ATOMIC_FUNCTION = (
  'tensorflow.python.eager.polymorphic_function.atomic_function'
)


def _end_default_context() -> None:
  """Ends the default context that TFF makes when it is imported.

  Python would end it only after removing TFF's modules. The context would then
  print an error, and leave behind the server that it may have started.
  """
  runtime_error_context = sys.modules.get(_RUNTIME_ERROR_CONTEXT)
  tff = sys.modules.get('tensorflow_federated')
  if tff is None or runtime_error_context is None:
    return
  _terminate_servers()
  tff.framework.set_default_context(
    runtime_error_context.create_runtime_error_context()
  )


def _terminate_servers() -> None:
  """Ends the servers that TFF has started in this process.

  TFF's context sends them SIGINT and waits, for ever if they ignore it, like
  all children of a shell's background job.
  """
  for path in glob.glob('/proc/self/task/*/children'):
    with contextlib.suppress(OSError):  # A process may have ended meanwhile.
      with open(path, encoding='ascii') as children:
        for child in children.read().split():
          if os.readlink(f'/proc/{child}/exe').endswith('/worker_binary'):
            os.kill(int(child), signal.SIGTERM)


def _keep_functions() -> None:
  """Lets TensorFlow's functions end with the process, without a call for each.

  The call fails if Python has already removed what it needs, or if Ctrl-C comes
  meanwhile, and Python then prints an ignored exception.
  """
  atomic_function = sys.modules.get(_ATOMIC_FUNCTION)
  if atomic_function is not None:
    del atomic_function.AtomicFunction.__del__


atexit.register(_end_default_context)
atexit.register(_keep_functions)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium for tests of pages, by its DevTools protocol on pipes."""

import json
import os
import select
import shutil
import signal
import subprocess
import time
from typing import Any
import unittest

_SECONDS = 60.0


class Chromium:
  """One tab of a browser of its own, which opens no port.

  Attributes:
    events: What the browser has reported, as the protocol has it: dicts with
      `method` and `params`.
  """

  def __init__(self, profile: str):
    program = shutil.which('chromium') or shutil.which('google-chrome')
    if program is None:
      raise unittest.SkipTest('No Chromium is installed (apt: chromium).')
    command = [
      program,
      '--headless',
      '--disable-gpu',
      '--remote-debugging-pipe',
      f'--user-data-dir={profile}',
    ]
    if os.geteuid() == 0:
      command.append('--no-sandbox')  # It does not start for root otherwise.
    self.events = []
    self._session = {}
    self._calls = 0
    self._received = b''
    from_here, self._requests = os.pipe()
    self._replies, to_here = os.pipe()
    # It reads requests from descriptor 3, and writes replies to 4. Not every
    # other shell takes numbers of two digits.
    redirect = f'exec "$@" 3<&{from_here} 4>&{to_here}'
    self._process = subprocess.Popen(
      ['bash', '-c', redirect, 'bash', *command],
      pass_fds=(from_here, to_here),
      stdout=subprocess.DEVNULL,
      stderr=subprocess.DEVNULL,
      start_new_session=True,
    )
    os.close(from_here)
    os.close(to_here)
    target = self.call('Target.createTarget', url='about:blank')
    attached = self.call('Target.attachToTarget', flatten=True, **target)
    self._session = {'sessionId': attached['sessionId']}
    for domain in ('Page', 'Runtime', 'Log', 'Network'):
      self.call(f'{domain}.enable')

  def close(self) -> None:
    """Ends the browser with all its processes."""
    os.killpg(self._process.pid, signal.SIGKILL)
    self._process.wait(_SECONDS)
    os.close(self._requests)
    os.close(self._replies)

  def call(self, method: str, **params: Any) -> dict[str, Any]:
    """Calls a method of the protocol, and returns its result."""
    self._calls += 1
    request = {'id': self._calls, 'method': method, 'params': params}
    request |= self._session
    os.write(self._requests, json.dumps(request).encode() + b'\0')
    deadline = time.monotonic() + _SECONDS
    while True:
      while b'\0' not in self._received:
        left = max(deadline - time.monotonic(), 0)
        if not select.select([self._replies], [], [], left)[0]:
          raise TimeoutError(f'{method} has no reply.')
        received = os.read(self._replies, 1 << 16)
        if not received:
          raise EOFError('The browser has ended.')
        self._received += received
      message, _, self._received = self._received.partition(b'\0')
      reply = json.loads(message)
      if reply.get('id') == self._calls:
        if 'error' in reply:
          raise ValueError(f'{method}: {reply["error"]}')
        return reply['result']
      self.events.append(reply)

  def evaluate(self, expression: str) -> Any:
    """Returns the value of a JavaScript expression in the page."""
    result = self.call(
      'Runtime.evaluate', expression=expression, returnByValue=True
    )
    return result['result'].get('value')

  def wait_for(self, expression: str) -> Any:
    """Waits until an expression is true, and returns its value."""
    deadline = time.monotonic() + _SECONDS
    while not (value := self.evaluate(expression)):
      if time.monotonic() > deadline:
        raise TimeoutError(f'{expression} has not come true.')
      time.sleep(0.05)
    return value

  def open(self, url: str) -> None:
    """Opens a page, and waits until it and what it asked for is there."""
    self.call('Page.navigate', url=url)
    self.wait_for(
      f'location.href == {json.dumps(url)} && document.readyState == "complete"'
    )

  def type(self, text: str) -> None:
    """Types into what has the focus."""
    for character in text:
      self.call('Input.dispatchKeyEvent', type='char', text=character)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The clients of web pages, from their addresses."""

import functools
import ipaddress
import re
import urllib.parse

import publicsuffixlist

_SCHEMES = ('http', 'https')
# The standard forbids underscores, but web hosts have them.
_LABEL = re.compile(r'[a-z0-9_-]{1,63}')
_MOST_LETTERS = 253


def host_of_url(url: str) -> str | None:
  """Returns the host of a web address, or None if it is not a web address.

  The host includes neither port nor user name.

  Args:
    url: An address that starts with http:// or https://.
  """
  try:
    parts = urllib.parse.urlsplit(url.strip())
    host, _ = parts.hostname, parts.port
  except ValueError:  # Wrong brackets, or a port that is not a number.
    return None
  if parts.scheme not in _SCHEMES or not host:
    return None
  return normalize_host(host)


def normalize_host(host: str) -> str | None:
  """Returns the canonical spelling of a host.

  It is in lower case, without a trailing dot, and in ASCII, with other letters
  encoded by IDNA 2003 (RFC 3490).

  Args:
    host: A name or an IP address, without a port.

  Returns:
    The host, or None if the host is not valid.
  """
  host = host.strip().lower().removesuffix('.')
  if address := _as_address(host):
    return address
  if not host.isascii():
    try:
      host = host.encode('idna').decode('ascii').lower().removesuffix('.')
    except UnicodeError:
      return None
  labels = host.split('.')
  # A last label that is a number means an IP address, and valid ones are
  # handled above.
  if labels[-1].isdigit() or len(host) > _MOST_LETTERS:
    return None
  if not all(map(_LABEL.fullmatch, labels)):
    return None
  return host


def registered_domain(host: str) -> str:
  """Returns the registered domain of a host.

  It follows the public-suffix list (publicsuffix.org) of the installed package
  publicsuffixlist, private suffixes included: a.b.example.co.uk belongs to
  example.co.uk, and blogs of one provider are separate domains. IP addresses,
  and hosts that are public suffixes, are returned unchanged.

  Args:
    host: A host from `host_of_url`.
  """
  if _as_address(host):
    return host
  return _suffix_list().privatesuffix(host) or host


def _as_address(host: str) -> str | None:
  """Returns an IP address in its usual spelling, None if it is a name."""
  if ':' not in host and not host[-1:].isdigit():
    return None
  try:
    return str(ipaddress.ip_address(host))
  except ValueError:
    return None


@functools.cache
def _suffix_list() -> publicsuffixlist.PublicSuffixList:
  return publicsuffixlist.PublicSuffixList()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""From the address of a page to the client that it belongs to."""

import functools
import ipaddress
import re
import urllib.parse

import publicsuffixlist

_SCHEMES = ('http', 'https')
# Underscores are against the standard, and the web has them.
_LABEL = re.compile(r'[a-z0-9_-]{1,63}')
_MOST_LETTERS = 253


def host_of_url(url: str, *, keep_www: bool = False) -> str | None:
  """Returns the host of a web address, or None if it is no such address.

  Ports and user names are no part of it.

  Args:
    url: An address that begins with http:// or https://.
    keep_www: See `normalize_host`.
  """
  try:
    parts = urllib.parse.urlsplit(url.strip())
    host, _ = parts.hostname, parts.port
  except ValueError:  # Wrong brackets, or a port that is no number.
    return None
  if parts.scheme not in _SCHEMES or not host:
    return None
  return normalize_host(host, keep_www=keep_www)


def normalize_host(host: str, *, keep_www: bool = False) -> str | None:
  """Returns one spelling of a host for all that mean the same.

  That is in small letters, without a dot at the end, and in ASCII: as IDNA 2003
  (RFC 3490) writes names in other letters.

  Args:
    host: A name or an IP address, without a port.
    keep_www: Whether 'www.example.org' is another host than 'example.org'.

  Returns:
    The host, or None if there can be no such host.
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
  # What ends in a number is an address, and that it is none we know by now.
  if labels[-1].isdigit() or len(host) > _MOST_LETTERS:
    return None
  if not all(map(_LABEL.fullmatch, labels)):
    return None
  if labels[0] == 'www' and len(labels) > 2 and not keep_www:
    return '.'.join(labels[1:])
  return host


def registered_domain(host: str) -> str:
  """Returns the domain that somebody registered, which has this host.

  By the public-suffix list (publicsuffix.org) of the installed package
  publicsuffixlist, private suffixes included: a.b.example.co.uk belongs to
  example.co.uk, and blogs of one provider are domains of their own. IP
  addresses, and hosts that are public suffixes, are returned as they are.

  Args:
    host: A host of `host_of_url` with `keep_www`.
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

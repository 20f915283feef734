# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Runs exported rounds on any device of JAX, beside bare loops of the same work.

  python run_exported.py FOLDER

It needs JAX, of 0.10 or later, and nothing of this package, nor TensorFlow. The
folder is what `python -m benchmarks.accelerator --export_dir=FOLDER` has
written on another machine: the clients' work of each round as StableHLO, one client
after the other and several side by side, what it takes, what it came to there in
process, and the round's data and weights. The programs and a loop in plain
jax.numpy are compiled, compared with these results and timed on the device that
JAX finds first; the last line that is printed is JSON. The exit code is 1 if one of
them differs.
"""

import argparse
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
import pathlib
import statistics
import sys
import time
from typing import Any

import jax
from jax import export
import jax.numpy as jnp
import numpy as np

# Of a tensor's largest value. Sums of float32 in another order give 1e-6; a unit
# that then is off at one client, and on at another, 1e-2.
_PROGRAM_TOLERANCE = 0.05
# Of weights.
_WEIGHTS_TOLERANCE = 1e-4
_WEIGHTS_PER_LAYER = 12
# A row that has been measured for as long needs no further round.
_ENOUGH_SECONDS = 20.0


def to_portable(hlo: bytes) -> bytes:
  """Returns an HLO module as portable bytecode of StableHLO.

  It is called where a folder is written, and alone needs what JAX keeps private.
  """
  # pylint: disable=g-import-not-at-top
  from jax._src.lib import xla_client
  from jaxlib import _jax
  from jaxlib.mlir.dialects import stablehlo
  # pylint: enable=g-import-not-at-top

  return _jax.mlir.serialize_portable_artifact(
    _jax.mlir.xla_computation_to_mlir_module(xla_client.XlaComputation(hlo)),
    stablehlo.get_minimum_version(),
  )


def load_program(
  module: bytes, arguments: Sequence[np.ndarray], results: Sequence[np.ndarray]
) -> Callable[..., Any]:
  """Returns a function of the arguments that runs a module of `to_portable`."""

  def made_up(*unused_arguments):
    return [jnp.zeros(result.shape, result.dtype) for result in results]

  like = export.export(jax.jit(made_up, keep_unused=True))(*arguments)
  return dataclasses.replace(like, mlir_module_serialized=module).call


def _convolve(
  x: jax.Array, kernel: jax.Array, bias: jax.Array, stride: int
) -> jax.Array:
  x = jax.lax.conv_general_dilated(
    x,
    kernel,
    (stride, stride),
    'SAME',
    dimension_numbers=('NHWC', 'HWIO', 'NHWC'),
  )
  return jax.nn.relu(x + bias)


def _classify(weights: Sequence[jax.Array], x: jax.Array) -> jax.Array:
  """Returns the logits of strided convolutions, if any, and a dense layer."""
  *convolutions, last = zip(weights[::2], weights[1::2], strict=True)
  for kernel, bias in convolutions:
    x = _convolve(x, kernel, bias, 2)
  return x.reshape([len(x), -1]) @ last[0] + last[1]


def _normalize(x: jax.Array, scale: jax.Array, offset: jax.Array) -> jax.Array:
  centered = x - x.mean(-1, keepdims=True)
  variance = jnp.square(centered).mean(-1, keepdims=True)
  return centered * jax.lax.rsqrt(variance + 1e-5) * scale + offset


def _predict_tokens(
  weights: Sequence[jax.Array], tokens: jax.Array, num_heads: int
) -> jax.Array:
  """Returns the logits of the package's transformer."""
  embedding, *inner, last_scale, last_offset = weights
  length, hidden = tokens.shape[1], embedding.shape[1]
  half = hidden // 2
  rates = (10_000.0 ** -(np.arange(half) / half)).astype(np.float32)
  angles = np.arange(length, dtype=np.float32)[:, np.newaxis] * rates
  waves = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
  x = embedding[tokens] + waves * np.float32(hidden**-0.5)
  past = jnp.tril(jnp.ones([length, length], bool))
  for i in range(0, len(inner), _WEIGHTS_PER_LAYER):
    (scale, offset, kernel, bias, last_kernel, last_bias), feed_forward = (
      inner[i : i + 6],
      inner[i + 6 : i + 12],
    )
    shape = (*tokens.shape, 3, num_heads, hidden // num_heads)
    mixed = (_normalize(x, scale, offset) @ kernel + bias).reshape(shape)
    queries, keys, values = jnp.moveaxis(mixed, 2, 0)
    scores = jnp.einsum('bqhc,bkhc->bhqk', queries, keys)
    scores *= (hidden // num_heads) ** -0.5
    shares = jax.nn.softmax(jnp.where(past, scores, -1e9))
    mixed = jnp.einsum('bhqk,bkhc->bqhc', shares, values).reshape(x.shape)
    x += mixed @ last_kernel + last_bias
    scale, offset, kernel, bias, last_kernel, last_bias = feed_forward
    wide = _normalize(x, scale, offset) @ kernel + bias
    x += jax.nn.gelu(wide, approximate=False) @ last_kernel + last_bias
  return _normalize(x, last_scale, last_offset) @ embedding.T


def bare_round(
  weights: Sequence[jax.Array],
  x: jax.Array,
  y: jax.Array,
  *,
  batch_size: int,
  learning_rate: float,
  num_heads: int,
) -> list[jax.Array]:
  """Returns the weights after a round of FedAvg, one client after the other.

  Args:
    weights: Before it.
    x: What goes in, [clients, examples, ...].
    y: Labels, int32 [clients, examples, ...].
    batch_size: Divides the number of examples.
    learning_rate: Of the clients; the server takes their mean.
    num_heads: Of a transformer; else 0.
  """

  def loss(weights, x, y):
    if num_heads:
      logits = _predict_tokens(weights, x, num_heads)
    else:
      logits = _classify(weights, x)
    logs = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(logs, y[..., np.newaxis], -1))

  def step(current, batch):
    gradients = jax.grad(loss)(current, *batch)
    return [w - learning_rate * g for w, g in zip(current, gradients)], None

  def train(totals, data):
    end, _ = jax.lax.scan(step, list(weights), data)
    return [t + (e - w) for t, e, w in zip(totals, end, weights)], None

  batches = [a.reshape([len(a), -1, batch_size, *a.shape[2:]]) for a in (x, y)]
  totals, _ = jax.lax.scan(train, list(map(jnp.zeros_like, weights)), batches)
  return [w + total / len(x) for w, total in zip(weights, totals)]


def _compile(
  function: Callable[..., Any], arguments: Sequence[Any]
) -> tuple[Callable[[], Any], dict[str, float]]:
  """Returns a call that is compiled, and how long that took."""
  start = time.perf_counter()
  compiled = jax.jit(function).lower(*arguments).compile()
  seconds = time.perf_counter() - start
  placed = jax.device_put(arguments)
  return lambda: jax.block_until_ready(compiled(*placed)), dict(
    compile_seconds=seconds
  )


def _time_in_turns(
  calls: Sequence[Callable[[], Any]], repeats: int
) -> list[float]:
  """Returns each one's median seconds, so that others' load hits all alike."""
  seconds: list[list[float]] = [[] for _ in calls]
  while len(seconds[0]) < repeats and sum(seconds[0]) < _ENOUGH_SECONDS:
    for call, measured in zip(calls, seconds, strict=True):
      start = time.perf_counter()
      call()
      measured.append(time.perf_counter() - start)
  return list(map(statistics.median, seconds))


def _difference(found: jax.Array, expected: np.ndarray) -> float:
  return float(np.max(np.abs(np.asarray(found) - expected), initial=0.0))


def _largest(differences: Iterable[float]) -> float:
  return float(np.max(list(differences)))  # NaN where one is.


def run_workload(
  folder: pathlib.Path, name: str, settings: Mapping[str, Any], repeats: int
) -> dict[str, Any]:
  """Returns what was measured of a workload of the folder."""
  with np.load(folder / f'{name}.npz') as arrays:

    def listed(kind):
      return [arrays[f'{kind}_{i}'] for i in range(settings[f'{kind}s'])]

    arguments, results = listed('argument'), listed('result')
    order = listed('order')
    weights, expected = listed('weight'), listed('expected')
    data = arrays['x'], arrays['y']
  calls, rows = [], {}
  for kind, file, taken in (
    ('program', name, arguments),
    ('vectorized', f'{name}_vectorized', [*arguments, *order]),
  ):
    module = (folder / f'{file}.stablehlo').read_bytes()
    run, rows[kind] = _compile(load_program(module, taken, results), taken)
    calls.append(run)
    rows[kind]['difference'] = _largest(
      _difference(f, r) / (float(np.max(np.abs(r), initial=0.0)) or 1.0)
      for f, r in zip(run(), results, strict=True)
    )
  options = {
    key: settings[key] for key in ('batch_size', 'learning_rate', 'num_heads')
  }
  run_bare, rows['bare'] = _compile(
    lambda w, x, y: bare_round(w, x, y, **options), (weights, *data)
  )
  rows['bare']['difference'] = _largest(map(_difference, run_bare(), expected))
  seconds = _time_in_turns([*calls, run_bare], repeats)
  for row, measured in zip(rows.values(), seconds, strict=True):
    row['seconds'] = measured
  return dict(
    rows,
    is_equal=all(
      row['difference']
      < (_WEIGHTS_TOLERANCE if kind == 'bare' else _PROGRAM_TOLERANCE)
      for kind, row in rows.items()
    ),
  )


def main(argv: Sequence[str]) -> int:
  """Prints the table; returns the exit code."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('folder', type=pathlib.Path, help='what was exported')
  parser.add_argument('--repeats', type=int, default=5, help='timed calls')
  parser.add_argument(
    '--convert', action='store_true', help='make *.stablehlo of *.hlo, only'
  )
  args = parser.parse_args(argv)
  if args.convert:
    for path in args.folder.glob('*.hlo'):
      portable = to_portable(path.read_bytes())
      path.with_suffix('.stablehlo').write_bytes(portable)
      path.unlink()
    return 0
  # Programs have integers of 64 bits, and multiply matrices in float32.
  jax.config.update('jax_enable_x64', True)
  jax.config.update('jax_default_matmul_precision', 'highest')
  workloads = json.loads((args.folder / 'manifest.json').read_text())
  device = jax.devices()[0]
  print(f'{device.device_kind} ({device.platform}), JAX {jax.__version__}')
  line = '{:28}{:>10}{:>11}{:>10}{:>12}{:>8}'
  print(line.format('', 'differs', 'compile s', 's a round', 'clients/s', ''))
  outcomes = {}
  for name, settings in workloads.items():
    outcome = run_workload(args.folder, name, settings, args.repeats)
    outcomes[name] = outcome
    for kind, title in (
      ('program', 'program'),
      ('vectorized', f'{settings["vectorized_clients"]} side by side'),
      ('bare', 'bare loop'),
    ):
      row = outcome[kind]
      print(
        line.format(
          f'{name}, {title}',
          f'{row["difference"]:.1e}',
          f'{row["compile_seconds"]:.2f}',
          f'{row["seconds"]:.4f}',
          f'{settings["num_clients"] / row["seconds"]:.1f}',
          f'{row["seconds"] / outcome["bare"]["seconds"]:.2f}',
        ),
        flush=True,
      )
  print(json.dumps(dict(device=device.device_kind, workloads=outcomes)))
  return 0 if all(o['is_equal'] for o in outcomes.values()) else 1


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))

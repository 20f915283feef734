# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The Python toolchain: $PYTHON_BIN_PATH, or the python3 on the PATH."""

_BUILD = """
load("@bazel_tools//tools/python:toolchain.bzl", "py_runtime_pair")

py_runtime(
    name = "runtime",
    interpreter_path = "{python}",
    python_version = "PY3",
)

py_runtime_pair(
    name = "runtime_pair",
    py3_runtime = ":runtime",
)

toolchain(
    name = "toolchain",
    toolchain = ":runtime_pair",
    toolchain_type = "@bazel_tools//tools/python:toolchain_type",
)
"""

def _python_configure_impl(repository_ctx):
    python = repository_ctx.os.environ.get("PYTHON_BIN_PATH")
    if not python:
        python = repository_ctx.which("python3")
    if not python:
        fail("No python3 on the PATH and PYTHON_BIN_PATH is not set.")
    repository_ctx.file("BUILD", _BUILD.format(python = python))

python_configure = repository_rule(
    implementation = _python_configure_impl,
    environ = ["PATH", "PYTHON_BIN_PATH"],
    local = True,
)

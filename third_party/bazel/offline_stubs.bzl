# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Stubs for the repositories that Bazel fetches even for pure Python.

Bazel 2 to 4 load @rules_cc, @rules_java and @remote_coverage_tools from their
own tools package. The native rules do all that is needed of them here.
"""

_HEADER = '"""Stub: the native rules under the names of this repository."""\n\n'

_RULES = {
    "cc": [
        "cc_binary",
        "cc_import",
        "cc_library",
        "cc_proto_library",
        "cc_test",
        "cc_toolchain",
        "cc_toolchain_suite",
        "objc_library",
    ],
    "java": [
        "java_binary",
        "java_import",
        "java_library",
        "java_package_configuration",
        "java_plugin",
        "java_proto_library",
        "java_runtime",
        "java_test",
        "java_toolchain",
    ],
}

# Coverage is not collected; asking for it fails.
_COVERAGE_BUILD = """
package(default_visibility = ["//visibility:public"])

[
    sh_binary(name = name, srcs = ["unavailable.sh"])
    for name in ["coverage_report_generator", "lcov_merger"]
]

filegroup(name = "coverage_report_generator_files", srcs = ["unavailable.sh"])
"""

def _native_rules_impl(repository_ctx):
    language = repository_ctx.attr.language
    repository_ctx.file("BUILD", "")
    repository_ctx.file(language + "/BUILD", "")
    repository_ctx.file(
        language + "/defs.bzl",
        _HEADER + "".join([
            "{0} = native.{0}\n".format(rule)
            for rule in _RULES[language]
            if hasattr(native, rule)
        ]),
    )

_native_rules = repository_rule(
    implementation = _native_rules_impl,
    attrs = {"language": attr.string(mandatory = True)},
    local = True,
)

def _no_coverage_impl(repository_ctx):
    repository_ctx.file(
        "unavailable.sh",
        "#!/bin/sh\necho 'Coverage tools are stubbed.' >&2\nexit 1\n",
        executable = True,
    )
    repository_ctx.file("BUILD", _COVERAGE_BUILD)

_no_coverage = repository_rule(
    implementation = _no_coverage_impl,
    local = True,
)

def offline_stubs():
    """Declares the stubs, which must precede Bazel's own declarations."""
    if int(native.bazel_version.split(".")[0] or "0") >= 5:
        return  # From Bazel 5 on these are not fetched for Python.
    _native_rules(name = "rules_cc", language = "cc")
    _native_rules(name = "rules_java", language = "java")
    _no_coverage(name = "remote_coverage_tools")

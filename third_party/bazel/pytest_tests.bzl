# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Test targets for all tests of a folder."""

def pytest_tests(smoke = [], manual = []):
    """Declares the library "helpers" and a target for each *_test.py.

    Args:
      smoke: Names of quick tests, which `make bazel-test` runs.
      manual: Names of tests that need the working tree, which only pytest runs.
    """
    runner = "//third_party/bazel:run_pytest.py"
    native.py_library(
        name = "helpers",
        testonly = True,
        srcs = native.glob(["*.py"], exclude = ["*_test.py"]),
        visibility = ["//tests:__pkg__"],
    )
    for file in native.glob(["*_test.py"]):
        name = file[:-len(".py")]
        native.py_test(
            name = name,
            size = "large",
            srcs = [file, runner],
            args = ["$(location %s)" % file],
            main = runner,
            tags = [
                tag
                for tag, names in (("smoke", smoke), ("manual", manual))
                if name in names
            ],
            deps = ["//tests"],
        )

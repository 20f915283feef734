# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
#
#   docker build --tag=fedfish-tff .
#   docker run --rm fedfish-tff fedfish-train --help

FROM python:3.13-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_DEPS=1
RUN python -m venv /opt/fedfish-tff
ENV PATH=/opt/fedfish-tff/bin:$PATH
WORKDIR /src
COPY requirements/build.lock requirements/today.lock requirements/
RUN pip install --require-hashes -r requirements/build.lock && \
  pip install --require-hashes --no-build-isolation --ignore-requires-python \
    -r requirements/today.lock
COPY setup.py fedfish_tff_first.py pyproject.toml README.md LICENSE CITATION.cff ./
COPY fedfish_tff fedfish_tff
COPY launch launch
COPY tasks tasks
COPY examples examples
RUN pip install --no-build-isolation .

FROM python:3.13-slim-bookworm
COPY --from=build /opt/fedfish-tff /opt/fedfish-tff
ENV PATH=/opt/fedfish-tff/bin:$PATH
# Whoever runs it, as by --user, has a home to write to.
ENV HOME=/tmp
RUN useradd --uid=1000 fedfish && install --directory --owner=1000 /work
USER 1000
WORKDIR /work
CMD ["fedfish-train", "--help"]

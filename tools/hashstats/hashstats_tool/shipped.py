# SPDX-License-Identifier: GPL-2.0
"""Files that come with the tool: in the source, in a single-file zipapp, installed."""

import os
import sys

from .errors import Complaint

PACKAGE = os.path.dirname(__file__)  # in a zip file, as the loader knows it
ROOT = os.path.dirname(PACKAGE)
# Where each installation puts the folder of samples and the manual.
BASES = (
    ("samples", "hashstats.1"),
    (
        os.path.join(ROOT, "..", "doc/boothash-tools/samples"),
        os.path.join(ROOT, "..", "man/man1/hashstats.1"),
    ),
    (
        os.path.join(sys.prefix, "share/doc/boothash-tools/samples"),
        os.path.join(sys.prefix, "share/man/man1/hashstats.1"),
    ),
)


def sample(name):
    return found(os.path.join(samples, name) for samples, _ in BASES)


def manual():
    return found(path for _, path in BASES)


def found(paths):
    """The first of these files; Python's loader reads in a zip file as in a folder."""
    loader = globals()["__loader__"]
    tried = [os.path.join(ROOT, path) for path in paths]
    for path in tried:
        try:
            return loader.get_data(path)
        except OSError:
            continue
    raise Complaint(f"{tried[0]}: no such file, expected a complete installation")

# SPDX-License-Identifier: GPL-2.0
"""make bench-NAME: measure something, print a table, keep the result."""

import sys

import bench_buffer
import bench_crowd
import bench_halfmd4
import bench_hashstats
import bench_herd
import bench_htree
import bench_index
import bench_inode
import bench_mbcache
import bench_readers
import bench_spread
import bench_wake
import bench_xattr
import guest
from benchresult import Result
from common import ROOT, dispatch, flag
from setup import ensure_packages


def verb(name, measure):
    """A benchmark fills a Result and prints its tables."""
    def go():
        ensure_packages("source", "build", "boot")
        result = Result(name, flag("QUICK"))
        try:
            measure(result, flag("QUICK"))
        except guest.GuestError as error:
            print(error, file=sys.stderr)
            return 1
        path = result.save()
        print("\n  figures")
        for figure, value in result.data["figures"].items():
            print(f"    {figure}: {value:g}")
        print(f"  written: {path.relative_to(ROOT)}")
        return 0
    return go


if __name__ == "__main__":
    dispatch({"buffer": verb("buffer", bench_buffer.measure),
              "crowd": verb("crowd", bench_crowd.measure),
              "halfmd4": verb("halfmd4", bench_halfmd4.measure),
              "hashstats": verb("hashstats", bench_hashstats.measure),
              "herd": verb("herd", bench_herd.measure),
              "htree": verb("htree", bench_htree.measure),
              "index": verb("index", bench_index.measure),
              "inode": verb("inode", bench_inode.measure),
              "mbcache": verb("mbcache", bench_mbcache.measure),
              "readers": verb("readers", bench_readers.measure),
              "spread": verb("spread", bench_spread.measure),
              "wake": verb("wake", bench_wake.measure),
              "xattr": verb("xattr", bench_xattr.measure)})

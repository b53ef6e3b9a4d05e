# SPDX-License-Identifier: GPL-2.0
"""The entry of every make target: cli.py VERB, or cli.py bench NAME."""

import errno
import importlib
import io
import os
import sys

from common import BUILD, DISK_FULL, Failure, die, flag

# Refused with a wrong value before any work, also by targets that do not read them.
# Not DEBUG: many environments have one for other programs, and only deb reads it.
SWITCHES = ("FORCE", "KEEP", "LONG", "QUICK", "V")
# Errors of a file that say what the user must change.
FILE_ERRORS = {
    errno.EACCES,
    errno.EEXIST,
    errno.EISDIR,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}

# Verb of the Makefile: module and function that does it.
VERBS = {
    "setup": "common.packages:setup",
    "install-tools": "tool.install:install",
    "uninstall-tools": "tool.install:uninstall",
    "tree": "series.worktree:tree",
    "export": "series.export:export",
    "mail": "series.mail:mail",
    "check-series": "series.check:check",
    "check-bases": "series.check_bases:check",
    "clean": "series.cleanup:clean",
    "distclean": "series.cleanup:distclean",
    "kernel": "kernel.build:kernel",
    "deb": "kernel.deb:deb",
    "boot": "guest.boot:boot",
    "shell": "guest.boot:shell",
    "kunit": "guest.kunit:kunit",
    "bench-compare": "bench.run:compare",
    "report": "report.run:report",
    "lint": "check.lint:lint",
    "test": "check.tests:test",
    "test-long": "check.tests:test_long",
    "test-arch": "check.tests:test_arch",
    "test-machine": "check.tests:test_machine",
}


def function(argv: list[str]) -> tuple[str, list[str]]:
    """The function and its arguments that the words of a command line name."""
    if len(argv) == 2 and argv[0] == "bench":
        return "bench.run:bench", argv[1:]
    if len(argv) == 1 and argv[0] in VERBS:
        return VERBS[argv[0]], []
    return die(
        f"expected a verb, one of {', '.join(VERBS)}, or bench NAME; "
        f"got {' '.join(argv) or 'nothing'!r}"
    )


def call(argv: list[str]) -> object:
    place, arguments = function(argv)
    for name in SWITCHES:
        flag(name)
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)(*arguments)


def main() -> int:
    # Progress must come in order with what commands print, also in a pipe.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    try:
        status = call(sys.argv[1:])
        return status if isinstance(status, int) else 0
    except Failure as failure:
        print(f"boothash: {failure}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader went away (make help | head).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            said = DISK_FULL
        elif error.errno in FILE_ERRORS and error.filename:
            said = f"{error.filename}: {error.strerror}"
            if str(error.filename).startswith(str(BUILD)):
                said += f"; accepted: a folder {BUILD} in which this user can write"
        else:
            raise
        print(f"boothash: {said}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("boothash: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())

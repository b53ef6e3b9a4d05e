# SPDX-License-Identifier: GPL-2.0
"""The KUnit suites of the series, run in a guest with two processors."""

import re
import subprocess
import sys

import pytest

import common
from guest import kunit, vm
from kunit_suites import LEAST, problems


@pytest.fixture(scope="module")
def console(kernel):
    return vm.run(kernel, "true", cpus=2, append=kunit.ENABLE, timeout=60, complaints=True).console


@pytest.fixture(scope="module")
def suites(kernel, console):
    return kunit.parse(kernel.src, console)


@pytest.mark.parametrize("name", LEAST)
def test_suite(suites, name):
    assert kunit.problems(suites, name, LEAST[name]) == []


def kunit_py(kernel, *words):
    """The output of the kernel's parser, which must succeed."""
    words = [sys.executable, "-B", kunit.PARSER, *words]
    done = subprocess.run(words, cwd=kernel.src, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def report(kernel, console, folder):
    (folder / "console").write_text(console)
    return kunit_py(kernel, "parse", folder / "console")


def test_kunit_py_reads_all_without_an_error(kernel, console, tmp_path):
    last = report(kernel, console, tmp_path).splitlines()[-1]
    assert re.search(r"Ran \d+ tests: passed: \d+(, skipped: \d+)?$", last), last


def test_only_the_suites_that_are_asked_for(kernel, console, tmp_path):
    text = report(kernel, kunit.only(console, ["mbcache", "page_hash"]), tmp_path)
    assert re.findall(r"(\w+) \(\d+ subtests\)", text)[:1] == ["mbcache"]
    assert "[PASSED] page_hash" in text and "boot_hash" not in text
    assert "error" not in text.splitlines()[-1]


def test_names_of_suites_are_known_beforehand(console):
    # kunit.only() with all of them fails if one is missing.
    kunit.only(console, sorted(kunit.suites_of_guest()))


def test_unknown_suite_is_named(console):
    with pytest.raises(common.Failure, match="no suite 'mbcashe'; accepted: .*mbcache"):
        kunit.only(console, ["mbcashe"])


def test_config_of_the_suites_is_complete(kernel, tmp_path):
    """kunit.py refuses a line that the kernel's configuration does not keep."""
    suites = "--kunitconfig=tools/testing/kunit/configs/boothash.config"
    kunit_py(kernel, "config", suites, f"--build_dir={tmp_path}")
    config = (tmp_path / ".config").read_text()
    for suite in LEAST:
        if not suite.startswith("ext4"):
            assert f"CONFIG_{suite.upper()}_KUNIT_TEST=y" in config


def test_wait_filter_where_keys_share_queues(kernel):
    """Two queues for all bits and variables, and two for all folios."""
    console = vm.run(
        kernel,
        "true",
        cpus=2,
        timeout=60,
        append="kunit.enable=1 kunit.filter_glob=wait_filter hash_entries=bit_wait:2,folio_wait:2",
    ).console
    assert (
        kunit.problems(kunit.parse(kernel.src, console), "wait_filter", LEAST["wait_filter"]) == []
    )


def test_kernel_does_not_complain(console):
    assert vm.complaints(console) == []


def test_is_off_by_default(kernel):
    console = vm.run(kernel, "true").console
    assert "KTAP version" not in console


# The verdict must be able to be bad: results with one change each.  The last one is that of
# strings that end after the tenth, as if the table had been cut.
@pytest.mark.parametrize(
    "pattern, new, said",
    [
        (r" ok (\d+) boot_hash_test_clamp", r" not ok \1 boot_hash_test_clamp", "clamp: FAIL"),
        (r" ok (\d+) 'garbage'$", r" not ok \1 'garbage'", "boot_hash_test_number/'garbage': FAIL"),
        (r"Subtest: boot_hash_test_number\n(?s:.*)", "", ""),
        (
            r"(Subtest: boot_hash_test_number\n(?:.*\n){10})(?:.*\n)*?"
            r"(.*boot_hash_test_number: pass)",
            r"\1\2",
            r"boot_hash_test_number/* passed, at least 40",
        ),
    ],
    ids=["case", "parameter", "end", "strings"],
)
def test_failure_is_seen(kernel, console, pattern, new, said):
    wrong, times = re.subn(pattern, new, console, count=1, flags=re.M)
    assert times
    found = kunit.problems(kunit.parse(kernel.src, wrong), "boot_hash", LEAST["boot_hash"])
    assert any(said in line for line in found), found


def test_end_after_the_first_suite_is_seen(kernel, console):
    first, *rest = LEAST
    end = re.search(rf"^.*ok \d+ {first}$", console, re.MULTILINE).end()
    assert list(problems(kernel.src, console[:end])) == rest

# SPDX-License-Identifier: GPL-2.0
"""The series in unusual configurations, compiled by clang, and in random ones.

Whole kernels boot where a guest of the tests can run; of the others, and of random
configurations, what the series touches is compiled.  SEED= chooses the random ones.
"""

import re

import pytest

import file_load
import kunit_suites
import touched
from guest import hashstats_file, kunit, vm
from kernel import build, variants
from kernel.configurations import CONFIGURATIONS, NODES, random_objects, seeds
from series import compose, source

pytestmark = pytest.mark.long

GUARD_BYTES = 4096  # a page behind each area of vmalloc
BOOTED = [name for name, one in CONFIGURATIONS.items() if one.boots]
# Paths and line numbers differ between the series and the base.
PLACE = re.compile(r"\S*/src/|:\d+(:\d+)?(?=:)|\+0x[0-9a-f]+")
# Between the reports of KMSAN.
SEPARATOR = re.compile(r"^\S* *\S+\] =+$", re.MULTILINE)
# A test of ext4 in Linux 7.3, which does not set all of a local variable.
MAINLINE = "test_split_convert"


@pytest.fixture(scope="module")
def machine(request, tree, visibly):
    """A configuration and its kernel."""
    one = CONFIGURATIONS[request.param]
    with visibly():
        return one, one.kernel()


each_booted = pytest.mark.parametrize("machine", BOOTED, indirect=True, scope="module")


def boot(machine, script, append="", qemu=(), **options):
    one, kernel = machine
    result = vm.run(
        kernel,
        script,
        mem=one.memory,
        cpus=one.cpus,
        append=f"{one.append} {append}",
        qemu=(*one.qemu, *qemu),
        timeout=360,
        complaints=one.name == "clang-kmsan",
        **options,
    )
    assert [line for line in result.complaints if "BUG: KMSAN" not in line] == []
    for report in SEPARATOR.split(result.console):
        assert "BUG: KMSAN" not in report or MAINLINE in report, report
    return result


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_touched_objects_build_without_a_warning(name, tree):
    one = CONFIGURATIONS[name]
    made = one.objects("olddefconfig")
    objects = touched.of_series(compose.compose(), made.config)
    assert len(objects) > 40
    assert not one.objects(*objects).warnings


@each_booted
def test_kernel_adds_no_warning(machine):
    one, kernel = machine
    found = warnings(kernel)
    if found:
        # clang warns of large stack frames of functions that the series does not touch.
        # objtool and the linker warn of all objects at once.
        compiled = all(".c:" in line for line in found)
        targets = {f"{line.partition('.c:')[0]}.o" for line in found} if compiled else {"vmlinux"}
        assert found <= base_warnings(
            f"config-{one.name}", kernel.config, sorted(targets), one.flags
        )
    if one.name == "clang-cfi-lto":
        assert re.search("^CONFIG_CFI(_CLANG)?=y$", kernel.config.read_text(), re.M)


@each_booted
def test_suites(machine):
    one, kernel = machine
    result = boot(machine, "nproc", kunit.ENABLE)
    assert result.output == f"{one.cpus}\n"
    assert kunit_suites.problems(kernel.src, result.console) == {}


@each_booted
def test_load(machine, tmp_path):
    result = boot(machine, file_load.SCRIPT, qemu=file_load.disk(tmp_path))
    file_load.check(result)


@pytest.mark.parametrize("machine", ["numa"], indirect=True, scope="module")
def test_tables_are_spread_over_nodes(machine):
    """With hashdist, the tables that are made late lie on all nodes.

    On Linux 6.12 each of them does.  Linux 7.3 takes many pages of one node at once.
    The scheduler's start makes bit_wait, before there are policies of NUMA.
    """
    result = boot(
        machine,
        "grep alloc_large_system_hash /proc/vmallocinfo; echo '=== stats'; cat /proc/hashstats",
    )
    text, stats = result.output.split("=== stats\n")
    lines = text.splitlines()
    assert len(lines) > 5
    assert all(f" N{node}=" in text for node in range(NODES))
    if source.base_name() == "6.12":
        early = hashstats_file.parse(stats)["bit_wait"]["bytes"] + GUARD_BYTES
        apart = [
            int(line.split()[1])
            for line in lines
            if not all(f" N{node}=" in line for node in range(NODES))
        ]
        assert apart == [early]


@pytest.mark.parametrize("machine", ["numa"], indirect=True, scope="module")
def test_memory_that_can_be_plugged_in_counts(machine):
    """With hash_memory=max.  SRAT describes it, which QEMU makes if there are nodes."""
    small, large = (
        hashstats_file.parse(
            boot(machine, "cat /proc/hashstats", append, ("-m", "2G,slots=1,maxmem=4G")).output
        )["dentry"]["buckets"]
        for append in ("", "hash_memory=max")
    )
    assert large >= 2 * small


OWNERS = 20


@pytest.mark.parametrize("machine", ["no-multiuser"], indirect=True, scope="module")
def test_all_users_share_a_quota(machine):
    """Without CONFIG_MULTIUSER, all users are equal; the ids on the disk are not."""
    result = boot(
        machine,
        f"""
        mkfs.ext4 -q -O quota -E quotatype=usrquota /dev/ram0 64M
        mount -o usrquota /dev/ram0 /mnt
        for id in $(seq {OWNERS}); do
            touch /mnt/$id
            echo sif /$id uid $id >>/tmp/fields
        done
        umount /mnt
        debugfs -w -f /tmp/fields /dev/ram0 >/dev/null
        debugfs -R 'stat /{OWNERS}' /dev/ram0 | grep User
        mount -o usrquota /dev/ram0 /mnt
        for file in /mnt/[1-9]*; do echo >>$file; done
        echo '=== stats'
        cat /proc/hashstats
        umount /mnt
        """,
        programs=("mkfs.ext4", "debugfs"),
    )
    owner, stats = result.output.split("=== stats\n")
    assert f"User: {OWNERS:5} " in owner
    assert hashstats_file.parse(stats)["dquot"]["objects"] == 1


def test_modules_link(tree):
    """Each symbol that a module of the series needs is exported."""
    assert not CONFIGURATIONS["modules"].kernel().warnings


def warnings(one):
    """Those of a build, without places."""
    return {PLACE.sub("", line) for line in one.warnings}


def test_seeds_give_different_configurations(tree):
    first, second = (random_objects(seed, "olddefconfig").config for seed in seeds()[:2])
    assert first.read_text() != second.read_text()


@pytest.mark.parametrize("seed", seeds())
def test_random_configuration_adds_no_warning(seed, tree):
    made = random_objects(seed, "olddefconfig")
    objects = touched.of_series(compose.compose(), made.config)
    assert objects
    found = warnings(random_objects(seed, *objects))
    if found:
        assert found <= base_warnings(f"random-{seed}", made.config, objects)


def base_warnings(flavour, config, targets, flags=()):
    """Those of the same objects, or of vmlinux, without the series."""
    if targets != ["vmlinux"]:
        base = base_objects(flavour, config, flags, "olddefconfig")
        targets = touched.existing(targets, base.src)
    return warnings(base_objects(flavour, config, flags, *targets))


def base_objects(flavour, config, flags, *targets):
    return build.build(
        f"{flavour}-base",
        (),
        variants.base_commit(),
        optional=(config,),
        flags=flags,
        targets=targets,
        tree="base",
    )

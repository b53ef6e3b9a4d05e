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
from guest import vm
from kernel import build, variants
from kernel.configurations import CONFIGURATIONS, NODES, random_objects, seeds
from series import compose

pytestmark = pytest.mark.long

BOOTED = [name for name, one in CONFIGURATIONS.items() if one.boots]
# Where a warning stands may differ between the series and the base.
PLACE = re.compile(r":\d+(:\d+)?(?=:)|\+0x[0-9a-f]+")


@pytest.fixture(scope="module")
def machine(request, tree, visibly):
    """A configuration and its kernel."""
    one = CONFIGURATIONS[request.param]
    with visibly():
        return one, one.kernel()


each_booted = pytest.mark.parametrize("machine", BOOTED, indirect=True, scope="module")


def boot(machine, script, append="", qemu=(), **options):
    one, kernel = machine
    return vm.run(
        kernel,
        script,
        mem="2G",
        cpus=one.cpus,
        append=f"{one.append} {append}",
        qemu=(*one.qemu, *qemu),
        timeout=60,
        **options,
    )


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_touched_objects_build_without_a_warning(name, tree):
    one = CONFIGURATIONS[name]
    config = one.objects("olddefconfig").config
    objects = touched.of_series(compose.compose(), config)
    assert len(objects) > 50
    assert not one.objects(*objects).warnings


@each_booted
def test_kernel_builds_without_a_warning(machine):
    assert not machine[1].warnings


@each_booted
def test_suites(machine):
    result = boot(machine, "nproc", "kunit.enable=1")
    assert result.output == f"{machine[0].cpus}\n"
    assert kunit_suites.problems(machine[1].src, result.console) == {}


@each_booted
def test_load(machine, tmp_path):
    result = boot(machine, file_load.SCRIPT, qemu=file_load.disk(tmp_path))
    file_load.check(result)


@pytest.mark.parametrize("machine", ["numa"], indirect=True, scope="module")
def test_tables_are_spread_over_nodes(machine):
    """With hashdist, the tables that are made late lie on all nodes."""
    result = boot(machine, "grep alloc_large_system_hash /proc/vmallocinfo")
    tables = result.output.splitlines()
    assert tables
    assert all(f" N{node}=" in line for line in tables for node in range(NODES))


def test_modules_link(tree):
    """Each symbol that a module of the series needs is exported."""
    assert not CONFIGURATIONS["modules"].kernel().warnings


def warnings(one):
    return {PLACE.sub("", line) for line in one.warnings}


def test_seeds_give_different_configurations(tree):
    first, second = (random_objects(seed, "olddefconfig").config for seed in seeds()[:2])
    assert first.read_text() != second.read_text()


@pytest.mark.parametrize("seed", seeds())
def test_random_configuration_adds_no_warning(seed, tree):
    config = random_objects(seed, "olddefconfig").config
    objects = touched.of_series(compose.compose(), config)
    assert objects
    found = warnings(random_objects(seed, *objects))
    if found:
        base = variants.base_commit()
        assert found <= warnings(
            build.build(
                f"random-{seed}-base",
                (),
                base,
                optional=(config,),
                targets=touched.existing(objects, base),
                tree="base",
            )
        )

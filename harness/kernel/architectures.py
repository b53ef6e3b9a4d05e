# SPDX-License-Identifier: GPL-2.0
"""The architectures of the series: how each is built, and the machine that boots it."""

from dataclasses import dataclass
from typing import Any

from common import die
from common.packages import ensure_packages
from kernel import build
from kernel.build import CONFIGS
from kernel.kconfig import Fragment
from series import compose


@dataclass(frozen=True)
class Architecture:
    """One architecture, with one size of pages.

    QEMU's default of a machine serves where a field is empty; without `qemu`,
    the kernel is only built.
    """

    name: str
    arch: str  # ARCH= of the kernel's make
    compiler: str = ""  # what the names of the compiler and its tools begin with
    packages: str = ""  # group of the compiler
    config: tuple[Fragment, ...] = ()  # lines that must survive
    preferred: tuple[Fragment, ...] = ()  # lines that some bases lack
    target: str = "vmlinux"
    image: str = "vmlinux"  # what QEMU loads, below the folder of objects
    qemu: str = ""  # program
    emulator: str = "boot"  # group of the program
    machine: str = ""
    cpu: str = "max"
    console: str = ""  # parameters of the kernel
    port: str = "virtio-serial-pci"
    userland: str = ""  # Debian's name of the architecture, if not the host's
    # Emulated processors run at the same time: see harness/guest/accelerator.py.
    parallel: bool = False

    @property
    def flags(self) -> list[str]:
        """Words for each make."""
        words = [f"ARCH={self.arch}"]
        if self.compiler:
            words += [f"CROSS_COMPILE={self.compiler}", f"CC=ccache {self.compiler}gcc"]
        return words

    def kernel(self) -> build.Build:
        """The whole kernel of the series."""
        return self._build("arch", (self.target,))

    def objects(self, *targets: str) -> build.Build:
        """Parts of it, with the options of what patches change but no guest needs."""
        return self._build("objects", targets, CONFIGS / "test/objects.config")

    def _build(self, kind: str, targets: tuple[str, ...], *more: Fragment) -> build.Build:
        """Build from the developer's tree, without the options that the architecture lacks."""
        if self.packages:
            ensure_packages(self.packages)
        return build.build(
            f"{kind}-{self.name}",
            (CONFIGS / "series.config", *self.config),
            compose.compose(),
            optional=(*build.BASE_GUEST, *more, *self.preferred),
            flags=self.flags,
            targets=targets,
            tree="patched",
        )


# On a busy host the emulated timer misses the few ticks in which the kernel
# wants to see it at boot, and the kernel panics.
NO_TIMER_CHECK = "no_timer_check"
PC: dict[str, Any] = {
    "qemu": "qemu-system-x86_64",
    "machine": "q35",
    "console": f"console=ttyS0 earlyprintk=ttyS0,115200 {NO_TIMER_CHECK}",
}
X86_64 = Architecture("x86_64", "x86_64", **PC)

I386: dict[str, Any] = PC | {
    "arch": "i386",
    "target": "bzImage",
    "image": "arch/x86/boot/bzImage",
    "userland": "i386",
}
ARM64: dict[str, Any] = {
    "arch": "arm64",
    "compiler": "aarch64-linux-gnu-",
    "packages": "arm64",
    "target": "Image",
    "image": "arch/arm64/boot/Image",
    "qemu": "qemu-system-aarch64",
    "emulator": "emulated-arm",
    "machine": "virt,gic-version=3",
    # Emulating Arm's own cipher for signed pointers takes most of the time.
    "cpu": "max,pauth-impdef=on",
    "console": "console=ttyAMA0 earlycon=pl011,0x9000000",
    "userland": "arm64",
    "parallel": True,
}

FOREIGN = {
    one.name: one
    for one in (
        Architecture(
            "i386",
            config=("CONFIG_HIGHMEM4G=y\n# CONFIG_X86_PAE is not set\n",),
            **I386,
        ),
        # Linux 7.3 has PAE with HIGHMEM4G.  In 6.12 the two are a choice, where the last holds.
        Architecture(
            "i386-pae",
            config=("CONFIG_HIGHMEM=y\nCONFIG_X86_PAE=y\n",),
            preferred=("CONFIG_HIGHMEM4G=y\nCONFIG_HIGHMEM64G=y\n",),
            **I386,
        ),
        Architecture(
            "arm64", config=(CONFIGS / "arch/arm64.config", "CONFIG_ARM64_4K_PAGES=y\n"), **ARM64
        ),
        Architecture(
            "arm64-64k",
            config=(CONFIGS / "arch/arm64.config", "CONFIG_ARM64_64K_PAGES=y\n"),
            **ARM64,
        ),
        Architecture(
            "s390x",
            "s390",
            compiler="s390x-linux-gnu-",
            packages="s390x",
            config=(CONFIGS / "arch/s390x.config",),
            target="bzImage",
            image="arch/s390/boot/bzImage",
            qemu="qemu-system-s390x",
            emulator="emulated-s390x",
            machine="s390-ccw-virtio",
            console="console=ttysclp0 earlyprintk",
            port="virtio-serial-ccw",
            userland="s390x",
            parallel=True,
        ),
        Architecture(
            "arm",
            "arm",
            compiler="arm-linux-gnueabihf-",
            packages="arm",
            config=(CONFIGS / "arch/arm.config",),
            target="zImage",
            image="arch/arm/boot/zImage",
            qemu="qemu-system-arm",
            emulator="emulated-arm",
            machine="virt",
            cpu="cortex-a15",
            console="console=ttyAMA0 earlycon=pl011,0x9000000",
            userland="armhf",
            parallel=True,
        ),
        Architecture(
            "riscv64",
            "riscv",
            compiler="riscv64-linux-gnu-",
            packages="riscv64",
            config=("CONFIG_64BIT=y\nCONFIG_SMP=y\nCONFIG_MMU=y\n",),
        ),
    )
}


def named(arch: str) -> list[Architecture]:
    """The architectures that ARCH= means: one, or all that the kernel's make calls so."""
    found = [one for one in FOREIGN.values() if arch in ("", one.name, one.arch)]
    if not found:
        die(f"ARCH={arch}: accepted: {' '.join(FOREIGN)}")
    return found

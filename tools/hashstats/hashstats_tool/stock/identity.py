# SPDX-License-Identifier: GPL-2.0
"""Whether a file of symbols is of the kernel whose memory is read.

Symbols of another kernel lead to memory that means something else, and figures of
it look true. VMCOREINFO gives the addresses of some symbols, and linux_banner must
lead to the name of this kernel.
"""

from . import vmcoreinfo
from .missing import BadAddress

BANNER = "linux_banner"
LONGEST = 256  # bytes of the banner that are read
# Symbols in VMCOREINFO whose line has their own address in each version.
TOLD = (
    "_stext",
    "init_uts_ns",
    "node_online_map",
    "prb",
    "kallsyms_names",
    "kallsyms_num_syms",
    "kallsyms_token_table",
    "kallsyms_token_index",
)


def difference(memory, symbols, info, release):
    """What shows that the symbols are of another kernel; None if nothing does."""
    for name in TOLD:
        told, found = vmcoreinfo.address(info, name), symbols.all(name)
        if told and found and told not in [one.address for one in found]:
            return f"{name} is at {found[0].address:#x}, and at {told:#x} in this kernel"
    found = symbols.all(BANNER)
    wanted = f"Linux version {release} "
    if found and not begins(memory, found[0].address, wanted):
        return f"{BANNER} does not lead to '{wanted.strip()}'"
    return None


def begins(memory, address, text):
    try:
        return memory.text(address, LONGEST).startswith(text)
    except BadAddress:
        return False

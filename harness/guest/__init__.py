# SPDX-License-Identifier: GPL-2.0
"""Running a kernel: QEMU, virtme-ng or user-mode Linux, and what it printed."""

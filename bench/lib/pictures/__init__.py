# SPDX-License-Identifier: GPL-2.0
"""One picture a file, run by Debian's Python, which has matplotlib."""

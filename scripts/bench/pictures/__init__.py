# SPDX-License-Identifier: GPL-2.0
"""One picture a file; Debian's Python, which has matplotlib, runs them."""

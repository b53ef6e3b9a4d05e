# SPDX-License-Identifier: GPL-2.0
"""What checks the repository itself: the tests and their environment."""

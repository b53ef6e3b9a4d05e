# SPDX-License-Identifier: GPL-2.0
"""A page of stored results, one file for each document that it answers."""

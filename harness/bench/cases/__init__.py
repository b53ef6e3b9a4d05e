# SPDX-License-Identifier: GPL-2.0
"""One benchmark a file."""

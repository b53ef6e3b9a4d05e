// SPDX-License-Identifier: GPL-2.0
/* The XArray with 128 slots a node. */
#define XA_CHUNK_SHIFT	7
#include "xarray_shift.h"

DEFINE_XARRAY_OPS(7);

// SPDX-License-Identifier: GPL-2.0
/*
 * The XArray with 256 slots a node, the most that can be built: a slot's number
 * is one byte. So is the count of the slots in use, which is 0 in a full node;
 * but it is asked only after something was taken out, and then it is right.
 * Walks over several entries never see the end of such a node: there are none.
 */
#define XA_CHUNK_SHIFT	8
#include "xarray_shift.h"

DEFINE_XARRAY_OPS(8);

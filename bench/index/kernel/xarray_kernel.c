// SPDX-License-Identifier: GPL-2.0
/* The kernel's XArray: 64 slots a node. */
#include "xarray_index.h"

static int create(unsigned int bits)
{
	return 0;
}

DEFINE_XARRAY_OPS(kernel);

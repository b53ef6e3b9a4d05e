/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __KERNEL_UCOUNT_H
#define __KERNEL_UCOUNT_H

void __init ucounts_hash_init(void);

#endif /* __KERNEL_UCOUNT_H */

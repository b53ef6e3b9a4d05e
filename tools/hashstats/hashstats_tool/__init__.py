# SPDX-License-Identifier: GPL-2.0
"""The modules of tools/hashstats/hashstats, each with one job.

tables, reading			a copy of /proc/hashstats, from text
sources, recording		where the text comes from; many copies in a file
spread, verdicts		what a random function would give; the verdict
peaks, sizing, grub		its worst moment, its next size, a file for GRUB
terminal, text_table, heat	how a screen shows it
selection, listing		which tables, in which order
pictures, outputs		how pictures are drawn and files are written
shipped			samples and the manual, which come with the tool
cli			which command; show, hist, chain, watch, diff, copy, demo,
                                jsonout, openmetrics, advise, record, report and counting
                                are these
"""

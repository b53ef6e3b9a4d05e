# SPDX-License-Identifier: GPL-2.0
"""What tools/hashstats/hashstats is made of, one job a module.

tables, reading			a copy of /proc/hashstats, from text
sources, recording		where the text comes from; many copies in a file
spread, verdicts		what chance would do; a table in a word
peaks, sizing, grub		its worst moment, a size for it, for the next boot
terminal, text_table, heat	how it is shown on a screen
pictures, outputs		how it is drawn, how files are written
cli				which subcommand; show, hist, watch, diff, jsonout,
                                openmetrics, advise, record and report are these
"""

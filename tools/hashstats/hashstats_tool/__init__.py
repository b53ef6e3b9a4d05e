# SPDX-License-Identifier: GPL-2.0
"""What tools/hashstats/hashstats is made of, one job a module.

reading, writing	the text of /proc/hashstats and a Table, both ways
sources, recording	where such text comes from; many copies in one file
spread			what chance would do, and what other sizes would
verdicts		a table in a word, and the figures behind it
terminal, pictures	how it is shown
show ... report		one module a subcommand, loaded when it is asked for
"""

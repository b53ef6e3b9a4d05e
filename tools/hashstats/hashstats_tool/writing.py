# SPDX-License-Identifier: GPL-2.0
"""The text of a copy, letter for letter as the kernel prints it."""

from .tables import HEAD, SIZES


def text_of(copy):
    paragraphs = [labelled(copy.header)]
    for table in copy.tables:
        lines = labelled(table.fields)
        if table.rows:
            lines.append(HEAD)
            lines += [f"{size:>4} {row.buckets:10} {row.objects:10} {row.percent:7}"
                      for size, row in zip(SIZES, table.rows)]
        paragraphs.append(lines)
    return "\n\n".join("\n".join(lines) for lines in paragraphs) + "\n"


def labelled(fields):
    return [f"{label}: {text}" for label, text in fields.items()]

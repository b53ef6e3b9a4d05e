# SPDX-License-Identifier: GPL-2.0
"""Tables by the names that a user gives."""

from .errors import Complaint, did_you_mean, quoted

LISTED = 300  # letters of names in a message


def of(judged, names):
    """The tables of these names, in this order; all without a name."""
    if not names:
        return judged
    by_name = {one.name: one for one in judged}
    for name in names:
        if name not in by_name:
            have = ", ".join(by_name)
            if len(have) > LISTED:
                have = have[:LISTED] + "..."
            raise Complaint(
                f"no table {quoted(name)}{did_you_mean(name, by_name)}; accepted: {have or 'none'}"
            )
    return [by_name[name] for name in dict.fromkeys(names)]

# SPDX-License-Identifier: GPL-2.0
"""Tables by the names that a user gives."""

from .errors import Complaint, quoted

LISTED = 300  # letters of names in a message


def of(judged, names):
    """Those of a name, of all its instances, or of a name and an instance."""
    if not names:
        return judged
    result = []
    for name in names:
        found = [one for one in judged if name in (one.title, one.table.name)]
        if not found:
            have = ", ".join(dict.fromkeys(one.title for one in judged))
            if len(have) > LISTED:
                have = have[:LISTED] + "..."
            raise Complaint(f"no table {quoted(name)}; accepted: {have or 'none'}")
        result += [one for one in found if one not in result]
    return result

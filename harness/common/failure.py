# SPDX-License-Identifier: GPL-2.0
"""How a script ends when a user must change something: one line, and status 2."""

from typing import NoReturn


class Failure(SystemExit):
    """Ends the script with status 2; the message has been made one line."""

    def __init__(self, message: object) -> None:
        super().__init__(2)
        self.message = " ".join(str(message).split())

    def __str__(self) -> str:
        return self.message


def die(message: object) -> NoReturn:
    """End with one clear line. Tests catch it as Failure."""
    raise Failure(message)

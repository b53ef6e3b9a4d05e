# SPDX-License-Identifier: GPL-2.0
"""The service that runs scripts in a machine; tests/long/test_machine.py has the rest."""

from guest import machine_agent

AT_ONCE = 1 << 15  # what the driver of a virtio port takes


class Port:
    def __init__(self):
        self.received = b""

    def write(self, data):
        self.received += data[:AT_ONCE]
        return len(data[:AT_ONCE])


def test_long_answers_arrive_whole():
    port = Port()
    answer = machine_agent.answer(b"seq 20000")
    assert len(answer) > 2 * AT_ONCE
    machine_agent.send(port, answer)
    assert port.received == answer
    status, output = port.received.split()
    assert status == b"0"
    assert bytes.fromhex(output.decode()).split()[-1] == b"20000"

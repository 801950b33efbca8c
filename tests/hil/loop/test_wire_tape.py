"""The tape of raw bytes, byte by byte: counts of two bytes, full buffers, room for full ticks, where it is cut."""

import numpy as np

from riderless.firmware_interface.devices.link import RX_SIZE, TX_SIZE
from riderless.hil.loop.wire_tape import new_tape, new_wire, read_tape, tape_length, write_tape


def full_wire(ports):
    wire = new_wire(ports)
    wire.n_rx[:], wire.n_tx[:] = RX_SIZE, TX_SIZE
    wire.rx[:], wire.tx[:] = 0xAB, 0xCD
    return wire


def test_a_count_is_two_bytes_low_byte_first():
    wire, tape = new_wire(1), np.full(400, 0xFF, np.uint8)
    wire.n_rx[0], wire.n_tx[0] = 300, 2
    wire.rx[0], wire.tx[0] = 7, 9
    assert write_tape(wire, tape, 0) == tape_length(wire) == 306
    assert tape[:3].tolist() == [300 - 256, 1, 7]
    assert tape[301:308].tolist() == [7, 2, 0, 9, 9, 0xFF, 0xFF]


def test_a_count_of_two_bytes_goes_around_the_end_of_a_tape():
    wire, tape = new_wire(1), np.zeros(400, np.uint8)
    wire.n_rx[0] = 300
    write_tape(wire, tape, 799)
    assert tape[[399, 0]].tolist() == [300 - 256, 1]


def test_counts_above_a_byte_are_read_back():
    wire, heard = new_wire(1), new_wire(1)
    wire.n_rx[0] = 300
    wire.rx[0] = np.arange(RX_SIZE) % 251
    tape = new_tape(1, 1)
    end = write_tape(wire, tape, 0)
    assert read_tape(heard, tape[:end], 0) == end
    assert heard.n_rx[0] == 300
    assert heard.rx[0, :300].tolist() == wire.rx[0, :300].tolist()


def test_a_new_tape_has_room_for_full_ticks_and_no_more():
    wire, tape, end = full_wire(2), new_tape(2, 3), 0
    for _ in range(3):
        end = write_tape(wire, tape, end)
    assert end == tape.size
    heard, place = new_wire(2), 0
    for _ in range(3):
        place = read_tape(heard, tape, place)
    assert place == end
    assert (heard.rx == 0xAB).all()
    assert (heard.tx == 0xCD).all()


def test_a_tick_without_bytes_ends_with_its_last_count():
    heard = new_wire(1)
    assert read_tape(heard, np.zeros(4, np.uint8), 0) == 4
    assert read_tape(heard, np.zeros(3, np.uint8), 0) == -1


def test_a_count_that_no_buffer_holds_is_a_cut():
    """Damage of a log, which must not write beyond a buffer."""
    tape = np.zeros(RX_SIZE + 10, np.uint8)
    tape[:2] = (RX_SIZE + 1) & 0xFF, (RX_SIZE + 1) >> 8
    assert read_tape(new_wire(1), tape, 0) == -1

"""The images for the STM32F103, F405 and G431, run by an emulator of the processor, on a model of their registers.

What is read and written here follows the reference manual as the board file does, so a misreading of the manual
is common to both: it is no hardware. Needs the package `unicorn` and the cross compiler.
"""

import random
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.framing import new_decoder
from riderless.firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    FAULT_BUS,
    FAULT_DRIVE,
    FAULT_ENCODER,
    FAULT_IMU,
)
from riderless.firmware_interface.node import reference_codec
from riderless.firmware_interface.node.firmware_state import new_firmware
from riderless.firmware_interface.node.rules import firmware_latch, firmware_receive
from riderless.firmware_interface.twins.c_node import SOURCES
from tests.firmware_interface.wire import as_bytes

unicorn = pytest.importorskip("unicorn", reason="unicorn, an emulator of processors, is not installed")
if not shutil.which("arm-none-eabi-gcc"):
    pytest.skip("arm-none-eabi-gcc is not installed", allow_module_level=True)
arm = pytest.importorskip("unicorn.arm_const")

FLASH, RAM, UNITS = 0x0800_0000, 0x2000_0000, 0x4000_0000
TIM2, TIM4, SPI1, IWDG = 0x4000_0000, 0x4000_0800, 0x4001_3000, 0x4000_3000
STOP, READY, DIRECTION, IMU_SELECT, ENCODER_SELECT, HEARTBEAT = 1 << 12, 1 << 13, 1 << 14, 1 << 4, 1, 2
SR, CNT, CCR1, BDTR, MOE = 0x10, 0x24, 0x34, 0x44, 1 << 15
ENCODER, SERIAL = 3 << 6, bytes(range(1, 13))
IMU_NAME = 0x75, 0x70  # of an MPU-6500
PERIOD_us, RX_SIZE, CAPTURES = 5000, 1024, 16


class Chip(NamedTuple):
    """What a chip has of its own: addresses of units, and of registers in them."""

    name: str
    rcc: int
    clocks: int  # RCC_CFGR
    causes: int  # RCC_CSR
    gpioa: int
    idr: int
    odr: int
    bsrr: int
    tim1: int
    usart1: int
    brr: int
    baud_divisor: int  # to 921600
    adc1: int
    sent: tuple[int, int]  # of the line's DMA: what is left to send, and from where
    received: tuple[int, int]
    captured: tuple[int, int]  # of the wheel's pulses
    serial: int
    pwm_top: int
    clock: float  # Hz, of the PWM

    @property
    def gpiob(self) -> int:
        return self.gpioa + 0x400


def _channel(k: int) -> tuple[int, int]:
    return 0x4002_0008 + 20 * (k - 1) + 4, 0x4002_0008 + 20 * (k - 1) + 12


def _stream(dma: int, k: int) -> tuple[int, int]:
    return dma + 0x10 + 24 * k + 4, dma + 0x10 + 24 * k + 12


_DMA1, _DMA2 = 0x4002_6000, 0x4002_6400
CHIPS = {
    "stm32f103": Chip(
        *(
            "stm32f103",
            0x4002_1000,
            0x04,
            0x24,
            0x4001_0800,
            0x08,
            0x0C,
            0x10,
            0x4001_2C00,
            0x4001_3800,
            0x08,
            78,
            0x4001_2400,
        ),
        *(_channel(4), _channel(5), _channel(1), 0x1FFF_F7E8, 3600, 72e6),
    ),
    "stm32f405": Chip(
        *(
            "stm32f405",
            0x4002_3800,
            0x08,
            0x74,
            0x4002_0000,
            0x10,
            0x14,
            0x18,
            0x4001_0000,
            0x4001_1000,
            0x08,
            91,
            0x4001_2000,
        ),
        *(_stream(_DMA2, 7), _stream(_DMA2, 5), _stream(_DMA1, 1), 0x1FFF_7A10, 4200, 84e6),
    ),
    "stm32g431": Chip(
        *(
            "stm32g431",
            0x4002_1000,
            0x08,
            0x94,
            0x4800_0000,
            0x10,
            0x14,
            0x18,
            0x4001_2C00,
            0x4001_3800,
            0x0C,
            156,
            0x5000_0000,
        ),
        *(_channel(4), _channel(5), _channel(1), 0x1FFF_7590, 3600, 72e6),
    ),
}
# of a pin's functions, by the vendor's tables: PA5 to PA11, PB6, PB7, PB10, PB12 (g431: STM32_open_pin_data)
FUNCTIONS = {
    "stm32f405": (5, 5, 5, 1, 7, 7, 1, 2, 2, 1, 1),
    "stm32g431": (5, 5, 5, 6, 7, 7, 11, 2, 2, 1, 6),
}


def built(folder: Path, chip: str, *more: str, suffix: str = "") -> tuple[Chip, bytes, dict[str, int]]:
    """The image for a chip, and where its symbols lie."""
    make = ["make", "-s", "-C", SOURCES, "board", f"BUILD={folder}", f"CHIP={chip}", *more]
    subprocess.run(make, check=True, capture_output=True)
    elf = folder / f"board_{chip}{suffix}.elf"
    listed = subprocess.run(["arm-none-eabi-nm", elf], check=True, capture_output=True, text=True).stdout
    symbols = {name: int(value, 16) for value, _, name in map(str.split, listed.splitlines())}
    return CHIPS[chip], elf.with_suffix(".bin").read_bytes(), symbols


@pytest.fixture(scope="module", params=CHIPS)
def image(tmp_path_factory, request) -> tuple[Chip, bytes, dict[str, int]]:
    return built(tmp_path_factory.mktemp("image"), request.param)


class AbsoluteEncoder:
    """An AS5047P by its data sheet: 16 bits a frame, even parity, each answers the one before."""

    def __init__(self) -> None:
        self.registers = {0x3FFF: 1000, 0x3FFC: 0x180, 0x0001: 0}
        self.selected, self.frame, self.answer, self.damage, self.unplugged = False, b"", 0, 0, False

    def select(self, selected: bool, settings: int) -> None:
        if self.selected and not selected:
            self._obey(int.from_bytes(self.frame, "big"))
        self.selected, self.frame = selected, b""
        assert not selected or settings & 3 == 1, "its clock idles low, and it is read at the falling edge"

    def exchange(self, value: int) -> int:
        said = 0xFFFF if self.unplugged else self.answer ^ self.damage
        self.frame += bytes([value])
        return said >> (16 - 8 * len(self.frame)) & 0xFF

    def _obey(self, frame: int) -> None:
        if len(self.frame) != 2 or frame.bit_count() % 2:
            self.registers[0x0001] |= 4  # its parity
        failed = bool(self.registers[0x0001])
        assert frame & 1 << 14, "nothing is ever written"
        value = self.registers[frame & 0x3FFF] | failed << 14
        if frame & 0x3FFF == 0x0001:
            self.registers[0x0001] = 0
        self.answer = value | (value.bit_count() % 2) << 15


class SsiEncoder:
    """An RMB20: 13 bits behind the line at rest, held at the first clock after a pause of 20 us, then low."""

    def __init__(self) -> None:
        self.angle, self.selected, self.damage, self.jumps = 1000, False, (), 0
        self.board: Board | None = None
        self.frames = 0

    def select(self, selected: bool, settings: int) -> None:
        self.selected, self.left = selected, 2
        if selected:
            assert settings & 3 == 3, "its clock idles high, and it is read at the rising edge"
            assert self.board.us - self.board.clocked >= 20, "else it goes on with the old angle"
            self.frames += 1
            self.angle = (self.angle + self.jumps) % 8192
            self.frame = 0x8000 | self.angle << 2
            for change in self.damage:
                self.frame = change(self.frame)

    def exchange(self, value: int) -> int:
        self.left -= 1
        return self.frame >> 8 * self.left & 0xFF


class Board:
    """Processor, memory, and as much of the units as this program looks at."""

    def __init__(self, image: tuple[Chip, bytes, dict[str, int]], crystal: bool = True, imu: int = IMU_NAME[1]) -> None:
        self.chip, code, self.symbols = image
        chip = self.chip
        self.inputs, self.outputs = chip.gpiob + chip.idr, chip.gpiob + chip.odr
        self.registers = {chip.rcc: 0x83, self.inputs: READY, chip.tim1 + SR: 0}
        self.imu, self.imu_register, self.imu_answer = {IMU_NAME[0]: imu}, None, 0xFF
        self.volts = {0: 24.0 / 11, 1: 1.65}
        self.us, self.crystal = 0.0, crystal
        self.unplugged = False
        self.encoder: AbsoluteEncoder | SsiEncoder | None = None
        self.clocked = 0.0  # us, of the latest byte on SPI
        self.fed = self.heard = self.rolled = 0
        uc = self.uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        uc.mem_map(FLASH, 64 * 1024)
        uc.mem_write(FLASH, code)
        uc.mem_map(RAM, 128 * 1024)
        uc.mem_map(0x1FFF_0000, 0x1_0000)
        uc.mem_write(chip.serial, SERIAL)
        uc.mmio_map(UNITS, 0x2_8000, self._read, UNITS, self._write, UNITS)
        for others in (0x4800_0000, 0x5000_0000, 0xE000_E000):
            uc.mmio_map(others, 0x1000, self._read, others, self._write, others)
        self.stack, self.reset = (int.from_bytes(code[i : i + 4], "little") for i in (0, 4))
        self.asleep = FLASH + code.index(b"\x30\xbf")  # wfi

    def word(self, address: int) -> int:
        return self.registers.get(address, 0)

    def start(self) -> None:
        self.uc.reg_write(arm.UC_ARM_REG_SP, self.stack)
        self._run(self.reset)

    def tick(self) -> bytes:
        """The interrupt, a period after the last; returns what it has sent."""
        self.us += (self.word(TIM2 + CCR1) - self.us) % 65536
        self._run(self.symbols["tick"] | 1)
        n, at = map(self.word, self.chip.sent)
        return bytes(self.uc.mem_read(at, n))

    def _run(self, address: int) -> None:
        self.uc.reg_write(arm.UC_ARM_REG_LR, self.asleep | 1)
        self.uc.emu_start(address, self.asleep, count=20_000_000)
        assert self.uc.reg_read(arm.UC_ARM_REG_PC) == self.asleep, hex(self.uc.reg_read(arm.UC_ARM_REG_PC))

    def hear(self, data: bytes) -> None:
        """Bytes by DMA into the ring."""
        base = self.word(self.chip.received[1])
        for byte in data:
            self.uc.mem_write(base + self.heard % RX_SIZE, bytes([byte]))
            self.heard += 1
        self.registers[self.chip.received[0]] = RX_SIZE - self.heard % RX_SIZE

    def roll(self, at_us: float) -> None:
        """A pulse of the wheel."""
        base = self.word(self.chip.captured[1])
        self.uc.mem_write(base + 2 * (self.rolled % CAPTURES), (int(at_us) % 65536).to_bytes(2, "little"))
        self.rolled += 1
        self.registers[self.chip.captured[0]] = CAPTURES - self.rolled % CAPTURES

    def _read(self, uc, offset, size, base) -> int:
        address, chip = base + offset, self.chip
        value = self.word(address)
        if address == chip.rcc:  # what is switched on is ready
            return value | (value & (1 << 16 | 1 << 24)) << 1 if self.crystal else value
        if address == self.inputs and self.unplugged:  # its lines follow their pulls
            return value & ~ENCODER | (ENCODER if self._pulled_up() else 0)
        if address == chip.rcc + chip.clocks:
            return value | (value & 3) << 2
        if address == TIM2 + CNT:
            self.us += 1
            return int(self.us) % 65536
        if address == SPI1 + 0x08:
            return 3
        if address == SPI1 + 0x0C:
            return self.imu_answer
        if chip.name == "stm32g431" and address & ~0xFF == chip.adc1:
            return self._converter(address & 0xFF, value)
        if address == chip.adc1:
            return 2
        if address == chip.adc1 + 0x08:
            return value & ~4
        if address == chip.adc1 + 0x4C:
            return min(4095, round(self.volts[self.word(chip.adc1 + 0x34)] / 3.3 * 4095))
        return value

    def _converter(self, register: int, value: int) -> int:
        """That of the G431: ready, each conversion done at once; calibrated when it is looked at."""
        if register == 0x00:
            return 5
        if register == 0x40:
            assert self.word(self.chip.adc1 + 0x08) == 1 << 28 | 1 << 2, "its regulator is on, and it was started"
            volts = self.volts[(self.word(self.chip.adc1 + 0x30) >> 6 & 31) - 1]
            return min(4095, round(volts / 3.3 * 4095))
        return value & ~(1 << 31) if register == 0x08 else value

    def _pulled_up(self) -> bool:
        if self.chip.name == "stm32f103":
            return self.word(self.outputs) & ENCODER == ENCODER
        return self.word(self.chip.gpiob + 0x0C) >> 12 & 15 == 0b0101  # PUPDR of pins 6 and 7

    def _write(self, uc, offset, size, value, base) -> None:
        address, chip = base + offset, self.chip
        port, register = address & ~0x3FF, address & 0x3FF
        if port in (chip.gpioa, chip.gpiob) and register == chip.bsrr:
            on, off = value & 0xFFFF, value >> 16
            self.registers[port + chip.odr] = (self.word(port + chip.odr) | on) & ~off
            if port == chip.gpioa and off & IMU_SELECT:
                self.imu_register = None  # the next byte names it
            if port == chip.gpiob and self.encoder and (on | off) & ENCODER_SELECT:
                self.encoder.select(bool(off & ENCODER_SELECT), self.word(SPI1))
        elif address == SPI1 + 0x0C:
            # a wider access of the G431 is two bytes, and it tells one byte only if set to
            assert chip.name != "stm32g431" or (size == 1 and self.word(SPI1 + 0x04) == 0x1700)
            self._exchange(value)
        elif address == chip.tim1 + SR:
            self.registers[address] &= value  # writing zeros clears
        elif address == TIM2 + CNT:
            self.us = float(value)
        else:
            if address == chip.tim1 + BDTR and self.word(self.inputs) & STOP:
                value &= ~MOE  # the break is stronger
            self.fed += address == IWDG and value == 0xAAAA
            self.registers[address] = value

    def _exchange(self, value: int) -> None:
        self.clocked = self.us
        if self.encoder and self.encoder.selected:
            self.imu_answer = self.encoder.exchange(value)
            return
        if self.imu_register is None:
            self.imu_register = value
            self.imu_answer = 0xFF
        elif self.imu_register & 0x80:
            self.imu_answer = self.imu.get(self.imu_register & 0x7F, 0)
            self.imu_register += 1
        else:
            self.imu[self.imu_register] = value

    def press(self) -> None:
        tim1 = self.chip.tim1
        self.registers[self.inputs] |= STOP
        self.registers[tim1 + BDTR] &= ~MOE
        self.registers[tim1 + SR] = self.word(tim1 + SR) | 1 << 7

    def release(self) -> None:
        self.registers[self.inputs] &= ~STOP

    @property
    def torque_mNm(self) -> float | None:
        """What the amplifier is told; None while it is off."""
        if not self.word(self.chip.tim1 + BDTR) & MOE:
            return None
        size = 10_000 * self.word(self.chip.tim1 + CCR1) / self.chip.pwm_top
        return -size if self.word(self.outputs) & DIRECTION else size

    @property
    def heartbeat(self) -> bool:
        return self.word(self.outputs) & HEARTBEAT != 0


@pytest.fixture
def board(image) -> Board:
    board = Board(image)
    board.start()
    return board


def heard(data: bytes) -> list[reference_codec.Message]:
    return [reference_codec.decode(frame) for frame in data.split(b"\0") if frame]


def request(nonce: int) -> bytes:
    return reference_codec.encode(reference_codec.HelloRequest(1, nonce))


def open_session(board: Board) -> int:
    """At its first instant; returns the session, of which the next commands are, in answer to sample 0."""
    board.hear(request(1234))
    hello, sample = heard(board.tick())
    assert sample.seq == 0
    return hello.session


def command(
    seq: int, torque_mNm: int = 0, flags: int = COMMAND_ENABLE, session: int = 1234, sample_seq: int | None = None
) -> bytes:
    """A command; by default number ``seq`` answers sample ``seq``, the first one that of the request."""
    answered = (seq if sample_seq is None else sample_seq) % 2**32
    return reference_codec.encode(reference_codec.Command(seq % 65536, torque_mNm, 1000, answered, session, flags))


def test_start(board):
    assert board.torque_mNm is None
    assert board.word(board.chip.usart1 + board.chip.brr) == board.chip.baud_divisor
    assert board.word(board.chip.tim1 + BDTR) & 0x3000 == 0x3000  # the break works, and is active high
    assert board.imu[0x1C] == 8  # +-4 g
    (sample,) = heard(board.tick())
    assert (sample.seq, sample.t_us, sample.status, sample.faults) == (0, 5000, 0, 0)
    assert sample.bus_mV == pytest.approx(24_000, abs=10)
    assert abs(sample.torque_mNm) < 10
    assert board.fed == 2


def test_pins_have_the_functions_of_their_units(board):
    if board.chip.name == "stm32f103":
        pytest.skip("its pins have one function each")
    pins = [*(("A", pin) for pin in range(5, 12)), *(("B", pin) for pin in (6, 7, 10, 12))]
    for (port, pin), function in zip(pins, FUNCTIONS[board.chip.name], strict=True):
        base = board.chip.gpioa if port == "A" else board.chip.gpiob
        assert board.word(base) >> 2 * pin & 3 == 2, (port, pin)
        assert board.word(base + 0x20 + pin // 8 * 4) >> pin % 8 * 4 & 15 == function, (port, pin)


def test_what_the_g431_has_beside(image):
    if image[0].name != "stm32g431":
        pytest.skip("of another chip")
    board = Board(image)
    board.start()
    routes = [board.word(0x4002_0800 + 4 * channel) for channel in range(5)]
    assert routes == [58, 0, 0, 25, 24]  # TIM2_CH3; USART1 TX, RX
    assert [board.word(0x4002_0000 + at) for at in (0x10, 0x4C, 0x60)] == [
        TIM2 + 0x3C,
        0x4001_3828,
        0x4001_3824,
    ]
    assert board.word(0x4000_7008) == 1 << 14  # no USB-C pulls on PB6
    assert board.word(0x4002_100C) == 3 | 5 << 4 | 72 << 8 | 1 << 24  # 24 MHz / 6 x 72 / 2
    assert board.word(0x4002_1008) & 0xF3 == 3  # the PLL, undivided


def test_without_its_crystal_it_halts(image):
    board = Board(image, crystal=False)
    board.uc.reg_write(arm.UC_ARM_REG_SP, board.stack)
    board.uc.emu_start(board.reset, board.symbols["halt"], count=20_000_000)
    assert board.uc.reg_read(arm.UC_ARM_REG_PC) == board.symbols["halt"]
    assert board.word(board.chip.gpioa) == 0  # no pin is an output


def stirred(salt: int, sample: reference_codec.Sample) -> int:
    """The node's share in the next session's number, after this sample."""
    for axis in "xyz":
        for sensor in ("gyro", "accel"):
            salt = (salt * 1664525 + getattr(sample, f"{sensor}_{axis}_counts") % 65536) % 2**32
    return salt


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_it_does_what_the_compiled_firmware_does(board, seed):
    rng = random.Random(seed)
    firmware, decoder, seq = new_firmware(Calibration(wheel_radius=0.3)), new_decoder(), 65400
    enabled = session = 0
    for k in range(1, 800):
        line = b"" if session and rng.random() > 0.6 * firmware["foreign"] else b"\0" + request(k)
        for _ in range(rng.choice((1, 1, 1, 0, 2)) if rng.random() < 0.95 else 0):
            seq += 1
            flags = rng.choices((COMMAND_ENABLE, COMMAND_CLEAR), (12, 1))[0]
            number = session ^ (rng.random() < 0.005)
            line += command(seq, rng.randint(-9000, 9000), flags, number, k - 2 - (rng.random() < 0.02))
        if rng.random() < 0.1:
            line += rng.randbytes(rng.randint(1, 300)) + request(0)
        if k % 100 > 90:
            line = b""
        stop = rng.random() < 0.02
        (board.press if stop else board.release)()
        board.hear(line)
        board.registers[TIM4 + CNT] = k % 2  # bars that move
        firmware["stop_button"] = stop
        firmware_receive(firmware, decoder, as_bytes(line), len(line))
        T = firmware_latch(firmware, k * PERIOD_us * 1e-6)
        *hello, sample = heard(board.tick())
        assert sample.t_us == k * PERIOD_us
        assert (sample.status, sample.command_seq) == (firmware["raw"]["status"], firmware["raw"]["command_seq"])
        assert sample.rejected == firmware["rejected"] % 256
        assert sample.refused == firmware["refused"] % 256
        assert len(hello) == firmware["hello_pending"]
        firmware["seq"], firmware["salt"] = k, stirred(int(firmware["salt"]), sample)
        assert all(said.session == firmware["hello"]["session"] for said in hello)
        session = int(firmware["session"])
        firmware["hello_pending"] = 0
        assert board.heartbeat == firmware["heartbeat"]
        if firmware["enabled"]:
            assert board.torque_mNm == pytest.approx(1e3 * T, abs=10_000 / board.chip.pwm_top)
            enabled += 1
        else:
            assert board.torque_mNm is None
    assert enabled > 100
    assert firmware["trips"] > 0
    assert firmware["refused"] > 2
    assert board.heard > 5 * RX_SIZE


def test_stop_button_needs_no_program(board):
    assert open_session(board) == 1234
    for seq in range(3):
        board.hear(command(seq, 2000, COMMAND_ENABLE if seq else COMMAND_CLEAR))
        board.tick()
    assert board.torque_mNm == pytest.approx(2000, abs=3)
    board.press()
    assert board.torque_mNm is None
    board.release()  # before the program has looked
    board.hear(command(3, 2000))
    assert heard(board.tick())[0].status == 4
    assert board.torque_mNm is None


class CountingBoard(Board):
    """A board that counts the edges of the heartbeat's pin, whatever writes it."""

    edges = 0

    def _write(self, *args) -> None:
        before = self.heartbeat
        super()._write(*args)
        self.edges += self.heartbeat != before


def test_the_heartbeat_has_an_edge_at_each_enabled_instant_and_none_in_a_halt_or_a_reset(image):
    board = CountingBoard(image)
    board.start()
    open_session(board)
    levels = []
    for seq in range(8):
        board.hear(command(seq, 0, COMMAND_ENABLE if seq else COMMAND_CLEAR))
        board.tick()
        levels.append(board.heartbeat)
    assert levels == [False, True, False, True, False, True, False, True]
    for _ in range(10):  # the computer is silent: 25 ms after its last sample the watchdog strikes
        board.tick()
        levels.append(board.heartbeat)
    assert levels[8:] == [False, True] + 8 * [False]
    board.registers[board.outputs] |= HEARTBEAT
    before = board.edges
    board.uc.emu_start(board.symbols["halt"] | 1, board.asleep, count=100_000)
    assert board.edges == before
    board.start()
    assert board.edges == before + 1, "it falls, and no pulse begins"


def test_what_a_node_does_not_carry_keeps_no_heartbeat_off(tmp_path, image):
    chip = image[0].name
    board = Board(
        built(tmp_path, chip, f"DEFINES=-DABSENT={FAULT_DRIVE | FAULT_IMU | FAULT_ENCODER | FAULT_BUS}"), imu=0
    )
    board.registers[board.inputs], board.unplugged, board.volts[0] = 0, True, 0.0
    board.start()
    open_session(board)
    for seq in range(100):
        board.hear(command(seq, 0, COMMAND_ENABLE if seq else COMMAND_CLEAR))
        (sample,) = heard(board.tick())
        assert (sample.faults, sample.status, board.heartbeat) == (0, int(seq > 0), seq % 2 == 1)
    board.press()
    board.hear(command(100))
    assert heard(board.tick())[0].status == 4
    board.tick()
    assert board.heartbeat


def test_readings(board):
    counts = np.array([100, -200, 32767, 0, -8192, 5])
    for i, value in enumerate(np.concatenate([counts[3:], [0], counts[:3]])):
        board.imu[0x3B + 2 * i], board.imu[0x3C + 2 * i] = divmod(int(value) & 0xFFFF, 256)
    total = 0
    for step in (300, -700, 500, 1999, -1999, -1000):
        total += step
        board.registers[TIM4 + CNT] = total % 65536
        (sample,) = heard(board.tick())
        assert sample.steer_counts == total
        assert sample[2:8] == tuple(counts)
    assert sample.faults == 0
    board.volts[1] = 1.65 + 0.15
    (sample,) = heard(board.tick())
    assert sample.torque_mNm == pytest.approx(1500, abs=20)
    board.volts[1] = 3.3
    assert heard(board.tick())[0].torque_mNm == -32768


@pytest.mark.parametrize("lines", [0, 1 << 6, 1 << 7, ENCODER])
def test_an_unplugged_encoder_is_told_apart_from_one_at_rest(board, lines):
    board.registers[board.inputs] = READY | lines
    (sample,) = heard(board.tick())
    assert (sample.steer_counts, sample.faults) == (0, 0)
    board.unplugged = True
    (sample,) = heard(board.tick())
    assert (sample.steer_counts, sample.faults) == (-(2**31), FAULT_ENCODER)


PIN, POWER, SOFTWARE, WATCHDOG = (1 << bit for bit in (26, 27, 28, 29))


@pytest.mark.parametrize(
    ("flags", "cause"),
    [(PIN | POWER, 1), (PIN | WATCHDOG, 3), (PIN, 4), (PIN | SOFTWARE, 5), (0, 0)],
)
def test_hello_says_why_it_started_and_who_it_is(image, flags, cause):
    board = Board(image)
    board.registers[board.chip.rcc + board.chip.causes] = flags
    board.start()
    board.hear(request(1))
    hello, _ = heard(board.tick())
    assert (hello.reset_cause, hello.flash_good, hello.serial) == (cause, 1, SERIAL)


def test_a_supply_that_came_back_before_the_memory_forgot_is_a_brown_out(board):
    board.registers[board.chip.rcc + board.chip.causes] = PIN | POWER
    board.registers[board.chip.tim1 + BDTR] = 0
    board.start()
    board.hear(request(1))
    assert heard(board.tick())[0].reset_cause == 2


def test_a_program_with_a_wrong_bit_says_so(image):
    board = Board(image)
    at = FLASH + 4 * 30  # of a vector that nobody uses
    board.uc.mem_write(at, bytes([board.uc.mem_read(at, 1)[0] ^ 1]))
    board.start()
    board.hear(request(1))
    assert heard(board.tick())[0].flash_good == 0


@pytest.mark.parametrize("interval_us", [400, 6300, 65_400, 66_000])
def test_wheel(board, interval_us):
    rate = 2 * np.pi / 60 / (1e-6 * interval_us)
    pulse, samples = 1000.0, []
    for k in range(1, 300):
        while pulse < k * PERIOD_us:
            board.roll(pulse)
            pulse += interval_us
        samples.append(heard(board.tick())[0].wheel_mrad_s)
    settled = samples[2 * interval_us // PERIOD_us + 3 :]
    assert np.array(settled) == pytest.approx(1e3 * rate, rel=3e-3)
    standing = [heard(board.tick())[0].wheel_mrad_s for _ in range((500_000 + interval_us) // PERIOD_us + 2)]
    assert standing == sorted(standing, reverse=True)  # slower and slower, as far as can be told
    assert standing[-1] == 0


@pytest.mark.parametrize(
    ("cause", "fault"),
    [
        (lambda board: board.registers.update({board.inputs: 0}), FAULT_DRIVE),
        (lambda board: board.imu.update({0x1C: 0}), FAULT_IMU),
        (lambda board: board.imu.update({0x1C: 0xFF}), FAULT_IMU),
        (lambda board: board.registers.update({TIM4 + CNT: 3000}), FAULT_ENCODER),
        (lambda board: board.volts.update({0: 17.5 / 11}), FAULT_BUS),
        (lambda board: board.volts.update({0: 31.0 / 11}), FAULT_BUS),
    ],
)
def test_faults(board, cause, fault):
    open_session(board)
    for seq in range(3):
        board.hear(command(seq, 2000, COMMAND_ENABLE if seq else COMMAND_CLEAR))
        board.tick()
    cause(board)
    board.hear(command(3, 2000))
    (sample,) = heard(board.tick())
    assert sample.faults == fault
    assert board.torque_mNm is None
    if fault == FAULT_IMU:
        assert sample[2:8] == (-32768,) * 6


@pytest.mark.parametrize(("name", "fault"), [(0x70, 0), (0x71, 0), (0x98, 0), (0x68, FAULT_IMU), (0xFF, FAULT_IMU)])
def test_another_inertial_sensor_is_none(image, name, fault):
    board = Board(image, imu=name)
    board.start()
    (sample,) = heard(board.tick())
    assert sample.faults == fault
    assert (sample.gyro_x_counts == -32768) == (fault != 0)


def test_hello_names_the_board(board):
    board.hear(request(1))
    assert heard(board.tick())[0].firmware.startswith(f"riderless {board.chip.name[5:]}".encode())


@pytest.fixture(scope="module", params=CHIPS)
def absolute_image(tmp_path_factory, request):
    return built(tmp_path_factory.mktemp("absolute"), request.param, "ENCODER=as5047p", suffix="-as5047p")


@pytest.fixture
def absolute(absolute_image) -> Board:
    board = Board(absolute_image)
    board.encoder = AbsoluteEncoder()
    board.start()
    return board


def test_an_absolute_encoder_knows_its_angle_from_the_start_and_counts_turns(absolute):
    assert heard(absolute.tick())[0].steer_counts == 1000
    for angle, counts in ((16000, -384), (15000, -1384), (16383, -1), (0, 0), (1500, 1500), (100, 100)):
        absolute.encoder.registers[0x3FFF] = angle
        (sample,) = heard(absolute.tick())
        assert (sample.steer_counts, sample.faults) == (counts, 0)
    for k in range(1, 20):  # more than a turn
        absolute.encoder.registers[0x3FFF] = (100 + 1000 * k) % 16384
        assert heard(absolute.tick())[0].steer_counts == 100 + 1000 * k
    absolute.hear(request(1))
    assert heard(absolute.tick())[0].steer_counts_per_turn == 16384


@pytest.mark.parametrize(
    "spoil",
    [
        lambda encoder: setattr(encoder, "damage", 0x0010),  # a bit on the wire
        lambda encoder: setattr(encoder, "unplugged", True),
        lambda encoder: encoder.registers.update({0x3FFC: 0x080}),  # not ready
        lambda encoder: encoder.registers.update({0x3FFC: 0x380}),  # it cannot compute
        lambda encoder: encoder.registers.update({0x3FFC: 0x500}),  # its magnet is too near
        lambda encoder: encoder.registers.update({0x3FFC: 0x9FF}),  # too far
        lambda encoder: encoder.registers.update({0x0001: 1}),  # it missed a frame
    ],
)
def test_an_absolute_encoder_that_is_not_well_is_no_reading(absolute, spoil):
    assert heard(absolute.tick())[0].faults == 0
    spoil(absolute.encoder)
    (sample,) = heard(absolute.tick())
    assert (sample.steer_counts, sample.faults) == (-(2**31), FAULT_ENCODER)
    absolute.encoder.damage, absolute.encoder.unplugged = 0, False
    absolute.encoder.registers[0x3FFC] = 0x180
    heard(absolute.tick())
    (sample,) = heard(absolute.tick())
    assert (sample.steer_counts, sample.faults) == (1000, 0)


def test_an_absolute_encoder_that_jumps_is_a_fault(absolute):
    heard(absolute.tick())
    absolute.encoder.registers[0x3FFF] = 4000
    assert heard(absolute.tick())[0].faults == FAULT_ENCODER
    assert heard(absolute.tick())[0].faults == 0


def test_an_absolute_encoder_of_nothing_but_zeros_is_none(absolute):
    absolute.encoder.registers = dict.fromkeys(absolute.encoder.registers, 0)
    assert heard(absolute.tick())[0].faults == FAULT_ENCODER


def test_an_inertial_sensor_beside_an_absolute_encoder_is_still_read(absolute):
    absolute.imu[0x3B], absolute.imu[0x3C] = 1, 2
    (sample,) = heard(absolute.tick())
    assert (sample.accel_x_counts, sample.faults) == (258, 0)


@pytest.fixture(scope="module", params=CHIPS)
def ssi_image(tmp_path_factory, request):
    return built(tmp_path_factory.mktemp("ssi"), request.param, "ENCODER=rmb20", suffix="-rmb20")


@pytest.fixture
def ssi(ssi_image) -> Board:
    board = Board(ssi_image)
    board.encoder = SsiEncoder()
    board.encoder.board = board
    board.start()
    return board


def test_an_ssi_encoder_knows_its_angle_from_the_start_and_counts_turns(ssi):
    assert heard(ssi.tick())[0].steer_counts == 1000
    for angle, counts in ((1700, 1700), (1000, 1000), (200, 200), (8100, -92), (7500, -692), (100, 100)):
        ssi.encoder.angle = angle
        (sample,) = heard(ssi.tick())
        assert (sample.steer_counts, sample.faults) == (counts, 0)
    ssi.hear(request(1))
    assert heard(ssi.tick())[0].steer_counts_per_turn == 8192
    ssi.encoder.angle = 1200
    assert heard(ssi.tick())[0].faults == FAULT_ENCODER, "it jumped"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda encoder: setattr(encoder, "damage", (lambda frame: 0xFFFF,)),  # nobody drives the line
        lambda encoder: setattr(encoder, "damage", (lambda frame: 0,)),
        lambda encoder: setattr(encoder, "damage", (lambda frame: frame ^ 0x0400 * (encoder.frames % 2),)),
        lambda encoder: setattr(encoder, "jumps", 30),  # it turns faster than any bars
    ],
)
def test_an_ssi_encoder_that_is_not_well_is_no_reading(ssi, spoil):
    assert heard(ssi.tick())[0].faults == 0
    spoil(ssi.encoder)
    (sample,) = heard(ssi.tick())
    assert (sample.steer_counts, sample.faults) == (-(2**31), FAULT_ENCODER)
    ssi.encoder.damage, ssi.encoder.jumps, ssi.encoder.angle = (), 1, 1000
    (sample,) = heard(ssi.tick())
    assert (sample.steer_counts, sample.faults) == (1002, 0)

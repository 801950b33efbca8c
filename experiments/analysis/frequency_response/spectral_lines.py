"""Spectral lines of a frequency response.

They share no data, and each has the error that its own surroundings show. The spectrum of the whole record, without a
window, is cut into blocks of neighbouring bins. In a block the measured spectrum of an output is Y = g Y0 + L + noise.
Y0 is that of theory's response to the very torque that was played, simulated from rest; g, one complex number, is
measured over predicted; L, a straight line in frequency, takes up what leaks in from outside the record (the local
polynomial method of Pintelon and Schoukens 2012, chapter 7, about the prediction). The beginning from rest is part of
Y0, so no transient has to be waited for or biases g. What is left over is the noise of that block. Of a multisine of
several periods only some of the bins are played; those between them hold noise alone, which is the scatter from period
to period seen in frequency.

Blocks share no bin, and bins of a record without a window are uncorrelated. Lines of Welch's method are not: they
overlap by the width of the window, and its segments overlap in time.
"""

from dataclasses import dataclass

import numpy as np

from riderless.models.array_types import Array, ComplexArray

BLOCK_WIDTH = 0.1  # Hz of a block
MIN_BLOCK_BINS = 7  # bins of a block
LEAKAGE_TERMS = 2  # complex unknowns of L


@dataclass(frozen=True, eq=False)
class SpectralLines:
    """Measured over predicted for p outputs at m lines.

    Attributes
    ----------
    f : (m,)
        Hz, where the block was excited.
    ratio : (m, p)
        Complex.
    covariance : (m, p, p)
        Complex, E[d d^H] of the errors d of a line's ratios.
    freedom : int
        Complex degrees of freedom from which the covariance was estimated.
    coherence : (m, p)
        Share of an output's power that the torque played explains.
    bins : int
        In a block.
    """

    f: Array
    ratio: ComplexArray
    covariance: ComplexArray
    freedom: int
    coherence: Array
    bins: int


def block_size(length: float) -> int:
    """Bins of a block for a record of ``length`` s; odd."""
    n = max(MIN_BLOCK_BINS, round(BLOCK_WIDTH * length))
    return n + 1 - n % 2


def measure_lines(
    played: Array, measured: Array, predicted: Array, rate: float, band: tuple[float, float]
) -> SpectralLines:
    """Measure the spectral lines of a band.

    Parameters
    ----------
    played : (n,)
        Torque [N m].
    measured, predicted : (p, n)
        Outputs, and theory's response to ``played``.
    rate : float
        Hz.
    band : (float, float)
        Hz, what was excited.
    """
    n = len(played)
    size = block_size(n / rate)
    first, last = int(np.ceil(band[0] * n / rate)), int(np.floor(band[1] * n / rate))
    count = max((last - first + 1) // size, 0)
    inside = slice(first, first + count * size)

    def blocks(y: Array) -> ComplexArray:
        """Spectra of p signals in m blocks, (m, p, size)."""
        from scipy import signal  # half a second to load, for a run that played a torque only

        spectra = np.fft.rfft(signal.detrend(y))[..., inside]
        return np.asarray(spectra.reshape(-1, count, size).swapaxes(0, 1), complex)

    f = np.fft.rfftfreq(n, 1.0 / rate)[inside].reshape(count, size)
    power = np.abs(blocks(played)[:, 0]) ** 2
    leak = np.linalg.qr(np.vander(np.linspace(-1.0, 1.0, size), LEAKAGE_TERMS))[0]
    Y, Y0 = (z - (z @ leak) @ leak.T for z in map(blocks, (measured, predicted)))
    energy = np.sum(np.abs(Y0) ** 2, axis=-1)
    ratio = np.sum(Y * Y0.conj(), axis=-1) / energy
    residual = Y - ratio[..., None] * Y0
    freedom = size - LEAKAGE_TERMS - 1
    noise = residual @ residual.conj().swapaxes(1, 2) / freedom
    # the error of a ratio is sum(noise conj(Y0)) / energy: that of two shares the noise as far as their Y0 are alike
    alike = Y0.conj() @ Y0.swapaxes(1, 2)
    covariance = noise * alike / (energy[:, :, None] * energy[:, None, :])
    explained = np.abs(ratio) ** 2 * energy
    coherence = explained / (explained + size * np.einsum("mii->mi", noise).real)
    return SpectralLines(np.sum(power * f, axis=1) / np.sum(power, axis=1), ratio, covariance, freedom, coherence, size)

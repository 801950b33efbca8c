"""Networks: the compiled step beside plain numpy, its linearisation, its file, a ride, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.hil.controllers.law_trials import try_law
from riderless.hil.controllers.network import NetworkController
from riderless.hil.controllers.registry import controller_from_text
from riderless.hil.controllers.timing import LoopTiming
from riderless.hil.loop.law import LAW_INPUTS
from riderless.hil.runners.simulated_run import simulate
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.file_format import dump_toml, load_toml
from riderless.models.plant.plant import Kick
from tests.hil.machine import gains, rig_of

INPUTS = ("phi", "delta", "phi_dot", "delta_dot", "phi_ref")


def network(sizes=(7, 5, 1), **changes):
    rng, width, layers = np.random.default_rng(1), len(INPUTS) + 1, []
    for neurons in sizes:
        layers.append((rng.normal(size=(neurons, width)) / width, rng.normal(size=neurons)))
        width = neurons
    given = {"bicycle": load_bicycle("Silver"), "loop": LoopTiming(), "speeds": (3.0, 7.0), "inputs": INPUTS}
    return NetworkController(**given | {"layers": tuple(layers)} | changes)


def answer(made, s, v):
    """What the network says to inputs s at a speed, by plain numpy."""
    sides = []
    for sign in (1.0, -1.0):
        y = np.append(sign * np.asarray(s), v)
        for number, (W, b) in enumerate(made.layers, 1):
            y = W @ y + b if number == len(made.layers) else np.tanh(W @ y + b)
        sides.append(float(y[0]))
    return 0.5 * (sides[0] - sides[1])


def rows_of(values, v):
    rows = np.zeros((len(values), len(LAW_INPUTS)))
    rows[:, [LAW_INPUTS.index(name) for name in INPUTS]] = values
    rows[:, LAW_INPUTS.index("v")] = v
    return rows


@pytest.mark.parametrize("sizes", [(1,), (7, 1), (7, 5, 1), (3, 12, 4, 1)])
def test_the_compiled_step_answers_as_numpy_does(sizes):
    made, values = network(sizes), np.random.default_rng(2).normal(size=(20, len(INPUTS)))
    law = made.law()
    trial = try_law(law, np.zeros((20, law.states)), rows_of(values, 4.5))
    np.testing.assert_allclose(trial.wishes, [answer(made, s, 4.5) for s in values], rtol=0.0, atol=1e-13)


def test_it_is_odd_and_its_linearisation_is_the_slope_at_rest():
    made = network()
    assert answer(made, np.zeros(5), 5.0) == 0.0
    slopes = [(answer(made, 1e-5 * e, 5.0) - answer(made, -1e-5 * e, 5.0)) / 2e-5 for e in np.eye(5)]
    np.testing.assert_allclose(made.linearised(5.0).D, slopes, rtol=0.0, atol=1e-8)


def test_its_file_reads_back_to_the_last_bit():
    made = network()
    again = controller_from_text(made.to_toml())
    assert again.to_toml() == made.to_toml()
    for (W, b), (W2, b2) in zip(made.layers, again.layers, strict=True):
        assert np.array_equal(W, W2)
        assert np.array_equal(b, b2)


def test_a_network_of_one_layer_rides_as_the_gains_do():
    rig = rig_of()
    lqr = gains(rig)
    K = lqr.gains(5.0)
    lqr = replace(lqr, K=np.tile(K, (len(lqr.v), 1)))  # the same at every speed
    made = NetworkController(
        bicycle=rig.bicycle,
        loop=lqr.loop,
        speeds=(4.5, 5.5),
        inputs=lqr.inputs,
        layers=((np.append(-K, 0.0)[None, :], np.zeros(1)),),
    )
    by_network, by_gains = (
        simulate(rig.bicycle, law, speed=5.0, kicks=[Kick(0.6, impulse=3.0)], duration=3.0) for law in (made, lqr)
    )
    assert np.abs(by_gains.ticks["phi_est"]).max() > 0.02
    np.testing.assert_allclose(by_network.ticks["T_cmd"], by_gains.ticks["T_cmd"], rtol=0.0, atol=1.1e-3)  # one count


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"inputs": INPUTS[:3]}, r"layer 1 wants W \(7, 4\)"),
        ({"layers": ((np.zeros((1, 6)), np.array([np.nan])),)}, "finite numbers, found nan"),
        ({"layers": ()}, "1 to 8 layers, found 0"),
        ({"inputs": ("phi", "lean", "phi_dot", "delta_dot", "phi_ref")}, "found 'lean'"),
        ({"speeds": (5.0, 4.0)}, "slowest and the fastest"),
    ],
)
def test_what_is_no_network_is_refused(changes, words):
    with pytest.raises(InputError, match=words):
        network(**changes)


def test_a_file_that_is_no_network_is_refused():
    table = load_toml(network().to_toml())
    del table["loop"]
    with pytest.raises(InputError, match="is no network"):
        controller_from_text(dump_toml(table))

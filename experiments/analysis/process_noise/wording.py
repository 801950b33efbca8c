"""Random torques of a campaign in words, and as a document."""

from collections.abc import Iterator, Sequence
from typing import Any

from riderless.experiments.datatypes import ProcessNoise, Response
from riderless.experiments.theory.theory import theory_for
from riderless.models.linear.whipple import totals
from riderless.models.parameters import Bicycle

WORTH_A_WORD = 0.01  # of the other torque: less than that is not worth a word


def noise_of_bicycles(responses: Sequence[Response]) -> Iterator[tuple[Bicycle, ProcessNoise]]:
    """Give each bicycle that random torques drove, once."""
    told = set()
    for response in responses:
        if response.process_noise is not None:
            bicycle = theory_for(response).bicycle
            if bicycle.name not in told:
                told.add(bicycle.name)
                yield bicycle, response.process_noise


def noise_sentence(bicycle: Bicycle, noise: ProcessNoise) -> str:
    """Say how strong random torques were: as a side force at the height of the centre of mass, and on the steer."""
    parts = []
    lean, steer = noise.lean_torque, noise.steer_torque
    if lean > WORTH_A_WORD * steer:
        force = lean / side_force_height(bicycle)
        parts.append(f"a side force of about {force:.2g} N rms on {bicycle.name} ({lean:.2g} N m on the lean)")
    if steer > WORTH_A_WORD * lean:
        parts.append(f"a torque of {steer:.2g} N m rms on {'its steer' if parts else f'the steer of {bicycle.name}'}")
    return f"wind, belt or road: {' and '.join(parts)}, over {noise.time:g} s; all errors count it"


def side_force_height(bicycle: Bicycle) -> float:
    """Height of the centre of mass of the whole bicycle [m]."""
    return -totals(bicycle).zT


def noise_json(responses: Sequence[Response]) -> list[dict[str, Any]]:
    """Document of the random torques, one for each bicycle that has some, SI."""
    return [
        {
            "bicycle": bicycle.name,
            "torque_covariance": noise.covariance.tolist(),
            "lean_torque_std": noise.lean_torque,
            "steer_torque_std": noise.steer_torque,
            "time": noise.time,
            "sentence": noise_sentence(bicycle, noise),
        }
        for bicycle, noise in noise_of_bicycles(responses)
    ]

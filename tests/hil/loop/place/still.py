"""A place known well, for tests of the tracker step by step."""

import math

import numpy as np

from riderless.firmware_interface.devices.link import LINK_STATE, ROLE_DRIVE, ROLE_PLACE
from riderless.firmware_interface.messages import FIX_PSI, FIX_X, FIX_Y, SAMPLE
from riderless.hil.loop.observer import ESTIMATE
from riderless.hil.loop.place.settings import PlaceSettings
from riderless.hil.loop.place.tracker import new_place, track_place
from riderless.hil.loop.states import Symptom
from riderless.models import load_bicycle

DT, V = 0.01, 4.0
LN2 = math.log(2.0)
NOTHING, LOST, EDGE, OFF = (
    int(symptom) for symptom in (Symptom.NONE, Symptom.PLACE_LOST, Symptom.BELT_EDGE, Symptom.OFF_BELT)
)


def settings(**how):
    return PlaceSettings(**how).as_record(load_bicycle("Silver"), DT)


class Still:
    """A place known well, of a bicycle at (0, 0) along the lane; no sample moves it, so a fix alone does."""

    def __init__(self, known=True, held=False, **how):
        self.o, self.p, self.held = settings(**how), new_place(), held
        self.links = np.zeros(2, LINK_STATE)
        self.links["role"] = ROLE_DRIVE, ROLE_PLACE
        self.e, self.sample = np.zeros(1, ESTIMATE)[0], np.zeros(1, SAMPLE)[0]
        self.e["v"] = V
        n = 10
        self.p["past_t"][:n] = 1.0 + DT * np.arange(n)
        self.p["head"] = self.p["filled"] = n
        self.p["t"], self.p["t_fix"] = self.p["past_t"][n - 1], self.p["past_t"][n - 1] - 0.5 * LN2 / 2.0
        self.p["known"], self.p["agree"], self.p["age"] = known, 7 if known else 0, 0.1

    def hear(self, y=0.0, x=None, psi=None, age=0.0, sigma=0.0, dt=0.0, has=FIX_Y):
        """A fix [m, rad, s] comes; returns what is noticed."""
        fix = self.links[1]["fix"]
        fix["seq"] += 1
        fix["y_mm"], fix["age_us"], fix["sigma_mm"] = round(1e3 * y), round(1e6 * age), round(1e3 * sigma)
        fix["has"] = has | (FIX_X if x is not None else 0) | (FIX_PSI if psi is not None else 0)
        fix["x_mm"], fix["psi_urad"] = round(1e3 * (x or 0.0)), round(1e6 * (psi or 0.0))
        return self.tick(dt)

    def tick(self, dt=0.0, fresh=False):
        return track_place(self.o, self.p, self.links, self.e, self.sample, fresh, self.held, dt)

    def __getitem__(self, name):
        return float(self.p[name])

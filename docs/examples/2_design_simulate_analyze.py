"""Design a controller, kick the bicycle in simulation, and compare its motion with theory."""

import numpy as np

import riderless as rl

silver = rl.load_bicycle("Silver")
gains = rl.design(silver, "poles", np.arange(2.0, 8.5, 0.5), zeta=0.2)  # swings long enough to be measured
run = rl.simulate(silver, gains, speed=4.5, kicks=[rl.Kick(0.6, impulse=4.0)], model="nonlinear", duration=8.0)

result = rl.analyze(run)
print(result)
print(result.table())
for window in result.comparisons:
    print(
        f"measured {window.fit.re:.2f} ± {window.fit.re_std:.2f} 1/s, predicted {window.prediction.like.real:.2f} 1/s"
    )
print("report:", result.write_report("report"))

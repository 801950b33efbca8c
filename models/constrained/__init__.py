"""Rigid bodies with constraints: the second derivation.

Bodies in Cartesian coordinates, independent of the Kane derivation. Every body keeps all its freedom (three velocities
in the plane, six in space). A constraint is one equation f = 0, differentiated until a reaction appears in it and then
told to decay::

    f'' + 2 lam f' + lam^2 f = 0    for a constraint on positions
    f' + lam f = 0                  for a constraint on velocities

With M w' = F + B N, all of them together are the linear equations A N = -phi for the reactions N, where
A = J M^-1 B (Matrosov, Morozov and Pesterev 2021; Yudintsev 2008 after Wittenburg). lam = 0 is the classical method,
whose errors grow; lam > 0 lets them decay, so any integrator serves.

Read in this order: `jets` (quantities that know their derivatives), `planar` and `spatial` (bodies), `constraints`,
`system` (bodies + constraints + loads: A N = -phi, in time). `tree` holds
the textbook's other method; `bicycle` and `servo` are what this is for; `examples` the rest.
"""

"""Bicycles in the formats of other programs: parameter files of BicycleParameters, constants of SymBRiM."""

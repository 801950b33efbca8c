"""Bicycles in the formats of other programs.

Parameter files of BicycleParameters, constants of SymBRiM.
"""

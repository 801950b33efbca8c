"""Judgement of numbers said to be of a bicycle: the units they may carry, plausible ranges, likely mistakes."""

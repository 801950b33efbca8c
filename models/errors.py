"""Errors of input that a person can correct.

Also the warning about an unusual bicycle, and the search for the known word that a misspelt one means.
"""

from collections.abc import Iterable


class InputError(ValueError):
    """Wrong input by the user.

    The message is one sentence for that person: what was wanted, what was found (with unit), and
    what to do. The command line prints it and exits with code 2; it never shows a traceback.
    """


class UnusualBicycle(UserWarning):
    """Bicycle unlike any other that is trusted all the same; the message is one line that says what is unusual."""


def nearest(word: str, known: Iterable[str], n: int = 1) -> list[str]:
    """Up to ``n`` known words that look like ``word``, whatever their case."""
    from difflib import get_close_matches

    folded = {each.casefold(): each for each in known}
    return [folded[match] for match in get_close_matches(word.casefold(), folded, n=n)]


def did_you_mean(word: str, known: Iterable[str], otherwise: str, n: int = 1) -> str:
    """Ask whether a known word is meant that looks like the one found; for the end of a message.

    Parameters
    ----------
    word : str
        Found.
    known : iterable of str
    otherwise : str
        To be said where none looks like it.
    n : int
        Greatest number of words to ask about.
    """
    close = nearest(word, known, n)
    return f"did you mean {' or '.join(close)}?" if close else otherwise

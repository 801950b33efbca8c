"""Exception for input that a person can put right, and warning of input that a person vouches for."""


class InputError(ValueError):
    """Wrong input by the user.

    The message is one sentence for that person: what was wanted, what was found (with unit), and
    what to do. The command line prints it and exits with code 2; it never shows a traceback.
    """


class UnusualBicycle(UserWarning):
    """Bicycle unlike any other that is trusted all the same; the message is one line that says what is unusual."""

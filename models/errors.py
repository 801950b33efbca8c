"""Exception for input that a person can put right."""


class InputError(ValueError):
    """Wrong input by the user.

    The message is one sentence for that person: what was wanted, what was found (with unit), and
    what to do. The command line prints it and exits with code 2; it never shows a traceback.
    """

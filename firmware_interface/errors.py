"""Exception of a faulty device or port."""


class DeviceError(RuntimeError):
    """Device that is missing, silent or speaks something else.

    The message is one sentence for the person at the bench: what was expected, what was found,
    what to do.
    """

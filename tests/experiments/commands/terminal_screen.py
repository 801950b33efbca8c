"""A terminal as a person sees it: what a program's bytes leave on a screen of so many columns.

It knows what progress displays use: new line, carriage return, moving up, erasing a line; no more moves its cursor.
"""

import re

_PIECE = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|[\r\n]|[^\x1b\r\n]+")


class Screen:
    """Rows of at most ``columns`` cells; ``broken`` keeps each line that did not fit, as a terminal breaks it."""

    def __init__(self, columns):
        self.columns = columns
        self.rows, self.row, self.column = [""], 0, 0
        self.broken = []

    def feed(self, text):
        """Take what a program wrote."""
        for piece in _PIECE.finditer(text):
            if piece[2]:
                self._control(piece[1], piece[2])
            elif piece[0] == "\r":
                self.column = 0
            elif piece[0] == "\n":
                self._down()
            else:
                self._write(piece[0])

    def _control(self, numbers, letter):
        if letter == "A":
            self.row = max(0, self.row - int(numbers or 1))
        elif letter == "K":
            line = self.rows[self.row]
            self.rows[self.row] = "" if numbers == "2" else line[: self.column]
        else:
            assert letter in "mhl", f"a control sequence that this screen does not know: {numbers}{letter}"

    def _down(self):
        self.row, self.column = self.row + 1, 0
        if self.row == len(self.rows):
            self.rows.append("")

    def _write(self, text):
        if self.column + len(text) > self.columns:
            self.broken.append(self.rows[self.row][: self.column] + text)
        line = self.rows[self.row].ljust(self.column)
        self.rows[self.row] = line[: self.column] + text + line[self.column + len(text) :]
        self.column += len(text)

"""Run command lines, one after another in this process, as on another system: see `sitecustomize`.

The lines stand in standard input, each behind the exit code that it is to have. The exit code is how many had another;
the output is printed of each that did not end with 0.
"""

import contextlib
import io
import os
import runpy
import shlex
import sys
import traceback

import riderless.experiments.cli

os.environ["COLUMNS"] = "80"


def _run(line: str) -> tuple[int, str]:
    sys.argv = shlex.split(line)
    raw = io.BytesIO()
    output = io.TextIOWrapper(raw, encoding="cp1252", write_through=True)  # as Windows has it behind a pipe
    code = 0
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            if sys.argv[0] == "python":
                sys.argv = sys.argv[1:]
                runpy.run_path(sys.argv[0], run_name="__main__")
            else:
                riderless.experiments.cli.main()
        except SystemExit as ending:
            code = int(ending.code or 0)
        except BaseException:
            code = 99
            traceback.print_exc(file=output)
    return code, raw.getvalue().decode("cp1252")


if __name__ == "__main__":
    failures = 0
    for line in filter(None, map(str.strip, sys.stdin)):
        wanted, _, command = line.partition(" ")
        code, output = _run(command)
        failures += code != int(wanted)
        if code:
            sys.__stdout__.write(f"== {command}: exit code {code}, wanted {wanted}\n{output}\n")
            sys.__stdout__.flush()
    sys.exit(failures)

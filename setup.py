"""Packages of the wheel: the folder models is riderless.models, and so on; example files beside."""

from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOMS = ("models", "firmware_interface", "hil", "experiments")
EXAMPLES = ("campaigns", "rigs", "starter")


class BuildWithExamples(build_py):
    """Copy the examples of docs/ into the wheel; an editable installation reads them in docs/."""

    def run(self):
        super().run()
        if not self.editable_mode:
            packed = Path(self.build_lib, "riderless/experiments/campaigns/examples")
            for folder in EXAMPLES:
                self.copy_tree(f"docs/{folder}", str(packed / folder))


packages = find_packages(include=[pattern for room in ROOMS for pattern in (room, f"{room}.*")])
setup(
    packages=["riderless", *(f"riderless.{package}" for package in packages)],
    package_dir={f"riderless.{room}": room for room in ROOMS},
    cmdclass={"build_py": BuildWithExamples},
)

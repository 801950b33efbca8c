"""Settings of the gallery, and how a moving picture gets into it."""

import shutil
from pathlib import Path

from sphinx_gallery.scrapers import figure_rst

FILES = {"all": r"/\d\d_", "short": r"/0[1235]_"}  # which examples run; the others stand there without their pictures
MOVING = "moving.gif"  # that an example may write beside itself


def moving_picture(block, block_vars, gallery_conf):
    """Take the moving picture that an example has written; empty where it has none."""
    written = Path(block_vars["src_file"]).parent / MOVING
    if not written.exists():
        return ""
    path = Path(next(block_vars["image_path_iterator"])).with_suffix(".gif")
    shutil.move(written, path)
    return figure_rst([str(path)], gallery_conf["src_dir"])


SETTINGS = {
    "examples_dirs": "gallery",
    "gallery_dirs": "gallery_built",
    "image_scrapers": ("matplotlib", "site_builder.gallery.moving_picture"),
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": False,  # -W makes a failed example an error, after the others were run
    "write_computation_times": False,  # its tables would be fetched
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "reset_modules": ("matplotlib",),
    "matplotlib_animations": False,
    "plot_gallery": "True",
}

"""Parts of the site that a program writes: reference pages, drawings, equations."""

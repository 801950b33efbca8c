"""Parts of the site that a program writes: commands, files, causes, equations."""

"""Files beside an export that open it in another program; one program a file, one line in `hil.logs.export`."""

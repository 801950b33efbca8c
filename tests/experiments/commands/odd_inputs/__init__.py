"""What a person may type by mistake: a table for each kind of command, and the folder of odd files that they name."""

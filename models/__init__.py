"""What a bicycle is: numbers in, numbers out. No clock, no file handle, no port."""

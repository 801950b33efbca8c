"""Models of a bicycle: numbers in, numbers out. No clock, no file handle, no port."""

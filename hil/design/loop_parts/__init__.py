"""Parts of the whole sampled loop: instruments, and a drive that obeys a steer rate or angle."""

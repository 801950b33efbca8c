"""Parts of the whole sampled loop: its state, where that starts, and what makes it move."""

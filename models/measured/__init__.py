"""Parameters of a lab's own bicycle, from what it weighed, hung up and let swing; periods; payloads."""

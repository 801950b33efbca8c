"""Speed that the machine keeps by itself: asked, ramped, held, and judged."""

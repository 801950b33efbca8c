"""Equations as MathML, which browsers draw by themselves: docutils translates the TeX."""

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml


def inline(writer, node):
    """Write an equation within a line."""
    writer.body.append(tex2mathml(node.astext()))
    raise SkipNode


def displayed(writer, node):
    """Write an equation on lines of its own."""
    writer.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise SkipNode

"""MATLAB and Octave function that draws an export.

It draws an exported MAT file over time.
"""

import re
from pathlib import Path

from riderless.hil.logs.companions.panels import panels_of
from riderless.hil.logs.log import Run
from riderless.models.harmless_text import harmless

_LONGEST_NAME = 63  # characters of a name in MATLAB

_FUNCTION = """\
function figure_handle = {function}(picture)
% {upper}  Draw the run in {said} over time.
%   {function}            opens a figure
%   {function}('run.png')  saves it as a picture too
%   Runs in MATLAB R2016b and later and in Octave 6 and later. Time is in s from the first row; dashed lines are kicks.
%   Every column: data = load({said_text}); data.ticks.phi_est, data.units.phi_est, data.meanings.phi_est
%   Everything else (bicycle, rig, controller): header = jsondecode(data.riderless)

  data = load(fullfile(fileparts(mfilename('fullpath')), {file}));
  panels = {{ ...
{panels}
  }};
  start = data.ticks.t_host(1);
  t = data.ticks.t_host - start;
  kicks = [];
  for i = 1:numel(data.markers.t)
    if strcmp(data.markers.kind{{i}}, 'kick')
      kicks(end + 1) = data.markers.t(i) - start; %#ok<AGROW>
    end
  end

  figure_handle = figure('Position', [60 40 900 1000], 'PaperUnits', 'centimeters', 'PaperPosition', [0 0 18 22]);
  n = size(panels, 1);
  for i = 1:n
    axes_handle = axes('Position', [0.10, 0.06 + 0.92 * (n - i) / n, 0.87, 0.68 / n], 'FontSize', 9);
    hold(axes_handle, 'on');
    columns = panels{{i, 2}};
    for j = 1:numel(columns)
      plot(axes_handle, t, double(data.ticks.(columns{{j}})));
    end
    xlim(axes_handle, [0 max([t(end) eps])]);
    limits = ylim(axes_handle);
    for kick = kicks
      plot(axes_handle, [kick kick], limits, 'k--', 'HandleVisibility', 'off');
    end
    ylim(axes_handle, limits);
    legend(axes_handle, columns, 'Interpreter', 'none', 'Location', 'northwest', 'FontSize', 7);
    ylabel(axes_handle, data.units.(columns{{1}}), 'Interpreter', 'none');
    title(axes_handle, panels{{i, 1}}, 'Interpreter', 'none', 'FontWeight', 'normal', 'FontSize', 9);
    grid(axes_handle, 'on');
    if i < n
      set(axes_handle, 'XTickLabel', {{}});
    end
  end
  xlabel(axes_handle, 't [s]');
  if nargin > 0
    print(figure_handle, picture, '-dpng');
  end
end
"""


def matlab_place(path: Path) -> Path:
    """Place of the function beside the MAT file; its name is one that MATLAB can call."""
    name = re.sub(r"\W", "_", f"plot_{path.stem}", flags=re.ASCII)[:_LONGEST_NAME]
    return path.with_name(f"{name}.m")


def matlab_function(run: Run, path: Path) -> str:
    """Write the function that draws the MAT file at ``path``."""
    function = matlab_place(path).stem
    lines = [
        f"    {_text(panel.title)}, {{{', '.join(map(_text, panel.columns))}}}"
        for panel in panels_of(run.ticks.dtype.names or (), run.header.drive_kind)
    ]
    panels = "; ...\n".join(lines) + " ..."
    name = harmless(path.name)  # in comments
    return _FUNCTION.format(
        function=function,
        upper=function.upper(),
        said=name,
        said_text=_text(name),
        file=_text(path.name),
        panels=panels,
    )


def _text(words: str) -> str:
    """Write words as a text of MATLAB; other than printable ASCII by their bytes, for a text ends with its line."""
    if not (words.isascii() and words.isprintable()):
        return f"native2unicode(uint8([{' '.join(map(str, words.encode()))}]), 'UTF-8')"
    return "'" + words.replace("'", "''") + "'"

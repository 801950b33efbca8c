"""Odd inputs of the commands that read recordings and files: `analyze`, `identify`, `info`, `export`, `replay` ..."""

from tests.experiments.commands.odd_inputs.theory import LONG

MAPPED = "-m mapping.toml"

REFUSED = {
    # a data package
    "a data package wants its licence, one of CC0-1.0, CC-BY-4.0": ["package run"],
    "found no run in log.csv": ["package log.csv --licence CC0-1.0"],
    # what no report is
    "wanted the folder of a report, with its report.json": [
        f"{command}{folder}{out}"
        for command, out in (("cite ", ""), ("paper ", " -o out"))
        for folder in ("nowhere", "void", "words.txt", "picture.png", "report-list", "report-object", "report-deep")
    ],
    "mapping would be ignored: only files of others need that": [
        "analyze run -m mapping.toml",
        "plot run -m mapping.toml",
        "live run -m mapping.toml --tcp-port 0",
    ],
    "bicycle would be ignored: only files of others need that": ["plot run --bicycle Silver"],
    "a figure is written as .svg, .pdf, .png": ["plot run -o run"],
    "wanted a run folder, found no run.mcap": ["live nowhere --tcp-port 0"],
    "Missing argument": ["analyze", "identify", "info", "export", "replay", "migrate", "plot"],
    "Got unexpected extra argument": ["info run run", "export run run"],
    "File name too long": [f"analyze {LONG}", f"info {LONG}", f"export {LONG}", f"replay {LONG}", f"migrate {LONG}"],
    "oo many levels of symbolic links": ["analyze loop", "info loop", "export run -o loop"],
    # analyze: what is there
    "there is no such file; check the path": ["analyze nowhere"],
    "no run and no recording": ["analyze void", "package void --licence CC0-1.0"],
    "wanted a recording, found a mapping": ["plot mapping.toml"],
    "wanted a recording, found a bicycle": ["analyze silver.toml"],
    "wanted a recording, found gains": ["analyze gains.toml"],
    "wanted the columns of a known kind": [
        "analyze words.txt",
        "live log.csv --tcp-port 0",
        "identify log.csv --free drive_gain",
    ],
    "wanted a readable file of a known format": ["analyze picture.png"],
    "values in every row": [f"analyze log-ragged.csv {MAPPED}"],
    "found an empty file": ["analyze log-empty.csv"],
    "wanted at least 50 rows": [f"analyze log-header-only.csv {MAPPED}"],
    "wanted a column 'time'": [f"analyze log-no-header.csv {MAPPED}"],
    "found 'fast' in column gyro_x, line 901": [f"analyze log-text.csv {MAPPED}"],
    "wanted a column 'gyro_x' in log-same-names.csv": [f"analyze log-same-names.csv {MAPPED}"],
    "wanted numbers, found 'x' in column time": [f"analyze log-no-numbers.csv {MAPPED}"],
    "wanted times that increase": [f"analyze log-holes.csv {MAPPED}"],
    "found one that cannot be read": [f"analyze log-cut.mat {MAPPED}"],
    "is named twice": [f"analyze log.csv log.csv {MAPPED}"],
    "wants rows of four numbers under v_start,v_end,re,im": ["analyze eigenvalues-text.csv"],
    "wanted a run with its header": ["analyze run-torn", "identify run-torn --free drive_gain"],
    "found something else in": ["analyze run-binary", "info run-binary", "export log.csv"],
    "found no run.mcap at nowhere (there is no such file)": ["info nowhere"],
    "report.json, found none at run/report.json (there is no such file)": ["cite run"],
    "--out is given 2 times: give it once": ["export run -o a.csv --out b.csv"],
    "found no run.mcap at": ["analyze run-folder", "info void", "export nowhere", "replay nowhere"],
    # analyze: mappings
    "wanted a mapping file": [
        "analyze log.csv -m nowhere.toml",
        "identify log.csv --free drive_gain --mapping nowhere.toml",
    ],
    "wanted a table [phi_dot], found none": ["analyze log.csv -m empty.toml"],
    "nothing is called 'name'": ["analyze log.csv -m silver.toml"],
    "it is another kind of file": ["analyze log.csv -m gains.toml"],
    "nothing is called 'speed'": ["analyze log.csv -m mapping-unknown-table.toml"],
    "wanted a table [v], found none": ["analyze log.csv -m mapping-no-speed.toml"],
    "[v]: wanted a unit": ["analyze log.csv -m mapping-no-unit.toml", "analyze log.csv -m mapping-wrong-unit.toml"],
    "did you mean belt?": ["analyze log.csv -m mapping-no-column.toml"],
    "wanted a sign of 1 or -1, found 7": ["analyze log.csv -m mapping-sign.toml"],
    "wanted a number for sign, found 'minus'": ["analyze log.csv -m mapping-sign-text.toml"],
    "there is no bicycle 'Delft'": ["analyze log.csv -m mapping-bicycle.toml"],
    "[time]: wanted a unit out of": ["analyze log.csv -m mapping-time-unit.toml"],
    "is its unit ms?": ["analyze log.csv -m mapping-seconds-for-ms.toml"],
    "gyro_x is in degrees/s, not in radians/s": ["analyze log.csv -m mapping-degrees-for-radians.toml"],
    "did you mean delft-sbw?": ["analyze log.csv -m mapping-kind.toml"],
    "update riderless": ["analyze log.csv -m mapping-later-format.toml", "migrate rig-later-format.toml"],
    "wanted a finite number for constant, found nan": ["analyze log.csv -m mapping-constant.toml"],
    "wanted a number for zero, found 'none'": ["analyze log.csv -m mapping-zero-text.toml"],
    "found 0; record it again": ["analyze log.csv -m mapping-skip-huge.toml"],
    "wanted one character for delimiter": ["analyze log.csv -m mapping-delimiter.toml"],
    "wanted a kind out of": ["analyze log.csv --preset magic"],
    "wanted a column 't_s'": ["analyze log.csv --preset kooijman"],
    "there is no bicycle 'Pegasus'": [f"analyze log.csv {MAPPED} --bicycle Pegasus"],
    "wanted an estimator among": [f"analyze log.csv {MAPPED} --estimator magic"],
    # analyze: windows
    "is not a window: give its start and end": [f"analyze log.csv {MAPPED} --window 5"],
    "give a start and a later end within it": [
        f"analyze log.csv {MAPPED} --window 5:4",
        f"analyze log.csv {MAPPED} --window nan:5",
    ],
    "wanted a readable file of windows": [f"analyze log.csv {MAPPED} --windows nowhere.txt"],
    "wanted a file of windows in UTF-8": [f"analyze log.csv {MAPPED} --windows picture.png"],
    "line 1 of notes-verb.txt: wanted veto": [f"analyze log.csv {MAPPED} --windows notes-verb.txt"],
    "line 1 of notes-no-reason.txt: wanted veto": [f"analyze log.csv {MAPPED} --windows notes-no-reason.txt"],
    "wanted a time within a window": [f"analyze log.csv {MAPPED} --windows notes-nowhere.txt"],
    "swap them": [f"analyze log.csv {MAPPED} --windows notes-backwards.txt"],
    "wanted a folder for the report": [f"analyze log.csv {MAPPED} -o words.txt"],
    # identify
    "wanted quantities to identify": ["identify run --free ,"],
    "--free wants names with commas between, found an empty one in 'mB,,drive_gain'": [
        "identify run --free mB,,drive_gain",
    ],
    "'magic'": ["identify run --free magic"],
    "wanted a prior among own, usual, none": ["identify run --free drive_gain --prior strong"],
    "no window was found in these recordings": ["identify log-constant.csv --free drive_gain --mapping mapping.toml"],
    # runs
    "wanted a log (MCAP), found": ["info log.csv", "replay words.txt"],
    "found 40 bytes without one": ["info run-torn", "export run-torn", "replay run-torn"],
    "reads or writes already": ["export run -o run/run.mcap"],
    "runs are exported to csv, parquet, mat, mcap": ["export run --to xls"],
    "a folder: name a file in it": ["export run -o void"],
    "name a writable file": ["export run -o nowhere/ticks.csv"],
    "make room, or name a file on another disk": ["export run -o full"],
    # migrate
    "wanted a gains, rig, campaign, mapping, path or readings file": ["migrate nowhere.toml"],
    "is not valid TOML": ["migrate words.txt"],
    "rig-unknown-key.toml: line": ["migrate rig-unknown-key.toml"],
    "gains-nan.toml: the speeds and gains of a schedule must be finite": ["migrate gains-nan.toml"],
    "campaign-kind.toml: protocol 1 wants a kind": ["migrate campaign-kind.toml"],
    "mapping-unknown-table.toml: nothing is called 'speed'": ["migrate mapping-unknown-table.toml"],
}

ACCEPTED = [
    f"analyze 'log[/b].csv' {MAPPED}",
    "analyze log.csv -m mapping-brackets.toml",
    f"analyze log.csv {MAPPED}",
    f"analyze log-semicolon.csv {MAPPED}",
    f"analyze log-constant.csv {MAPPED}",  # nothing is found, and that is said
    f"analyze log.csv {MAPPED} --window 3:1e300",  # all that is there from 3 s on
    "analyze eigenvalues.csv",
    "info run/run.mcap",
    "migrate gains.toml",
]

"""Odd inputs of the commands that simulate: `simulate`, `campaign`, `faults`."""

from tests.experiments.commands.odd_inputs.theory import LONG

REHEARSED = "--lockstep --dry-run"

REFUSED = {
    "is not in the range": ["simulate Silver --seed -1 -o OUT", f"campaign --seed -1 {REHEARSED}"],
    "--x0 wants a lean within 45 deg": [
        "simulate Silver --x0 nan,0,0,0 -o OUT",
        "simulate Silver --x0 inf,0,0,0 -o OUT",
        "simulate Silver --x0 90,0,0,0 -o OUT",
    ],
    "the gains were designed for Silver, not for Benchmark": [
        "simulate Benchmark --controller gains.toml --speed 4.5 --duration 1 -o OUT"
    ],
    "a kick at 20 s comes after the end of the run": ["simulate Silver --kick 20,4 --duration 1 -o OUT"],
    "keeps no lane, so it follows no path": ["simulate Silver --path path.toml --controller lqr -o OUT"],
    "a place known across": ["simulate Silver --path path.toml --belt 2 -o OUT"],
    "no path file can be read": ["path nowhere.toml", "path void", "simulate Silver --path nowhere.toml -o OUT"],
    "wants a shape among": ["path path-knot.toml", "path empty.toml", "path silver.toml"],
    "says no speed_m_per_s": ["path path-no-speed.toml", "simulate Silver --path path-no-speed.toml -o OUT"],
    "of lean at 10 m, and 21.8 deg leave room for gusts and errors below the limit": ["path path-tight.toml Silver"],
    "radius_m: input should be greater than 0 m (found nan m)": ["path path-nan.toml"],
    "width_m: there is no such key": ["path path-wide.toml"],
    "line 4, speed_m_per_s: input should be greater than 0 m/s (found -4.0 m/s)": ["path path-backwards.toml"],
    "the path nowhere.csv cannot be read": ["path path-points.toml", "path nowhere.csv"],
    "wants columns x and y in m": ["path log.csv"],
    "the limits are 0.3 to 10 m/s": ["path path.toml Silver --speed 40", "path path.toml Silver --speed nan"],
    "it is another kind of file": [
        "path gains.toml",
        "campaign gains.toml",
        f"campaign campaign-rig-is-gains.toml {REHEARSED}",
    ],
    "Missing argument": ["path"],
    "simulate wants a bicycle or --rig FILE": ["simulate"],
    "Got unexpected extra argument": ["simulate Silver Benchmark -o OUT"],
    "is not a valid int": [
        "simulate Silver --seed 1.5 -o OUT",
        "campaign --lockstep --seed one",
        "faults --count many",
    ],
    "is not in the range 0<=x<=90": ["campaign campaign.toml --fifo 99"],
    # simulate
    "there is no bicycle": [
        "simulate Pegasus -o OUT",
        "simulate Silver,Pegasus -o OUT",
        "simulate '' -o OUT",
        "simulate Silver, -o OUT",
    ],
    "w = nan must be a finite number": ["simulate silver-nan.toml -o OUT"],
    "no model is called 'cubic'": ["simulate Silver --model cubic -o OUT", "campaign --lockstep --model cubic"],
    "holds a speed that is not finite": ["simulate Silver --speed nan -o OUT"],
    "speeds must lie from 0 to 50 m/s": ["simulate Silver --speed -5 -o OUT", "simulate Silver --speed 60 -o OUT"],
    "go beyond 200 m/s": ["simulate Silver --speed 1e300 -o OUT"],
    "--x0 wants 4 numbers with commas between": [
        "simulate Silver --x0 0 -o OUT",
        "simulate Silver --x0 0,0,0,0,0 -o OUT",
        "simulate Silver --x0 a,b,c,d -o OUT",
    ],
    "--x0 wants a lean rate and a steer rate within 5729 deg/s, found 1e+09 and 0 deg/s": [
        "simulate Silver --x0 0,0,1e9,0 -o OUT",
    ],
    "--x0 wants a lean rate and a steer rate within 5729 deg/s, found 0 and nan deg/s": [
        "simulate Silver --x0 0,0,0,nan -o OUT",
    ],
    "--duration must be above 0 and below 86400 s": [
        "simulate Silver --duration 0 -o OUT",
        "simulate Silver --duration -1 -o OUT",
        "simulate Silver --duration nan -o OUT",
        "simulate Silver --duration inf -o OUT",
        "simulate Silver --duration 1e9 -o OUT",
    ],
    "cannot be read": ["simulate Silver --controller magic -o OUT", "simulate Silver --controller void -o OUT"],
    "wants format = 'riderless gain schedule 1'": ["simulate Silver --controller rig.toml -o OUT"],
    "must be finite numbers": ["simulate Silver --controller gains-nan.toml -o OUT"],
    "--kick wants 2 numbers with commas between": [
        "simulate Silver --kick 1 -o OUT",
        "simulate Silver --kick 1,2,3 -o OUT",
        "simulate Silver --kick a,b -o OUT",
    ],
    "a kick wants finite numbers, found t = nan; correct it": ["simulate Silver --kick nan,4 -o OUT"],
    "a kick wants finite numbers, found impulse = inf; correct it": ["simulate Silver --kick 1,inf -o OUT"],
    "lane rides along a path, found none: give --path FILE": ["simulate Silver --controller lane -o OUT"],
    "a kick has at most 10000 N s": ["simulate Silver --kick 1,1e300 -o OUT"],
    "a kick must begin at 0 s after the release or later": ["simulate Silver --kick -1,4 -o OUT"],
    "kicks must follow one another": ["simulate Silver --kick 1,4 --kick 1,4 -o OUT"],
    "--knock wants 2 numbers": ["simulate Silver --knock 1 -o OUT"],
    "a knock wants finite numbers, found t = nan; correct it": ["simulate Silver --knock nan,1 -o OUT"],
    "a knock has at most 10000 N m s": ["simulate Silver --knock 1,-1e9 -o OUT"],
    "rolling must be zero or more": [
        "simulate Silver --floor --rolling -1 -o OUT",
        "simulate Silver --floor --rolling nan -o OUT",
        "simulate Silver --floor --rolling 0.5 -o OUT",
    ],
    "drag_area must be zero or more": [
        "simulate Silver --floor --drag-area -1 -o OUT",
        "simulate Silver --floor --drag-area 4000 -o OUT",
    ],
    "leave it out, or say --floor": ["simulate Silver --rolling 0.01 -o OUT", "simulate Silver --drag-area 0.5 -o OUT"],
    "belt_width must be positive": [
        "simulate Silver --belt 0 -o OUT",
        "simulate Silver --belt -1 -o OUT",
        "simulate Silver --belt nan -o OUT",
    ],
    "belt_width belongs to a treadmill": ["simulate Silver --floor --belt 1 -o OUT"],
    "--wind must be at most 500 N": ["simulate Silver --wind nan -o OUT", "simulate Silver --wind inf -o OUT"],
    "gusts must be zero or more": ["simulate Silver --gusts -1 -o OUT"],
    "--gusts must be at most 500 N": ["simulate Silver --gusts nan -o OUT"],
    "--offset-mm must be at most 200 mm": [
        "simulate Silver --offset-mm nan -o OUT",
        "simulate Silver --offset-mm 1e9 -o OUT",
    ],
    "training_wheels must touch between 0 and 45 deg": [
        "simulate Silver --training-wheels -1 -o OUT",
        "simulate Silver --training-wheels 0 -o OUT",
        "simulate Silver --training-wheels nan -o OUT",
        "simulate Silver --training-wheels 200 -o OUT",
    ],
    "the reference cell.csv cannot be read (it is no table: field larger than field limit": [
        "simulate Silver --reference cell.csv -o OUT",
    ],
    "the path cell.csv cannot be read (it is no table": ["simulate Silver --path cell.csv -o OUT"],
    "touch at 0.4 deg carry the bicycle: give the lean in deg, 2 or more; 0.4 rad would be 23 deg": [
        "simulate Silver --training-wheels 0.4 -o OUT",
    ],
    "hold 5 m/s more than once": ["simulate Silver --speed 5,5 -o OUT"],
    "coulomb of the drive must be zero or more": [
        "simulate Silver --friction -1 -o OUT",
        "simulate Silver --friction nan -o OUT",
    ],
    "backlash of the drive must be zero or more": [
        "simulate Silver --backlash -1 -o OUT",
        "simulate Silver --backlash nan -o OUT",
    ],
    "is not in the range 1<=x<=10000": [
        "simulate Silver --seeds 0 -o OUT",
        "simulate Silver --seeds -1 -o OUT",
        "simulate Silver --seeds 1000000000 -o OUT",
    ],
    "the number of jobs must be 1 or more": [
        "simulate Silver --seeds 2 --jobs 0 -o OUT",
        "simulate Silver --seeds 2 --jobs -1 -o OUT",
        "faults --count 2 --jobs 0",
    ],
    "cannot make the run folder": [
        "simulate Silver --duration 1 -o words.txt",
        "simulate Silver --duration 1 -o words.txt/run",
        "simulate Silver --duration 1 -o full",
        "simulate Silver --duration 1 -o loop",
        f"simulate Silver --duration 1 -o {LONG}",
    ],
    "wanted a new or empty folder for the run": ["simulate Silver --duration 1 -o run"],
    "two of these runs are the same": ["simulate Silver,Silver -o OUT"],
    # campaign
    "File name too long": [f"campaign {LONG}", f"campaign --lockstep --out {LONG}"],
    "no campaign or rig file can be read at": [
        "campaign nowhere.toml",
        "campaign void",
        "campaign picture.png",
        "campaign binary.toml",
        "campaign utf16.toml",
    ],
    "is not valid TOML": ["campaign words.txt", "campaign torn.toml", "campaign log.csv"],
    "is neither a campaign file": ["campaign empty.toml", "campaign silver.toml", "campaign mapping.toml"],
    "the campaign's folder": [
        "campaign campaign.toml -o words.txt --lockstep",
        "campaign campaign.toml -o words.txt/runs --lockstep",
        "campaign --lockstep --out words.txt",
        "campaign --lockstep --out full",
    ],
    "no campaign": ["campaign campaign.toml --resume -o void", "campaign --resume --out void"],
    "a campaign file has its own seed and model": [
        "campaign campaign.toml --seed 3",
        "campaign campaign.toml --model nonlinear",
    ],
    "--port wants a campaign file with a wired rig": [
        "campaign campaign.toml --port nowhere",
        "campaign --port nowhere",
    ],
    "bicycle: field required": ["campaign rig-no-bicycle.toml"],
    "limit 'bus_min' must lie below 'bus_max'": ["campaign rig-limits-contradict.toml --emulated"],
    "name: field required": [f"campaign campaign-nameless.toml {REHEARSED}"],
    "sed: there is no such key; did you mean seed?": [f"campaign campaign-unknown-key.toml {REHEARSED}"],
    "there is no bicycle 'Silvia'": [f"campaign campaign-unknown-bicycle.toml {REHEARSED}"],
    "two runs of the campaign would be called": [f"campaign campaign-bicycle-twice.toml {REHEARSED}"],
    "bicycles: list should have at least 1 item": [f"campaign campaign-no-bicycles.toml {REHEARSED}"],
    "no rig file can be read at": [f"campaign campaign-rig-missing.toml {REHEARSED}"],
    "seed: input should be": [
        f"campaign campaign-seed-text.toml {REHEARSED}",
        f"campaign campaign-seed-negative.toml {REHEARSED}",
    ],
    "model: input should be 'linear' or 'nonlinear'": [f"campaign campaign-model.toml {REHEARSED}"],
    "time: input should be 'real' or 'lockstep'": [f"campaign campaign-time.toml {REHEARSED}"],
    "share_of_limits: input should be": [
        f"campaign campaign-share-{what}.toml {REHEARSED}" for what in ("zero", "two", "nan")
    ],
    "a controller's method is one of lqr, poles, lean, off": [f"campaign campaign-method.toml {REHEARSED}"],
    "has the options zeta, omega, real, raw, found 'zita'": [f"campaign campaign-method-option.toml {REHEARSED}"],
    "damping ratio must be above 0 and at most 1": [f"campaign campaign-method-value.toml {REHEARSED}"],
    "nowhere.toml cannot be read": [f"campaign campaign-gains-missing.toml {REHEARSED}"],
    "rig.toml wants format = 'riderless gain schedule 1'": [f"campaign campaign-gains-are-a-rig.toml {REHEARSED}"],
    "controllers need different names": [f"campaign campaign-controller-twice.toml {REHEARSED}"],
    "protocol 1 wants a kind among treadmill": [f"campaign campaign-kind.toml {REHEARSED}"],
    "protocol.0.speeds_m_s": [
        f"campaign campaign-speeds-{what}.toml {REHEARSED}" for what in ("none", "negative", "huge", "nan", "text")
    ],
    "protocol.0.repeats: input should be": [
        f"campaign campaign-repeats-{what}.toml {REHEARSED}" for what in ("zero", "huge")
    ],
    "protocol.0.kicks: input should be": [
        f"campaign campaign-kicks-{what}.toml {REHEARSED}" for what in ("zero", "text", "huge")
    ],
    "protocol.0.spacing_s: input should be": [f"campaign campaign-spacing.toml {REHEARSED}"],
    "update riderless": [f"campaign campaign-later-format.toml {REHEARSED}"],
    "names the controller 'soft'": [f"campaign campaign-protocol-unknown-controller.toml {REHEARSED}"],
    "names the bicycle 'Rigid'": [f"campaign campaign-protocol-unknown-bicycle.toml {REHEARSED}"],
    "must know the edges of its belt": [f"campaign campaign-auto-no-belt.toml {REHEARSED}"],
    "keeps its lane, but the controller 'lqr' does not": [f"campaign campaign-auto-lqr.toml {REHEARSED}"],
    "wanted a standard deviation above 0": [f"campaign campaign-auto-until.toml {REHEARSED}"],
    "the other model with drive_gain is given twice": [f"campaign campaign-auto-twice.toml {REHEARSED}"],
    "protocol.0.legs: input should be": [f"campaign campaign-auto-legs.toml {REHEARSED}"],
    "protocol.0.against: wanted another model": [f"campaign campaign-auto-against.toml {REHEARSED}"],
    # faults
    "--bicycles wants names of the catalogue": ["faults --count 2 --bicycles ''", "faults --bicycles Silver,,Pista"],
    "there is no bicycle 'Silvr'": ["faults --bicycles Silvr --count 2"],
    "is not in the range 1<=x<=3": ["faults --together 0", "faults --together 4"],
    "with no faults none come together": ["faults --together 2 --threats none"],
    "--threats place has bicycles and devices of its own": [
        "faults --threats place --together 2",
        "faults --threats place --drive rate",
    ],
    "--threats speed has bicycles and devices of its own": ["faults --threats speed --bicycles Silver"],
    "--threats must be one of": ["faults --threats lqg", "faults --threats ''"],
    "--drive must be torque, rate or angle": ["faults --drive speed"],
    "the length of a ride must lie between 1.9 and 60 s": ["faults --length 61", "faults --length nan"],
    "has 34 letters": ["faults --case gxyz"],
    "a search wants 1 case or more": ["faults --search -1"],
    "--search makes its own cases": ["faults --search 10 --count 5", "faults --search 10 --doc words.txt"],
    "--real-time has its own cases": ["faults --real-time --together 2", "faults --real-time --search 5"],
    "a reference want finite numbers, found psi_dot_ref = nan in step 1": [
        "simulate Silver --duration 1 --reference psi_dot=nan@1",
    ],
    "a reference want times from 0": ["simulate Silver --duration 1 --reference psi_dot=0.1@-1"],
    "the number of cases must be 1 or more": ["faults --count 0", "faults --count -1"],
    "the seed must be": ["faults --seed -1 --count 2", "faults --case 1 --seed -1"],
    "the number of a case must be 0 or more": ["faults --case -1"],
    "wants the number of a case, or a code": ["faults --case 1.5"],
    "the sheet of hazards is a .pdf file": ["hazards -o hazards.txt"],
    "the sheet of hazards cannot be written to void, a folder: name a file in it": ["hazards -o void"],
    "the sheet of hazards cannot be written": ["hazards -o nowhere/hazards.pdf"],
    "no rig file can be read at nowhere.toml": ["hazards nowhere.toml"],
    "the table cannot be written to": ["faults --count 100000 --doc void", "faults --count 100000 --doc nowhere/x.md"],
    "the real-time cases are numbered from 0": ["faults --real-time --case 1000000"],
}

ACCEPTED: list[str] = []

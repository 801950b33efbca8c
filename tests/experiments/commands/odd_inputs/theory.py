"""Odd inputs of the commands that only compute: `eig`, `modes`, `turns`, `design`, `bikes`."""

LONG = "a" * 300  # no file may have so long a name

# what the sentence must say -> commands
REFUSED = {
    # bicycles that nobody has
    "w = 1010 m looks like millimetres": ["eig silver-millimetres.toml"],
    "mB = 12060 kg looks like grams": ["eig silver-grams.toml"],
    "zB = 0.627 m is below the ground: z points down": ["eig silver-z-up.toml"],
    "lam = 1.204 rad (68.98 deg) looks like the head angle": ["eig silver-head-angle.toml"],
    # a bicycle for other programs
    "bicycles are written as toml, bicycleparameters, symbrim, not as 'yaml'": ["convert Silver --to yaml"],
    "line 1 wants NAME = VALUE or NAME = VALUE +/- STD": ["convert words.txt"],
    "there is no file nowhere.json": ["convert nowhere.json --to symbrim"],
    # a plan of what cannot be
    "there is no bicycle 'Silvr' in the catalogue": ["plan Silvr"],
    "wanted minutes above 0 and at most 10000": [f"plan Silver --minutes {text}" for text in ("-1", "0", "nan", "1e9")],
    "found 'nothing_known'": ["plan Silver --learn nothing_known"],
    "wanted what is to be learnt, found nothing": ["plan Silver --learn ''"],
    "'drive_gain' is asked for twice": ["plan Silver --learn 'drive_gain, drive_gain +- 0.1'"],
    "wanted a standard deviation above 0 (SI) behind +-": [
        "plan Silver --learn 'drive_gain +- 0'",
        "plan Silver --learn 'drive_gain +- nan'",
    ],
    "wanted an eigenvalue as weave@5": ["plan Silver --learn weave@fast"],
    "a verdict wants another model": ["plan Silver --learn verdict"],
    "wanted --against as 'steer_damping = 0.3'": ["plan Silver --learn verdict --against 'steer_damping = nan'"],
    "the other model would be ignored": ["plan Silver --against 'steer_damping = 0.3'"],
    "wanted controllers, found none": ["plan Silver --controllers ''"],
    "wanted each controller once, found --controllers lqr,off,lqr": ["plan Silver --controllers lqr,off,lqr"],
    "--controllers wants names with commas between, found an empty one in 'lqr,,off'": [
        "plan Silver --controllers lqr,,off",
    ],
    "--learn wants names with commas between, found an empty one": ["plan Silver --learn 'drive_gain,, mB'"],
    "--against wants names with commas between, found an empty one": [
        "plan Silver --learn verdict --against 'steer_damping = 0.3,'",
    ],
    "--against gives mB two values": ["plan Silver --learn verdict --against 'mB = 80, mB = 90'"],
    "wanted a kick by drive, hand or both": ["plan Silver --kick-by foot"],
    "--kick-s would be ignored: a hand kicks as hands do": ["plan Silver --kick-by hand --kick-s 0.3"],
    "wanted a share of the limits between 0 and 1": ["plan Silver --kick-share 2", "plan Silver --kick-share nan"],
    "wanted numbers from 0.05 to 1 s with commas": ["plan Silver --kick-s 0"],
    "wanted numbers from 1e-06 to 1 rad/s with commas": ["plan Silver --gyro-noise 0", "plan Silver --gyro-noise nan"],
    "wanted numbers from 1e-05 to 30 deg with commas": ["plan Silver --encoder-step -1"],
    "nothing can be measured so: nobody kicks an uncontrolled bicycle but a hand": [
        "plan Benchmark --controllers off --speeds 3",
    ],
    # the command line itself
    "No such command": ["eigenvalues Silver"],
    "Missing argument": ["convert", "eig", "modes", "turns", "design"],
    "Got unexpected extra argument": ["eig Silver Benchmark", "bikes Silver", "doctor now"],
    "give a file of `riderless design`": ["margins nowhere.toml"],
    "--speeds is given 2 times: give it once": ["eig Silver --speeds 5 --speeds 6"],
    "No such option": ["eig Silver --speed 5", "bikes --jason"],
    "requires an argument": ["eig Silver --speeds"],
    "does not take a value": ["eig Silver --json=yes"],
    "is not a valid float": [
        "design Silver --delay one",
        "modes Silver --speed fast",
        "turns Silver --lean five --steer 2",
    ],
    # certificates, envelopes, new gains
    "wanted std from 0 to 6": ["certify lqr --bicycle Silver --std 7", "certify lqr --bicycle Silver --std nan"],
    "wanted --deviations own or usual": ["certify lqr --bicycle Silver --deviations some"],
    "wanted torque from 0.1 to 50 N m": ["envelope Silver --torque 0", "envelope Silver --torque nan"],
    "wanted numbers with commas": ["envelope Silver --kick-rate hard"],
    "there is nothing at nowhere": ["tune nowhere"],
    # equations of one's own
    "wanted a file of matrices: four lines": ["compare"],
    "silver.toml, line 2: wanted four lines as": ["compare silver.toml"],
    "cannot read the matrices nowhere.csv": ["compare nowhere.csv"],
    # a bicycle of one's own
    "wanted a file of readings: give one": ["measure"],
    "found its parameters": ["measure silver.toml"],
    "--way chooses a template": ["measure --way table"],
    "a way of measuring is table or split-fork, found 'scales'": ["measure --template --way scales"],
    "wanted a recording of a swing, or a stopwatch's": ["period"],
    "a stopwatch's --swings and --total stand alone": ["period log.csv --swings 5 --total 3"],
    "--total wants seconds": ["period --swings 5 --total one"],
    "--example wants one file to write": ["period --example"],
    "there is no file nowhere.toml; give the TOML file of a payload": ["load Silver nowhere.toml"],
    # names of bicycles
    "there is no bicycle '' in the catalogue; choose one of": ["eig ''"],
    "there is no bicycle ' ' in the catalogue": ["eig ' '"],
    "did you mean Silver?": ["eig Silverr"],
    "there is no bicycle 'Silver,Benchmark'": ["eig Silver,Benchmark"],
    "there is no bicycle 'Pegasus'": ["turns Pegasus --hands-free", "design Pegasus", "modes Pegasus"],
    "a path ending in .toml is read as a file": ["eig void"],
    # files of bicycles
    "there is no file nowhere.toml": ["eig nowhere.toml"],
    "folder.toml cannot be read as text": ["eig folder.toml"],
    "Too many levels of symbolic links": ["eig loop.toml"],
    "cannot be read as text": ["eig binary.toml", "design binary.toml"],
    "is it the file of a bicycle?": [
        "eig empty.toml",
        "eig silver-parameters-a-list.toml",
    ],
    "with a table [parameters], found a rig": ["eig rig.toml"],
    "with a table [parameters], found gains": ["eig gains.toml", "design gains.toml", "plan gains.toml"],
    "with a table [parameters], found a campaign": ["eig campaign.toml"],
    "with a table [parameters], found a mapping": ["eig mapping.toml"],
    "is not valid TOML": ["eig torn.toml", "eig silver-twice.toml"],
    "w = -1.01 m must be above zero": ["eig silver-negative.toml"],
    "w = nan must be a finite number in m": ["eig silver-nan.toml", "modes silver-nan.toml", "design silver-nan.toml"],
    "w = inf must be a finite number in m": ["eig silver-inf.toml"],
    "w = '1.01 m' must be a finite number in m": ["eig silver-text.toml"],
    "w = True must be a finite number": ["eig silver-bool.toml"],
    "w = [1.01] must be a finite number": ["eig silver-list.toml"],
    "mB = 1e+300 kg is beyond": ["eig silver-huge.toml"],
    "unknown parameter 'wheelbase'": ["eig silver-misspelt.toml"],
    "lacks w (m, wheelbase)": ["eig silver-lacking.toml"],
    "unknown key 'colour'": ["eig silver-unknown-key.toml"],
    "it has no name": ["eig silver-nameless.toml"],
    "name = 3 must be text": ["eig silver-name-is-a-number.toml"],
    "triangle inequality": ["eig silver-no-triangle.toml"],
    "IBxz = 5 kg m^2 must be at most": ["eig silver-no-tensor.toml"],
    "std of w = -0.1 m must be": ["eig silver-std-negative.toml"],
    "unknown parameter in std 'length'": ["eig silver-std-unknown.toml"],
    "std of w = 'small' m must be": ["eig silver-std-text.toml"],
    "'w' cannot be missing": ["eig silver-missing-unknown.toml"],
    # speeds
    "is not a range of speeds": ["eig Silver --speeds ''"],
    "a speed that is not finite": ["eig Silver --speeds nan", "eig Silver --speeds inf", "design Silver --speeds nan"],
    "beyond 200 m/s": [
        "eig Silver --speeds 1e300",
        "modes Silver --speed 1e300",
        "modes Silver --speed inf",
        "turns Silver --speed 1e300 --radius 20",
    ],
    "run backwards, from 8 to 2 m/s": ["eig Silver --speeds 8:2:1"],
    "the speeds '3,3,3' hold 3 m/s more than once: give each speed once": [
        "eig Silver --speeds 3,3,3",
        "plan Silver --learn drive_gain --speeds 3,3,3",
    ],
    "must be a positive number of m/s": [
        "eig Silver --speeds 1:2:0",
        "eig Silver --speeds 1:2:nan",
        "eig Silver --speeds 0:inf:1",
    ],
    "take a larger step": ["eig Silver --speeds 0:10:1e-9"],
    "a speed must be a finite number": ["modes Silver --speed nan"],
    # figures
    "a figure is written as .svg, .pdf, .png": [
        "eig Silver --plot figure.gif",
        "modes Silver --plot figure.doc",
        "turns Silver --lean 5 --steer 2 --plot turn.bmp",
    ],
    "the figure cannot be written to": [f"eig Silver --plot {LONG}.png"],
    "a plot over speed needs two speeds at least": ["eig Silver --speeds 5 --plot five.png"],
    # turns
    "a turn is asked for in one of three ways": ["turns Silver"],
    "a turn has at most 86 deg of lean": ["turns Silver --lean nan --steer 2", "turns Silver --lean 5 --steer inf"],
    "lean and steer to the same side": ["turns Silver --lean -5 --steer 2"],
    "a turn needs a steer angle": ["turns Silver --lean 5 --steer 0"],
    "the radius of a turn is 0.01 m at least": ["turns Silver --speed 5 --radius 1e-300"],
    "the radius of a turn is a number of metres, not zero": [
        "turns Silver --speed 5 --radius 0",
        "turns Silver --speed 5 --radius nan",
        "turns Silver --speed 5 --radius inf",
    ],
    "the speed of a turn is a positive number of m/s": ["turns Silver --speed -5 --radius 20"],
    "cannot turn from straight running into a circle of 1 m": ["turns Silver --speed 50 --radius 1"],
    # design
    "the design method must be one of lqr, poles, lean, off": ["design Silver --method magic"],
    "must be one of lqr, cascade, lane, or with states of its own lqg or yaw_rate, found": [
        "design Silver --method poles --drive angle"
    ],
    "the weights of the LQG are phi, delta, phi_dot, delta_dot, command, found": [
        "design Silver --method lqg --drive rate --set 'weights={T_delta=0.1}'",
    ],
    "--set like is given twice": ["design Silver --method match --set like=Benchmark --set like=Yellow"],
    "a match wants the bicycle that this one is to move like": ["design Silver --method match"],
    "a lane wants its weights by name": ["design Silver --method lane --set weights=3"],
    "no gains keep Silver in its lane at 0 m/s": ["design Silver --method lane --speeds 0"],
    "the LQG option steer_noise must be a number above 0": ["design Silver --method lqg --set steer_noise=nan"],
    "--bandwidth would be ignored: a torque drive has --drive-lag": ["design Silver --bandwidth 30"],
    "the bandwidth of a steer drive must be from 1 to 1000 rad/s": [
        "design Silver --drive rate --bandwidth 0",
        "design Silver --drive rate --bandwidth nan",
    ],
    "a design wants increasing speeds": ["design Silver --speeds 6,5"],
    "the speeds '5,5' hold 5 m/s more than once: give each speed once": ["design Silver --speeds 5,5"],
    "a design wants speeds of 0 m/s or more": ["design Silver --speeds -5"],
    "the loop's rate must be above 0 Hz (1 Hz at least) and at most 20000 Hz": [
        "design Silver --rate 1e-300",
        "design Silver --rate nan",
        "design Silver --rate inf",
    ],
    "the drive's lag must be 0 s or more and below 0.5 s": [
        "design Silver --drive-lag -1",
        "design Silver --drive-lag nan",
    ],
    "the loop's delay must be from 0 to 1 sample": ["design Silver --delay 2"],
    "is not an option: write NAME=VALUE": ["design Silver --set zeta"],
    "has the options weights, found": ["design Silver --set colour=3"],
    "LQR wants its weights by name": ["design Silver --set weights=3"],
    "must be a number above 0": [
        "design Silver --set 'weights={T_delta=0}'",
        "design Silver --set 'weights={T_delta=nan}'",
    ],
    "an LQR weight is one of": ["design Silver --set 'weights={colour=1}'"],
    "damping ratio must be above 0 and at most 1": [
        "design Silver --method poles --set zeta=-1",
        "design Silver --method poles --set zeta=nan",
    ],
    "'zeta' wants a number or a function of speed": ["design Silver --method poles --set 'zeta=\"high\"'"],
    "poles has the options zeta, omega, real, raw, found 'poles'": ["design Silver --method poles --set poles=[-3]"],
    "the lean law's gain k must be a number": ["design Silver --method lean --set k=nan"],
    "lean does not balance Silver at 2 m/s": ["design Silver --method lean --set k=-2"],
    "cannot use the options {'k': [1, 2]}": ["design Silver --method lean --set k=[1,2]"],
    "the design method off has no options": ["design Silver --method off --set k=1"],
    "no steer torque can balance Benchmark at 0.025 m/s": ["design Benchmark --speeds 0.025,0.03"],
    "reads or writes already": ["design silver.toml --speeds 5 -o silver.toml"],
    "for something else is there": [
        "design Silver --speeds 5 -o rig.toml",
    ],
    "the gains cannot be written to": [f"design Silver --speeds 5 -o {LONG}"],
}

# checked by the plausibility of bicycles
ACCEPTED = [
    "design rig.toml --speeds 5",  # its bicycle and timing
    "design Silver --speeds 5 --delay 0.5",
    "eig silver-zero-mass.toml",  # exactly zero stands for a part that is left out
    "eig silver-brackets.toml --speeds 5",
    "modes silver-brackets.toml",
    "design silver-brackets.toml --speeds 5",
    "eig 'über grüße.toml' --speeds 5",
    "eig silver-with-mark.toml --speeds 5",
    "eig silver.toml --speeds 0",
    "modes Silver --speed 0",
    "design Silver --speeds 5 --drive-lag 0",
]

"""Measures the overhead of `snug profile`'s probe on a training step while it records.

    python testdata/measured/overhead.py 60 examples/gsa/train.py --config configs/pretrain.yaml

Runs one of the example scripts, which read the clock once per step, for the given number of rounds.
In each round two steps run with the probe on and two with it off. Prints the medians, the median of
the rounds' ratios, and the range of 90 % of its resamples; then the same for the process's CPU time,
which excludes waiting on a busy machine, and for the fastest quarter of all steps, which other work
on the machine disturbs least. Run it in the repository's root, with the card otherwise idle.
"""
import json, os, random, runpy, statistics, subprocess, sys, tempfile, time

BLOCK, WARM_UP = 2, 8


def steps(rounds, script, args):
    """Runs inside the probed process: measures each step's wall and CPU time, with the probe off and on."""
    import torch
    probe = sys.modules["_snug_probe"]
    watch, patches = probe.watch, list(probe.watch.patches)
    took, state = {False: [], True: []}, dict(n=0, last=(0.0, 0.0))
    record = torch.cuda.memory._record_memory_history

    def switch(on):
        watch.engine = not on
        if torch.cuda.is_available():
            record(enabled=None)
            if on:
                record(enabled="all", context=None, stacks="python", max_entries=4_000_000, skip_actions=watch.needless())
        for owner, name, ours, plain in patches:
            if name != "__call__":
                setattr(owner, name, ours if on else plain)

    def clocks():
        return time.perf_counter(), time.process_time()

    def step_ended():
        block = (state["n"] - WARM_UP) // BLOCK
        if 0 <= block < 2 * rounds:
            on = block % 2 == block // 2 % 2  # off on, on off: drift affects both equally
            took[on].append([now - then for now, then in zip(clocks(), state["last"])])
        nxt = state["n"] + 1 - WARM_UP
        if nxt >= 0 and nxt % BLOCK == 0:
            block = nxt // BLOCK
            switch(block % 2 == block // 2 % 2)
        state["n"] += 1
        state["last"] = clocks()

    plain_time, file = time.time, os.path.abspath(script)

    def clock():
        if sys._getframe(1).f_code.co_filename == file:
            step_ended()
        return plain_time()
    time.time = clock
    os.chdir(os.path.dirname(file))
    sys.argv = [file] + args + ["--max-steps", str(WARM_UP + 2 * rounds * BLOCK + 1)]
    runpy.run_path(file, run_name="__main__")
    time.time = plain_time
    return took


def main(rounds, script, args):
    with tempfile.TemporaryDirectory() as home:
        with open("internal/run/probe.py") as f, open(os.path.join(home, "sitecustomize.py"), "w") as g:
            g.write(f.read())
        with open(os.path.join(home, "probe.json"), "w") as f:
            json.dump(dict(steps=10 ** 9, stacks=False, keep_running=True, max_entries=4_000_000, needs_gpu=False, has_gpu=True), f)
        out = os.path.join(home, "took.json")
        env = dict(os.environ, PYTHONPATH=home, OVERHEAD_OUT=out, GLIBC_TUNABLES="glibc.malloc.hugetlb=1")  # as snug profile sets it
        subprocess.run([sys.executable, os.path.abspath(__file__), str(rounds), script] + args, env=env, check=True, stdout=subprocess.DEVNULL)
        off, on = json.load(open(out))
    wall, own = ([[step[i] for step in x] for x in (off, on)] for i in (0, 1))
    print("plain %.3f ms, probed %.3f ms, paired %+.2f %% (%+.2f to %+.2f), %d rounds" % (paired(*wall) + (rounds,)))
    print("processors: plain %.3f ms, probed %.3f ms, paired %+.2f %% (%+.2f to %+.2f)" % paired(*own))
    fast = lambda x: statistics.quantiles(x, n=4)[0]
    again = lambda x: fast(random.choices(x, k=len(x)))
    off, on = wall
    print("fastest quarter: plain %.3f ms, probed %.3f ms, %+.2f %% (%+.2f to %+.2f)" % (
        (fast(off) * 1e3, fast(on) * 1e3, 100 * (fast(on) / fast(off) - 1)) + range_of(lambda: again(on) / again(off) - 1)))


def paired(off, on):
    """Returns the medians, the median of the rounds' ratios and its range."""
    halves = [[statistics.mean(x[i:i + BLOCK]) for i in range(0, len(x), BLOCK)] for x in (off, on)]
    ratios = [b / a - 1 for a, b in zip(*halves)]
    return (statistics.median(off) * 1e3, statistics.median(on) * 1e3, 100 * statistics.median(ratios)) + range_of(
        lambda: statistics.median(random.choices(ratios, k=len(ratios))))


def range_of(draw):
    drawn = sorted(draw() for _ in range(1000))
    return 100 * drawn[50], 100 * drawn[950]


if __name__ == "__main__":
    if "OVERHEAD_OUT" in os.environ:
        result = steps(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
        with open(os.environ["OVERHEAD_OUT"], "w") as f:
            json.dump([result[False], result[True]], f)
    else:
        main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])

"""Records allocation sizes of cuDNN's recurrent layers. One JSON line per case: the events of the second of two passes,
allocations as their size, frees as minus the number of the allocation (from 1; 0 is an earlier one)."""
import itertools, json, random, sys
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

part, parts, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
dev = "cuda" if torch.cuda.is_available() else "cpu"
KIND = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}


def cases():
    base = dict(kind="lstm", batch=32, seq=32, inp=256, hidden=256, layers=1, bi=0, drop=0.0, dt="fp32", packed=0, first=1)
    seen = []

    def add(**kw):
        c = dict(base, **kw)
        if c["drop"] and c["layers"] == 1:
            return
        if c not in seen:
            seen.append(c)
    for kind in KIND:                                     # each kind with everything
        for dt in ("fp32", "fp16", "bf16"):
            for layers, bi, drop in ((1, 0, 0), (1, 1, 0), (2, 0, 0.2), (2, 1, 0.2), (2, 1, 0), (3, 1, 0.2)):
                for b, s, h in ((16, 35, 200), (64, 64, 256)):
                    add(kind=kind, dt=dt, layers=layers, bi=bi, drop=drop, batch=b, seq=s, hidden=h, inp=h)
    for b in (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512):   # the batch
        for h in (64, 128, 200, 256, 512, 650, 1024):
            add(batch=b, hidden=h, inp=h)
            add(batch=b, hidden=h, inp=h, dt="fp16", seq=48)
        for kind in ("gru", "rnn"):
            add(kind=kind, batch=b, hidden=256)
        add(batch=b, bi=1, layers=2, drop=0.2, hidden=300, inp=300, seq=100)
        add(batch=b, bi=1, hidden=128, inp=100, seq=57)
        add(batch=b, bi=1, hidden=128, inp=100, seq=57, packed=1)
        add(batch=b, layers=2, drop=0.2, hidden=650, inp=650, seq=35)
        add(batch=b, dt="bf16", hidden=512, inp=512)
    for s in (1, 2, 5, 8, 16, 24, 35, 39, 40, 48, 64, 100, 128, 200, 256, 400, 512):        # the length
        for b in (8, 64):
            for h in (100, 256):
                add(batch=b, seq=s, hidden=h, inp=h)
                add(batch=b, seq=s, hidden=h, inp=h, bi=1, layers=2)
            add(batch=b, seq=s, kind="gru")
            add(batch=b, seq=s, dt="fp16")
            add(batch=b, seq=s, packed=1)
    for h in (32, 64, 96, 100, 128, 150, 192, 200, 256, 300, 320, 384, 400, 448, 512, 600, 640, 650, 768, 800, 1000, 1024, 1150, 1500, 2048):   # hidden and input
        for b in (20, 128):
            for dt in ("fp32", "fp16"):
                add(batch=b, hidden=h, inp=h, dt=dt, seq=40)
            add(batch=b, hidden=h, inp=64, kind="gru")
            add(batch=b, hidden=h, inp=300, bi=1)
    for i in (1, 7, 40, 80, 128, 300, 512):
        add(inp=i); add(inp=i, bi=1, layers=2); add(inp=i, kind="gru", batch=100)
    rnd = random.Random(1)                                # random cases, to check the rules derived from the rest
    for _ in range(160):
        add(kind=rnd.choice(list(KIND)), batch=rnd.choice((1, 5, 10, 25, 30, 50, 64, 100, 144, 200, 300, 512)), seq=rnd.randint(3, 300),
            inp=rnd.choice((64, 100, 256, 300)), hidden=rnd.choice((64, 100, 128, 256, 300, 512, 700)), layers=rnd.randint(1, 3),
            bi=rnd.randint(0, 1), drop=rnd.choice((0, 0.3)), dt=rnd.choice(("fp32", "fp32", "fp16", "bf16")), packed=rnd.choice((0, 0, 1)), first=rnd.randint(0, 1))
    return seen


def lengths(c):
    rnd = random.Random(c["batch"] * 1000 + c["seq"])
    out = [rnd.randint(1, c["seq"]) for _ in range(c["batch"])]
    out[0] = c["seq"]
    return sorted(out, reverse=True)


def passes(c, net):
    shape = (c["batch"], c["seq"], c["inp"]) if c["first"] else (c["seq"], c["batch"], c["inp"])
    x = torch.randn(shape, device=dev, requires_grad=True)
    dt = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(c["dt"])
    with torch.autocast(dev, dtype=dt or torch.bfloat16, enabled=dt is not None):
        y = pack_padded_sequence(x, lengths(c), batch_first=bool(c["first"])) if c["packed"] else x
        out, _ = net(y)
        data = out.data if c["packed"] else out
        loss = data.float().sum()
    loss.backward()


def trace():
    return torch.cuda.memory._snapshot()["device_traces"][torch.cuda.current_device()]


def events(begin):
    live, made, out = {}, 0, []
    for e in trace()[begin:]:
        if e["action"] == "alloc":
            made += 1
            live[e["addr"]] = made
            out.append(e["size"])
        elif e["action"] == "free_completed":
            out.append(-live.pop(e["addr"], 0))
    return out


def case(c):
    torch.manual_seed(0)
    net = KIND[c["kind"]](c["inp"], c["hidden"], c["layers"], bidirectional=bool(c["bi"]), dropout=c["drop"], batch_first=bool(c["first"])).to(dev)
    passes(c, net)
    for p in net.parameters():
        p.grad = None
    if dev == "cuda":
        torch.cuda.synchronize()
        torch.cuda.memory._record_memory_history(enabled="all", context=None, max_entries=100000)
        begin = len(trace())
    passes(c, net)
    if dev == "cuda":
        ev = events(begin)
        torch.cuda.memory._record_memory_history(enabled=None)
        return ev


if __name__ == "__main__":
    torch.backends.cuda.matmul.allow_tf32 = False
    todo = cases()
    print(len(todo), "cases")
    if dev == "cpu":
        todo = todo[:6] + todo[-6:]
    with open(out, "w") as f:
        for c in todo[part::parts]:
            try:
                print(json.dumps([list(c.values()), case(c)], separators=(",", ":")), file=f, flush=True)
            except Exception as err:
                print(json.dumps([list(c.values()), str(err)[:200]]), file=f, flush=True)
    if dev == "cuda":
        with open(out + ".place", "w") as f:
            print(torch.__version__, torch.backends.cudnn.version(), torch.cuda.get_device_name(), file=f)

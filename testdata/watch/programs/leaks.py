"""leaks.py KIND LENGTHS CAP_GIB STEPS SEED PART: trains on the stand-in for the GPU, keeps something in each step, and writes a recording to
the file $REC. The model and the batch size are drawn by the seed."""
import copy, json, os, random, sys, time
import torch
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "oom", "ways"))
from net import Decoder, batch, next_token_loss

kind, lengths = sys.argv[1:3]
cap, steps, seed, part = float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]), float(sys.argv[6])
card = torch.cuda.get_device_properties(0)
torch.cuda.set_per_process_memory_fraction(cap * 2**30 / card.total_memory)
file, began, step = open(os.environ["REC"], "w"), time.time(), 0


def line(**fields):
    file.write(json.dumps({"t": round(time.time() - began, 3), **fields}) + "\n")


def report(phase, ids):
    s = torch.cuda.memory_stats()
    line(kind="step", pid=os.getpid(), step=step, phase=phase, shape=list(ids.shape), allocated=s["allocated_bytes.all.current"],
         reserved=s["reserved_bytes.all.current"], peak_allocated=s["allocated_bytes.all.peak"],
         peak_reserved=s["reserved_bytes.all.peak"], retries=s["num_alloc_retries"])
    torch.cuda.reset_peak_memory_stats()


def out_of_memory(*_):
    line(kind="oom", message="CUDA out of memory")
    file.flush()


line(kind="start", total=card.total_memory, pid=os.getpid())
line(kind="limit", limit=int(cap * 2**30))
torch._C._cuda_attach_out_of_memory_observer(out_of_memory)
random.seed(seed)
layers, width, size = random.choice([3, 4, 6]), random.choice([256, 512, 768]), random.choice([4, 6, 8])
model = Decoder(width=width, layers=layers).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
kept = []


def length():
    if lengths == "lognormal":
        return max(16, min(1200, 24 + int(random.lognormvariate(5.5, 0.5))))
    if lengths == "uniform":
        return random.randint(40, 700)
    if lengths == "bimodal":
        return random.randint(100, 130) if random.random() < 0.9 else random.randint(600, 700)
    if lengths == "buckets":
        return random.choice([128, 256, 384, 512])
    return 384


@torch.no_grad()
def evaluate():
    model.eval()
    for _ in range(4):
        ids = batch(16, 512)
        logits = model(ids)
        next_token_loss(logits, ids)
        report("eval", ids)
        kept.append(logits[:, :64].clone())
    model.train()


while step < steps:
    ids = batch(size, length())
    logits = model(ids)
    loss = next_token_loss(logits, ids)
    loss.backward()
    optimizer.step()
    step += 1
    report("train", ids)
    optimizer.zero_grad()
    if kind == "empty":
        kept.append(torch.empty(int(part * cap * 2**30), dtype=torch.uint8, device="cuda"))
    if kind == "outputs":
        kept.append(logits.detach()[:, -int(part):].clone())
    if kind == "wholeout":
        kept.append(logits.detach().half())
    if kind == "graph":
        kept.append(model.blocks[0](model.tokens(ids[:1, :64]).clone()).mean())
    if kind == "stair" and step % int(part) == 0:
        kept.append(copy.deepcopy(model.state_dict()))
    if kind == "eval_hidden" and step % int(part) == 0:
        evaluate()
line(kind="end")
file.flush()

"""watched.py KIND CAP_GIB SECONDS [ARGS]: a training run that leaks, is ragged, evaluates, ... until SECONDS have passed or memory runs out."""
import copy, os, random, sys, time
import torch
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "oom", "ways"))
from net import Decoder, batch, next_token_loss

kind, cap, lasts, args = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]
go = os.environ.get("GO")
while go and not os.path.exists(go):  # PyTorch is imported by now; the GPU is not touched yet
    time.sleep(0.02)
if cap:
    card = torch.cuda.get_device_properties(0)
    torch.cuda.set_per_process_memory_fraction(cap * 2**30 / card.total_memory)
torch.manual_seed(11)
random.seed(int(args[1]) if len(args) > 1 else 5)
layers = {"staircase": 8, "underused": 4}.get(kind, 5)
model = Decoder(width=768 if kind == "staircase" else 512, layers=layers).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
kept, step, end = [], 0, time.time() + lasts


@torch.no_grad()
def evaluate():
    model.eval()
    for _ in range(6):
        ids = batch(40, 512)
        next_token_loss(model(ids), ids).item()
    model.train()


def length():
    if kind in ("ragged", "ragged_leak"):
        return min(1500, 24 + int(random.lognormvariate(5.5, 0.5)))
    return 384


size = {"good": 28, "underused": 3, "staircase": 4, "ragged": 8, "ragged_leak": 6, "evaluates": 12, "two": 24}.get(kind, 8)
while time.time() < end:
    ids = batch(size, length())
    loss = next_token_loss(model(ids), ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    step += 1
    if kind in ("leak", "ragged_leak"):  # a fraction of the cap in each step
        kept.append(torch.empty(int(float(args[0]) * cap * 2**30), dtype=torch.uint8, device="cuda"))
    if kind == "staircase" and step % 20 == 0:
        kept.append(copy.deepcopy(model.state_dict()))
    if kind == "evaluates" and step % int(args[0]) == 0:
        evaluate()
print(kind, "ended after", step, "steps")

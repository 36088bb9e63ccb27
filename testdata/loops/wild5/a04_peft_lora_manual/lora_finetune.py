import torch
from peft import LoraConfig, TaskType, get_peft_model
from torch.utils.data import DataLoader, Dataset
from transformers import AutoModelForCausalLM, Qwen2Config
import random

BATCH = 4
SEQ = 1024
STEPS = 12
ACCUM = 2
LR = 2e-4
DTYPE = torch.bfloat16

random.seed(0)
torch.manual_seed(0)

cfg = Qwen2Config(
    vocab_size=151936,
    hidden_size=1536,
    intermediate_size=8960,
    num_hidden_layers=28,
    num_attention_heads=12,
    num_key_value_heads=2,
    max_position_embeddings=4096,
    tie_word_embeddings=True,
)
with torch.device("cuda"):
    base = AutoModelForCausalLM.from_config(cfg, dtype=DTYPE)
base.config.use_cache = False
base.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
base.enable_input_require_grads()

lora = LoraConfig(
    r=16,
    lora_alpha=32,
    lora_dropout=0.05,
    bias="none",
    task_type=TaskType.CAUSAL_LM,
    target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
)
model = get_peft_model(base, lora)
model.print_trainable_parameters()


class InstructionData(Dataset):
    """prompt tokens are masked with -100"""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        ids = torch.randint(0, cfg.vocab_size, (SEQ,))
        labels = ids.clone()
        labels[: random.randint(100, 400)] = -100
        return ids, labels


loader = DataLoader(InstructionData(BATCH * STEPS), batch_size=BATCH, shuffle=True)
opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=LR)
sched = torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.1, total_iters=3)

model.train()
running = 0.0
for i, (ids, labels) in enumerate(loader):
    ids, labels = ids.cuda(), labels.cuda()
    out = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=labels)
    (out.loss / ACCUM).backward()
    running += out.loss.item()
    if (i + 1) % ACCUM == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.3)
        opt.step()
        sched.step()
        opt.zero_grad(set_to_none=True)
        print(f"[{i+1}/{STEPS}] loss={running/ACCUM:.4f} lr={sched.get_last_lr()[0]:.2e}")
        running = 0.0

model.save_pretrained("/tmp/lora_adapter_out")

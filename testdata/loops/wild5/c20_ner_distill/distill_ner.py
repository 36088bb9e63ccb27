"""Distill a BERT-base NER tagger into a 4-layer student."""
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForTokenClassification

LABELS = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC"]
SEQ_LEN = 256
BATCH_SIZE = 48
T = 2.0
ALPHA = 0.5
STEPS_TEACHER = 4

device = torch.device("cuda")
torch.manual_seed(11)


def make_data(n):
    ids = torch.randint(1000, 28000, (n, SEQ_LEN))
    lens = torch.randint(SEQ_LEN // 4, SEQ_LEN, (n,))
    mask = (torch.arange(SEQ_LEN)[None, :] < lens[:, None]).long()
    tags = torch.randint(0, len(LABELS), (n, SEQ_LEN))
    tags[mask == 0] = -100
    return TensorDataset(ids * mask, mask, tags)


train_loader = DataLoader(make_data(BATCH_SIZE * 10), batch_size=BATCH_SIZE, shuffle=True)
dev_loader = DataLoader(make_data(100), batch_size=BATCH_SIZE)

base = dict(vocab_size=28996, num_labels=len(LABELS))
teacher = BertForTokenClassification(BertConfig(**base)).to(device)
student = BertForTokenClassification(BertConfig(num_hidden_layers=4, **base)).to(device)


def init_student_from_teacher():
    student.bert.embeddings.load_state_dict(teacher.bert.embeddings.state_dict())
    for i, j in enumerate([0, 4, 8, 11]):
        student.bert.encoder.layer[i].load_state_dict(teacher.bert.encoder.layer[j].state_dict())


def evaluate(model):
    model.eval()
    tp, total = 0, 0
    for batch in dev_loader:
        ids, mask, tags = [b.to(device) for b in batch]
        with torch.no_grad():
            pred = model(ids, attention_mask=mask).logits.argmax(-1)
        keep = tags != -100
        tp += (pred[keep] == tags[keep]).sum().item()
        total += keep.sum().item()
    return tp / total


# 1. short teacher training
opt = torch.optim.AdamW(teacher.parameters(), lr=3e-5)
teacher.train()
for step, batch in enumerate(train_loader):
    if step == STEPS_TEACHER:
        break
    ids, mask, tags = [b.to(device) for b in batch]
    loss = teacher(ids, attention_mask=mask, labels=tags).loss
    loss.backward()
    opt.step()
    opt.zero_grad()
    print("teacher", step, round(loss.item(), 4))
del opt
teacher.eval()
for p in teacher.parameters():
    p.requires_grad = False
print("teacher acc", evaluate(teacher))

# 2. student
init_student_from_teacher()
optimizer = torch.optim.AdamW(student.parameters(), lr=5e-5)
student.train()
for step, batch in enumerate(train_loader):
    ids, mask, tags = [b.to(device) for b in batch]
    with torch.no_grad():
        t_out = teacher(ids, attention_mask=mask, output_hidden_states=True)
    s_out = student(ids, attention_mask=mask, labels=tags, output_hidden_states=True)

    active = mask.view(-1) == 1
    s_logits = s_out.logits.view(-1, len(LABELS))[active]
    t_logits = t_out.logits.view(-1, len(LABELS))[active]
    kd = F.kl_div(F.log_softmax(s_logits / T, dim=-1), F.softmax(t_logits / T, dim=-1), reduction="batchmean") * T * T
    hid = F.mse_loss(s_out.hidden_states[-1], t_out.hidden_states[-1])
    loss = ALPHA * s_out.loss + (1 - ALPHA) * kd + 0.1 * hid

    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
    optimizer.step()
    print(f"student {step} loss {loss.item():.4f} kd {kd.item():.4f} ce {s_out.loss.item():.4f}")
print("student acc", evaluate(student))

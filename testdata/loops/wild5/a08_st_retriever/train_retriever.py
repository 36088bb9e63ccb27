import random
import string

import torch
from sentence_transformers import SentenceTransformer, losses
from sentence_transformers.models import Pooling, Transformer
from torch.utils.data import DataLoader
from tqdm.auto import tqdm
from transformers import BertConfig, BertModel, BertTokenizerFast, get_linear_schedule_with_warmup

MODEL_DIR = "/tmp/mini_encoder"


def build_encoder():
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = list(string.ascii_lowercase) + ["##" + c for c in string.ascii_lowercase]
    with open("/tmp/mini_vocab.txt", "w") as f:
        f.write("\n".join(specials + words))
    tok = BertTokenizerFast("/tmp/mini_vocab.txt", do_lower_case=True, model_max_length=256)
    cfg = BertConfig(vocab_size=30522, hidden_size=768, num_hidden_layers=12, num_attention_heads=12)
    BertModel(cfg).save_pretrained(MODEL_DIR)
    tok.save_pretrained(MODEL_DIR)


def sentence(n):
    return " ".join("".join(random.choices(string.ascii_lowercase, k=5)) for _ in range(n))


def to_device(features, device):
    return {k: v.to(device) if torch.is_tensor(v) else v for k, v in features.items()}


def main():
    random.seed(0)
    torch.manual_seed(0)
    build_encoder()
    word = Transformer(MODEL_DIR, max_seq_length=128)
    pool = Pooling(768, pooling_mode="mean")
    model = SentenceTransformer(modules=[word, pool], device="cuda")
    device = model.device

    pairs = [(sentence(40), sentence(60), sentence(60)) for _ in range(48 * 8)]

    def collate(rows):
        return [model.tokenize(list(col)) for col in zip(*rows)]

    loader = DataLoader(pairs, batch_size=48, shuffle=True, drop_last=True, collate_fn=collate)
    loss_fn = losses.MultipleNegativesRankingLoss(model, scale=20.0)
    optimizer = torch.optim.AdamW(loss_fn.parameters(), lr=2e-5)
    scheduler = get_linear_schedule_with_warmup(optimizer, 2, len(loader))
    model.train()
    history = []
    for feats in tqdm(loader, desc="Iteration"):
        feats = [to_device(f, device) for f in feats]
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss_value = loss_fn(feats, labels=None)
        loss_value.backward()
        torch.nn.utils.clip_grad_norm_(loss_fn.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
        history.append(loss_value.item())
    print(history)

    model.eval()
    corpus = model.encode([p[1] for p in pairs], batch_size=128, convert_to_tensor=True, show_progress_bar=False)
    queries = model.encode([p[0] for p in pairs[:64]], batch_size=64, convert_to_tensor=True, show_progress_bar=False)
    scores = torch.nn.functional.normalize(queries, dim=-1) @ torch.nn.functional.normalize(corpus, dim=-1).T
    print("recall@10", (scores.topk(10).indices == torch.arange(64, device=scores.device)[:, None]).any(1).float().mean())


if __name__ == "__main__":
    main()

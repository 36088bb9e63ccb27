import argparse

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses, models
from transformers import BertConfig, BertModel, BertTokenizerFast


def save_base(folder, layers):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"w{i}" for i in range(30517)]
    import os

    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/vocab.txt", "w") as f:
        f.write("\n".join(words))
    BertTokenizerFast(f"{folder}/vocab.txt").save_pretrained(folder)
    BertModel(BertConfig(num_hidden_layers=layers)).save_pretrained(folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seq-len", type=int, default=128)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--loss", default="mnrl")
    parser.add_argument("--accumulation", type=int, default=1)
    parser.add_argument("--bf16", action="store_true")
    args = parser.parse_args()

    save_base("bert", args.layers)
    word = models.Transformer("bert", max_seq_length=args.seq_len)
    pooling = models.Pooling(word.get_word_embedding_dimension())
    model = SentenceTransformer(modules=[word, pooling])
    text = lambda: " ".join(f"w{i}" for i in torch.randint(0, 30000, (args.seq_len + 10,)).tolist())
    rows = args.batch_size * args.steps
    data = {"anchor": [text() for _ in range(rows)], "positive": [text() for _ in range(rows)]}
    if args.loss in ("cosine", "cosent"):
        data = {"sentence1": data["anchor"], "sentence2": data["positive"], "score": torch.rand(rows).tolist()}
    if args.loss in ("triplet", "mnrl3"):
        data["negative"] = [text() for _ in range(rows)]
    if args.loss in ("contrastive", "softmax"):
        data["label"] = torch.randint(0, 2, (rows,)).tolist()
    if args.loss == "margin":
        data = {"query": data["anchor"], "positive": data["positive"], "negative": [text() for _ in range(rows)], "score": torch.rand(rows).tolist()}
    names = {"cosine": losses.CosineSimilarityLoss, "cosent": losses.CoSENTLoss, "triplet": losses.TripletLoss, "contrastive": losses.ContrastiveLoss, "margin": losses.MarginMSELoss}
    loss = names.get(args.loss, losses.MultipleNegativesRankingLoss)(model)
    if args.loss == "softmax":
        loss = losses.SoftmaxLoss(model, sentence_embedding_dimension=model.get_sentence_embedding_dimension(), num_labels=3)
    if args.loss == "matryoshka":
        loss = losses.MatryoshkaLoss(model, loss, [768, 512, 256, 128, 64])
    training_args = SentenceTransformerTrainingArguments(
        output_dir="out", per_device_train_batch_size=args.batch_size, max_steps=args.steps, bf16=args.bf16, gradient_accumulation_steps=args.accumulation, report_to="none", save_strategy="no"
    )
    SentenceTransformerTrainer(model=model, args=training_args, train_dataset=Dataset.from_dict(data), loss=loss).train()


if __name__ == "__main__":
    main()

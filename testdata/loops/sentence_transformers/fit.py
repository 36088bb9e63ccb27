import torch
from base import arguments, save_base, texts
from sentence_transformers import InputExample, SentenceTransformer, losses, models
from sentence_transformers.cross_encoder import CrossEncoder
from torch.utils.data import DataLoader


def examples(args):
    first, second, third = texts(args), texts(args), texts(args)
    if args.loss in ("mnrl", "two", "tension_batch"):
        return [InputExample(texts=[a, b]) for a, b in zip(first, second)]
    if args.loss == "triplet":
        return [InputExample(texts=[a, b, c]) for a, b, c in zip(first, second, third)]
    if args.loss == "softmax":
        return [InputExample(texts=[a, b], label=len(a) % 3) for a, b in zip(first, second)]
    return [InputExample(texts=[a, b], label=0.5) for a, b in zip(first, second)]


def main():
    args = arguments()
    save_base("bert", args.layers)
    loader = DataLoader(examples(args), shuffle=True, batch_size=args.batch_size)
    if args.loss == "cross":
        model = CrossEncoder("bert", num_labels=1, max_length=args.seq_len)
        model.fit(train_dataloader=loader, epochs=1, warmup_steps=2, use_amp=args.fp16)
        return
    word = models.Transformer("bert", max_seq_length=args.seq_len)
    model = SentenceTransformer(modules=[word, models.Pooling(word.get_word_embedding_dimension())])
    if args.loss == "triplet":
        loss = losses.TripletLoss(model)
    elif args.loss == "softmax":
        loss = losses.SoftmaxLoss(model, sentence_embedding_dimension=model.get_sentence_embedding_dimension(), num_labels=3)
    elif args.loss == "cosine":
        loss = losses.CosineSimilarityLoss(model)
    elif args.loss == "tension_batch":
        loss = losses.ContrastiveTensionLossInBatchNegatives(model)
    else:
        loss = losses.MultipleNegativesRankingLoss(model)
    objectives = [(loader, loss)]
    if args.loss == "two":
        objectives.append((loader, losses.MultipleNegativesSymmetricRankingLoss(model)))
    model.fit(train_objectives=objectives, epochs=1, warmup_steps=2, use_amp=args.fp16)


if __name__ == "__main__":
    main()

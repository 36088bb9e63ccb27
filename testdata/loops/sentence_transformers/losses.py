from base import arguments, save_base, texts
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses, models
import torch


def build(folder, args):
    word = models.Transformer(folder, max_seq_length=args.seq_len)
    return SentenceTransformer(modules=[word, models.Pooling(word.get_word_embedding_dimension())])


def data_for(args):
    rows = args.batch_size * args.steps
    pair = {"sentence1": texts(args), "sentence2": texts(args)}
    triplet = {"anchor": texts(args), "positive": texts(args), "negative": texts(args)}
    if args.loss in ("cosine", "cosent", "angle", "adaptive_cosent"):
        return {**pair, "score": torch.rand(rows).tolist()}
    if args.loss in ("contrastive", "online", "softmax"):
        return {**pair, "label": [i % 2 for i in range(rows)]}
    if args.loss in ("tension",):
        return {**pair, "label": [i % 2 for i in range(rows)]}
    if args.loss in ("triplet", "triplet_cosine", "mnrl3", "cached3", "gist3"):
        return triplet
    if args.loss == "margin":
        return {**triplet, "score": torch.rand(rows).tolist()}
    if args.loss == "kldiv":
        return {**triplet, "score": torch.rand(rows, 2).tolist()}
    if args.loss == "mse":
        return {"sentence": texts(args), "label": torch.rand(rows, 768).tolist()}
    if args.loss == "mse2":
        return {"english": texts(args), "other": texts(args), "label": torch.rand(rows, 768).tolist()}
    if args.loss.startswith("batch"):
        return {"sentence": texts(args), "label": [i % 4 for i in range(rows)]}
    return {"anchor": triplet["anchor"], "positive": triplet["positive"]}


def loss_for(args, model):
    mnrl = losses.MultipleNegativesRankingLoss(model)
    if args.loss == "symmetric":
        return losses.MultipleNegativesSymmetricRankingLoss(model)
    if args.loss == "cosine":
        return losses.CosineSimilarityLoss(model)
    if args.loss == "cosent":
        return losses.CoSENTLoss(model)
    if args.loss == "angle":
        return losses.AnglELoss(model)
    if args.loss == "contrastive":
        return losses.ContrastiveLoss(model)
    if args.loss == "online":
        return losses.OnlineContrastiveLoss(model)
    if args.loss == "softmax":
        return losses.SoftmaxLoss(model, sentence_embedding_dimension=model.get_sentence_embedding_dimension(), num_labels=3)
    if args.loss == "triplet":
        return losses.TripletLoss(model)
    if args.loss == "triplet_cosine":
        return losses.TripletLoss(model, distance_metric=losses.TripletDistanceMetric.COSINE)
    if args.loss == "margin":
        return losses.MarginMSELoss(model)
    if args.loss == "kldiv":
        return losses.DistillKLDivLoss(model)
    if args.loss in ("mse", "mse2"):
        return losses.MSELoss(model)
    if args.loss == "batch_hard":
        return losses.BatchHardTripletLoss(model)
    if args.loss == "batch_soft":
        return losses.BatchHardSoftMarginTripletLoss(model)
    if args.loss == "batch_all":
        return losses.BatchAllTripletLoss(model)
    if args.loss in ("cached", "cached3"):
        return losses.CachedMultipleNegativesRankingLoss(model, mini_batch_size=args.mini_batch_size)
    if args.loss == "matryoshka":
        return losses.MatryoshkaLoss(model, mnrl, [768, 512, 256, 128, 64])
    if args.loss == "matryoshka_cached":
        cached = losses.CachedMultipleNegativesRankingLoss(model, mini_batch_size=args.mini_batch_size)
        return losses.MatryoshkaLoss(model, cached, [768, 256, 64])
    if args.loss == "adaptive":
        return losses.AdaptiveLayerLoss(model, mnrl)
    if args.loss == "adaptive_cosent":
        return losses.AdaptiveLayerLoss(model, losses.CoSENTLoss(model))
    if args.loss == "matryoshka2d":
        return losses.Matryoshka2dLoss(model, mnrl, [768, 512, 256, 128, 64])
    if args.loss in ("gist", "gist3"):
        return losses.GISTEmbedLoss(model, build("bert", args))
    if args.loss == "tension":
        return losses.ContrastiveTensionLoss(model)
    if args.loss == "tension_batch":
        return losses.ContrastiveTensionLossInBatchNegatives(model)
    return mnrl


def main():
    args = arguments()
    save_base("bert", args.layers)
    model = build("bert", args)
    training_args = SentenceTransformerTrainingArguments(
        output_dir="out", per_device_train_batch_size=args.batch_size, max_steps=args.steps, bf16=args.bf16, fp16=args.fp16,
        gradient_accumulation_steps=args.accumulation, report_to="none", save_strategy="no",
    )
    trainer = SentenceTransformerTrainer(model=model, args=training_args, train_dataset=Dataset.from_dict(data_for(args)), loss=loss_for(args, model))
    trainer.train()


if __name__ == "__main__":
    main()

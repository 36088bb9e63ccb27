import torch
from base import arguments, save_base, texts
from datasets import Dataset
from sentence_transformers.cross_encoder import CrossEncoder, CrossEncoderTrainer, CrossEncoderTrainingArguments
from sentence_transformers.cross_encoder import losses


def data_for(args):
    rows = args.batch_size * args.steps
    pair = {"query": texts(args), "answer": texts(args)}
    if args.loss in ("mnrl", "cached"):
        return pair
    if args.loss == "cached3":
        return {**pair, "negative": texts(args)}
    if args.loss == "margin":
        return {**pair, "negative": texts(args), "score": torch.rand(rows).tolist()}
    if args.loss in ("lambda", "listnet", "listmle", "plistmle", "ranknet"):
        answers = texts(args)
        return {"query": pair["query"], "docs": [[answers[i]] * args.docs for i in range(rows)], "labels": [[1.0] + [0.0] * (args.docs - 1) for _ in range(rows)]}
    if args.loss == "ce":
        return {**pair, "label": [i % 3 for i in range(rows)]}
    return {**pair, "label": torch.rand(rows).tolist()}


def loss_for(args, model):
    if args.loss == "ce":
        return losses.CrossEntropyLoss(model)
    if args.loss == "mse":
        return losses.MSELoss(model)
    if args.loss == "margin":
        return losses.MarginMSELoss(model)
    if args.loss == "mnrl":
        return losses.MultipleNegativesRankingLoss(model, num_negatives=2)
    if args.loss in ("cached", "cached3"):
        return losses.CachedMultipleNegativesRankingLoss(model, num_negatives=3, mini_batch_size=args.mini_batch_size)
    if args.loss == "lambda":
        return losses.LambdaLoss(model, mini_batch_size=args.mini_batch_size)
    if args.loss == "ranknet":
        return losses.RankNetLoss(model, mini_batch_size=args.mini_batch_size)
    if args.loss == "listnet":
        return losses.ListNetLoss(model, mini_batch_size=args.mini_batch_size)
    if args.loss == "listmle":
        return losses.ListMLELoss(model, mini_batch_size=args.mini_batch_size)
    if args.loss == "plistmle":
        return losses.PListMLELoss(model, mini_batch_size=args.mini_batch_size)
    return losses.BinaryCrossEntropyLoss(model)


def main():
    args = arguments()
    save_base("bert", args.layers)
    model = CrossEncoder("bert", num_labels=3 if args.loss == "ce" else 1, max_length=args.seq_len)
    training_args = CrossEncoderTrainingArguments(
        output_dir="out", per_device_train_batch_size=args.batch_size, max_steps=args.steps, bf16=args.bf16, fp16=args.fp16,
        gradient_accumulation_steps=args.accumulation, report_to="none", save_strategy="no",
    )
    trainer = CrossEncoderTrainer(model=model, args=training_args, train_dataset=Dataset.from_dict(data_for(args)), loss=loss_for(args, model))
    trainer.train()


if __name__ == "__main__":
    main()

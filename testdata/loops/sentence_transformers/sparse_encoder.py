import torch
from base import arguments, save_base, texts
from datasets import Dataset
from sentence_transformers import SparseEncoder, SparseEncoderTrainer, SparseEncoderTrainingArguments
from sentence_transformers.sparse_encoder import losses
from sentence_transformers.sparse_encoder.models import MLMTransformer, SpladePooling


def data_for(args):
    rows = args.batch_size * args.steps
    pair = {"query": texts(args), "answer": texts(args)}
    if args.loss == "margin":
        return {**pair, "negative": texts(args), "score": torch.rand(rows).tolist()}
    if args.loss == "cosine":
        return {**pair, "score": torch.rand(rows).tolist()}
    if args.loss == "mnrl3":
        return {**pair, "negative": texts(args)}
    return pair


def loss_for(args, model):
    if args.loss == "margin":
        inner = losses.SparseMarginMSELoss(model)
        return losses.SpladeLoss(model, inner, document_regularizer_weight=0.08, query_regularizer_weight=0.1)
    if args.loss == "cosine":
        inner = losses.SparseCosineSimilarityLoss(model)
        return losses.SpladeLoss(model, inner, document_regularizer_weight=0.003, use_document_regularizer_only=True)
    inner = losses.SparseMultipleNegativesRankingLoss(model)
    if args.loss == "threshold":
        return losses.SpladeLoss(model, inner, document_regularizer_weight=3e-5, query_regularizer_weight=5e-5, document_regularizer_threshold=128)
    return losses.SpladeLoss(model, inner, document_regularizer_weight=3e-5, query_regularizer_weight=5e-5)


def main():
    args = arguments()
    save_base("bert", args.layers)
    model = SparseEncoder(modules=[MLMTransformer("bert", max_seq_length=args.seq_len), SpladePooling("max")])
    training_args = SparseEncoderTrainingArguments(
        output_dir="out", per_device_train_batch_size=args.batch_size, max_steps=args.steps, bf16=args.bf16, fp16=args.fp16,
        gradient_accumulation_steps=args.accumulation, report_to="none", save_strategy="no",
    )
    trainer = SparseEncoderTrainer(model=model, args=training_args, train_dataset=Dataset.from_dict(data_for(args)), loss=loss_for(args, model))
    trainer.train()


if __name__ == "__main__":
    main()

import argparse

import stubs  # noqa: F401
import torch
from torchtune import modules, training, utils
from torchtune.models.llama3_2 import llama3_2, lora_llama3_2
from torchtune.models.qwen2._component_builders import qwen2
from torchtune.modules.loss import CEWithChunkedOutputLoss
from torchtune.modules.peft import get_adapter_params, set_trainable_params

SHAPES = {
    "llama-1b": dict(vocab_size=128_256, num_layers=16, num_heads=32, num_kv_heads=8, embed_dim=2048, max_seq_len=131072, intermediate_dim=8192),
    "tiny": dict(vocab_size=512, num_layers=1, num_heads=4, num_kv_heads=2, embed_dim=64, max_seq_len=512, intermediate_dim=128),
    "qwen2-0.5b": dict(vocab_size=151936, num_layers=24, num_heads=14, num_kv_heads=2, embed_dim=896, max_seq_len=32768, intermediate_dim=4864),
}


class Recipe:
    """The step of full_finetune_single_device and lora_finetune_single_device, with our own batches."""

    def __init__(self, args):
        self.args = args
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._dtype = torch.bfloat16 if args.dtype == "bf16" else torch.float32
        shape = dict(SHAPES[args.model])
        if args.layers:
            shape["num_layers"] = args.layers
        with training.set_default_dtype(self._dtype), self._device:
            if args.lora:
                self._model = lora_llama3_2(["q_proj", "v_proj", "output_proj"], True, False, lora_rank=args.lora, lora_alpha=2 * args.lora, lora_dropout=0.0, **shape)
            else:
                self._model = (qwen2 if args.model.startswith("qwen") else llama3_2)(**shape) if not args.model.startswith("qwen") else qwen2(**shape, tie_word_embeddings=True)
        if args.lora:
            set_trainable_params(self._model, get_adapter_params(self._model))
        if args.checkpointing:
            training.set_activation_checkpointing(self._model, auto_wrap_policy={modules.TransformerSelfAttentionLayer})
        with training.set_default_dtype(self._dtype), self._device:
            for m in self._model.modules():
                if hasattr(m, "rope_init"):
                    m.rope_init()
                if args.lora and hasattr(m, "initialize_parameters"):
                    m.initialize_parameters()
        self._optimizer = torch.optim.AdamW([p for p in self._model.parameters() if p.requires_grad], lr=2e-5, fused=args.fused)
        self._loss_fn = torch.nn.CrossEntropyLoss() if args.plain_loss else CEWithChunkedOutputLoss()
        if not args.plain_loss:
            self._model.set_num_output_chunks(self._loss_fn.num_output_chunks)
        self.ignore_labels_cache = torch.full((args.batch_size, 1), self._loss_fn.ignore_index, device=self._device)
        self.vocab = shape["vocab_size"]

    def batches(self):
        for _ in range(self.args.steps * self.args.accumulation):
            tokens = torch.randint(0, self.vocab, (self.args.batch_size, self.args.seq_len))
            batch = {"tokens": tokens, "labels": tokens.clone()}
            if self.args.packed:
                batch["input_pos"] = torch.arange(self.args.seq_len).repeat(self.args.batch_size, 1)
                batch["mask"] = torch.ones(self.args.seq_len, self.args.seq_len, dtype=torch.bool).tril().repeat(self.args.batch_size, 1, 1)
            yield batch

    def _loss_step(self, batch):
        labels = batch.pop("labels")
        logits = self._model(**batch)
        labels = torch.hstack((labels[..., 1:], self.ignore_labels_cache[: labels.shape[0]]))
        if not isinstance(logits, list):
            labels = labels.reshape(-1)
            logits = logits.reshape(-1, logits.size(-1))
        loss = self._loss_fn(logits, labels)
        del logits
        return loss

    def train(self):
        self._optimizer.zero_grad()
        running_loss = 0
        num_tokens = 0
        for idx, batch in enumerate(self.batches()):
            utils.batch_to_device(batch, self._device)
            current_num_tokens = (batch["labels"] != self._loss_fn.ignore_index).sum()
            num_tokens += current_num_tokens
            current_loss = self._loss_step(batch) * current_num_tokens
            running_loss += current_loss
            current_loss.backward()
            if (idx + 1) % self.args.accumulation == 0:
                training.scale_grads(self._model, 1 / num_tokens)
                if self.args.clip:
                    torch.nn.utils.clip_grad_norm_(self._model.parameters(), max_norm=1.0)
                self._optimizer.step()
                self._optimizer.zero_grad(set_to_none=True)
                print(running_loss.item() / num_tokens)
                running_loss = 0
                num_tokens = 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="llama-1b")
    p.add_argument("--batch-size", type=int, default=2)
    p.add_argument("--seq-len", type=int, default=1024)
    p.add_argument("--steps", type=int, default=4)
    p.add_argument("--accumulation", type=int, default=1)
    p.add_argument("--layers", type=int, default=0)
    p.add_argument("--lora", type=int, default=0)
    p.add_argument("--dtype", default="bf16")
    for flag in ("checkpointing", "fused", "plain-loss", "packed", "clip"):
        p.add_argument("--" + flag, action="store_true")
    Recipe(p.parse_args()).train()


if __name__ == "__main__":
    main()

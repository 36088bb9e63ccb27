# SPDX-License-Identifier: Apache-2.0
# torchtune's recipes for one device (0.6): full_finetune_single_device and lora_finetune_single_device.
import torch
from snug import eval_loader, loader, settings
from torchtune import CEWithChunkedOutputLoss, batch_to_device, scale_grads, set_activation_checkpointing
from torchtune.models import decoder


class Recipe:
    def __init__(self):
        self._device = torch.device("cuda")
        with self._device:
            self._model = decoder()
        if settings.checkpointing:
            set_activation_checkpointing(self._model, auto_wrap_policy=None)
        with self._device:
            for m in self._model.modules():
                if hasattr(m, "rope_init"):
                    m.rope_init()
        self._optimizer = torch.optim.AdamW(self._model.parameters())
        self._loss_fn = CEWithChunkedOutputLoss()
        self._model.set_num_output_chunks(self._loss_fn.num_output_chunks)
        self.ignore_labels_cache = torch.full((settings.batch, 1), self._loss_fn.ignore_index, device=self._device)

    def _loss_step(self, batch):
        labels = batch.pop("labels")
        logits = self._model(batch["input_ids"])
        labels = torch.hstack((labels[..., 1:], self.ignore_labels_cache[: labels.shape[0]]))
        loss = self._loss_fn(logits, labels)
        del logits
        return loss

    def train(self):
        self._optimizer.zero_grad()
        running_loss = 0
        num_tokens = 0
        for idx, batch in enumerate(loader):
            batch_to_device(batch, self._device)
            current_num_tokens = (batch["labels"] != self._loss_fn.ignore_index).sum()
            num_tokens += current_num_tokens
            current_loss = self._loss_step(batch) * current_num_tokens
            running_loss += current_loss
            current_loss.backward()
            if (idx + 1) % settings.accumulation == 0:
                scale_grads(self._model, 1 / num_tokens)
                if settings.clip:
                    torch.nn.utils.clip_grad_norm_(self._model.parameters(), max_norm=1.0)
                self._optimizer.step()
                self._optimizer.zero_grad(set_to_none=True)
                loss_to_log = running_loss.item() / num_tokens
                running_loss = 0
                num_tokens = 0
            if settings.evaluation and (idx + 1) % (settings.evaluation.every * settings.accumulation) == 0:
                self.validate()

    def validate(self):
        self._model.eval()
        kept = []
        with torch.no_grad():
            for batch in eval_loader:
                batch_to_device(batch, self._device)
                if settings.evaluation.keeps_logits:
                    kept.append(self._model(batch["input_ids"]))
                else:
                    self._loss_step(batch)
        self._model.train()


Recipe().train()

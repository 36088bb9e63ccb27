# SPDX-License-Identifier: Apache-2.0
"""What transformers' Trainer binds to names, and for how long (transformers 5.17, accelerate 1.15)."""
import snug
import torch
from torch.utils.data import DataLoader

from accelerate import Accelerator
from transformers_arguments import IntervalStrategy, SaveStrategy, Seq2SeqTrainingArguments, TrainingArguments
from transformers_callbacks import CallbackHandler, DefaultFlowCallback, EarlyStoppingCallback, PrinterCallback, ProgressCallback, TrainerCallback, TrainerControl, TrainerState
from transformers_evaluation import EvalLoopContainer, EvalLoopOutput, EvalPrediction, PredictionOutput, find_batch_size, nested_detach


class TrainOutput:
    def __init__(self, global_step, training_loss, metrics):
        self.global_step = global_step
        self.training_loss = training_loss
        self.metrics = metrics


# trainer_pt_utils.py, LabelSmoother. In-place ops bind their name again here, which changes nothing else.
class LabelSmoother:
    def __init__(self, epsilon=0.1, ignore_index=-100):
        self.epsilon = epsilon
        self.ignore_index = ignore_index

    def __call__(self, model_output, labels, shift_labels=False, num_items_in_batch=None):
        logits = model_output["logits"] if isinstance(model_output, dict) else model_output[0]
        if shift_labels:
            logits = logits[..., :-1, :].contiguous()
            labels = labels[..., 1:].contiguous()
        log_probs = -torch.nn.functional.log_softmax(logits, dim=-1)
        if labels.dim() == log_probs.dim() - 1:
            labels = labels.unsqueeze(-1)
        padding_mask = labels.eq(self.ignore_index)
        labels = torch.clamp(labels, min=0)
        nll_loss = log_probs.gather(dim=-1, index=labels)
        smoothed_loss = log_probs.sum(dim=-1, keepdim=True, dtype=torch.float32)
        nll_loss = nll_loss.masked_fill_(padding_mask, 0.0)
        smoothed_loss = smoothed_loss.masked_fill_(padding_mask, 0.0)
        if num_items_in_batch is None:
            denominator = padding_mask.numel() - padding_mask.long().sum()
        else:
            denominator = num_items_in_batch
        nll_loss = nll_loss.sum() / denominator
        smoothed_loss = smoothed_loss.sum() / (denominator * log_probs.shape[-1])
        return (1 - self.epsilon) * nll_loss + self.epsilon * smoothed_loss


# trainer.py
class Trainer:
    def __init__(self, model=None, args=None, data_collator=None, train_dataset=None, eval_dataset=None,
                 processing_class=None, model_init=None, compute_loss_func=None, compute_metrics=None, callbacks=None,
                 optimizers=(None, None), optimizer_cls_and_kwargs=None, preprocess_logits_for_metrics=None, tokenizer=None):
        if args is None:
            args = TrainingArguments(output_dir="tmp_trainer")
        self.args = args
        self.model = model
        self.accelerator = Accelerator(mixed_precision=args.mixed_precision)
        self.gather_function = self.accelerator.gather_for_metrics
        self.is_deepspeed_enabled = False
        self.is_fsdp_enabled = False
        self.deepspeed = None
        self.model_init = model_init
        if model is None:
            model = self.call_model_init()
        if args.use_liger_kernel:  # before training in the original, which moves no memory
            snug.liger(model, args.liger_kernel_config)
        self.is_model_parallel = False
        self.place_model_on_device = not (args.fp16_full_eval or args.bf16_full_eval)
        if self.place_model_on_device:
            self._move_model_to_device(model, args.device)
        self.model_wrapped = model
        self.model = model
        self.model_accepts_loss_kwargs = snug.accepts_loss_kwargs(model)
        self.label_names = ["labels"] if args.label_names is None else args.label_names
        self.can_return_loss = False
        self._loss_shifts_labels = snug.shifts_labels(model)
        self.label_smoother = LabelSmoother(epsilon=args.label_smoothing_factor) if args.label_smoothing_factor != 0 else None
        self.data_collator = data_collator
        self.train_dataset = train_dataset
        self.eval_dataset = eval_dataset
        self.processing_class = processing_class if processing_class is not None else tokenizer
        self.tokenizer = self.processing_class
        self.neftune_noise_alpha = args.neftune_noise_alpha
        self.compute_loss_func = compute_loss_func
        self.compute_metrics = compute_metrics
        self.preprocess_logits_for_metrics = preprocess_logits_for_metrics
        self.optimizer, self.lr_scheduler = optimizers
        self.optimizer_cls_and_kwargs = optimizer_cls_and_kwargs
        self.callback_handler = CallbackHandler([DefaultFlowCallback], self.model, self.processing_class, self.optimizer, self.lr_scheduler)
        if callbacks is not None:
            for callback in callbacks:
                self.add_callback(callback)
        self.control = TrainerControl()
        self.state = TrainerState()
        self.is_in_train = False
        self.hp_search_backend = None
        self.current_flos = 0
        self._train_batch_size = args.train_batch_size
        self._created_lr_scheduler = False
        self.control = self.callback_handler.on_init_end(self.args, self.state, self.control)
        if args.torch_compile:
            snug.note("torch.compile is not simulated; a compiled model usually takes less")
        if args.deepspeed is not None or args.fsdp:
            snug.note("training on several GPUs is not followed here; the figure is that of one GPU alone")
        self.model.config.use_cache = self.args.use_cache

    def add_callback(self, callback):
        self.callback_handler.add_callback(callback)

    def pop_callback(self, callback):
        return self.callback_handler.pop_callback(callback)

    def remove_callback(self, callback):
        self.callback_handler.pop_callback(callback)

    def call_model_init(self, trial=None):
        return self.model_init()

    def _move_model_to_device(self, model, device):
        model.to(device)

    def is_world_process_zero(self):
        return True

    def is_local_process_zero(self):
        return True

    # Data loaders: the batches of a prepared one come onto the card, one after the other.
    def get_train_dataloader(self):
        return self._get_dataloader(self.train_dataset, "Training", self._train_batch_size, is_training=True)

    def get_eval_dataloader(self, eval_dataset=None):
        eval_dataset = (
            self.eval_dataset[eval_dataset] if isinstance(eval_dataset, str)
            else eval_dataset if eval_dataset is not None else self.eval_dataset
        )
        return self._get_dataloader(eval_dataset, "Evaluation", self.args.eval_batch_size)

    def get_test_dataloader(self, test_dataset):
        return self._get_dataloader(test_dataset, "test", self.args.eval_batch_size)

    def _get_dataloader(self, dataset, description, batch_size, sampler_fn=None, is_training=False, dataloader_key=None):
        dataloader = DataLoader(dataset, batch_size=batch_size, collate_fn=self.data_collator,
                                drop_last=self.args.dataloader_drop_last, _training=is_training)
        return self.accelerator.prepare_data_loader(dataloader)

    def _get_train_sampler(self, train_dataset=None):
        return None

    def _get_eval_sampler(self, eval_dataset=None):
        return None

    def num_examples(self, dataloader):
        return len(dataloader) * self.args.per_device_train_batch_size

    # The optimizer.
    def create_optimizer_and_scheduler(self, num_training_steps):
        self.create_optimizer()
        self.create_scheduler(num_training_steps=num_training_steps)

    def create_optimizer(self, model=None):
        opt_model = self.model if model is None else model
        if self.optimizer is None:
            decay_parameters = self.get_decay_parameter_names(opt_model)
            optimizer_grouped_parameters = [
                {
                    "params": [p for n, p in opt_model.named_parameters() if (n in decay_parameters and p.requires_grad)],
                    "weight_decay": self.args.weight_decay,
                },
                {
                    "params": [p for n, p in opt_model.named_parameters() if (n not in decay_parameters and p.requires_grad)],
                    "weight_decay": 0.0,
                },
            ]
            if self.optimizer_cls_and_kwargs is not None:
                optimizer_cls, optimizer_kwargs = self.optimizer_cls_and_kwargs
            else:
                optimizer_cls, optimizer_kwargs = self.get_optimizer_cls_and_kwargs(self.args, opt_model)
            self.optimizer = optimizer_cls(optimizer_grouped_parameters, **optimizer_kwargs)
        return self.optimizer

    def get_decay_parameter_names(self, model):
        return snug.decay_parameter_names(model)

    @staticmethod
    def get_optimizer_cls_and_kwargs(args, model=None):
        return snug.trainer_optimizer, {"optim": args.optim, "optim_args": args.optim_args, "model": model}

    def create_scheduler(self, num_training_steps, optimizer=None):
        if self.lr_scheduler is None:
            self.lr_scheduler = _Scheduler()
            self._created_lr_scheduler = True
        return self.lr_scheduler

    def _get_learning_rate(self):
        return self.args.learning_rate

    # train and what it calls.
    def train(self, resume_from_checkpoint=None, trial=None, ignore_keys_for_eval=None):
        if resume_from_checkpoint is False:
            resume_from_checkpoint = None
        args = self.args
        self.is_in_train = True
        if self.model_init is not None:
            self.model = self.call_model_init(trial)
            if args.use_liger_kernel:
                snug.liger(self.model, args.liger_kernel_config)
            self.optimizer, self.lr_scheduler = None, None
            if self.place_model_on_device:
                self._move_model_to_device(self.model, args.device)
            self.model_wrapped = self.model
        if (args.fp16_full_eval or args.bf16_full_eval) and self.model_init is None:
            self._move_model_to_device(self.model, args.device)
        if args.gradient_checkpointing:
            gc_kwargs = dict(args.gradient_checkpointing_kwargs or {})
            every_n_layers = gc_kwargs.pop("every_n_layers", 1)
            offload = gc_kwargs.pop("offload", False)
            self.model.gradient_checkpointing_enable(
                gradient_checkpointing_kwargs=gc_kwargs or None, every_n_layers=every_n_layers, offload=offload)
        if self.neftune_noise_alpha is not None:
            snug.neftune(self.model, True)
        if args.auto_find_batch_size:
            torch.cuda.empty_cache()
            snug.note("auto_find_batch_size takes a smaller batch where this one does not fit")
        return self._inner_training_loop(
            batch_size=self._train_batch_size, args=args, resume_from_checkpoint=resume_from_checkpoint, trial=trial,
            ignore_keys_for_eval=ignore_keys_for_eval)

    def _inner_training_loop(self, batch_size=None, args=None, resume_from_checkpoint=None, trial=None, ignore_keys_for_eval=None):
        self.accelerator.free_memory()
        if args.auto_find_batch_size:
            torch.cuda.empty_cache()
            self.model_wrapped = self.model
        train_dataloader = self.get_train_dataloader()
        (num_train_epochs, num_update_steps_per_epoch, steps_in_epoch, max_steps) = self.set_initial_training_values(args, train_dataloader)
        self._init_training_state(max_steps, num_train_epochs)
        model, train_dataloader = self._prepare_for_training(max_steps, train_dataloader, resume_from_checkpoint)
        start_time = 0
        self._tr_loss = torch.tensor(0.0, device=args.device)
        self._total_loss_scalar = 0.0
        self._globalstep_last_logged = self.state.global_step
        model.zero_grad()
        self.control = self.callback_handler.on_train_begin(args, self.state, self.control)
        if args.eval_on_start:
            self._evaluate(trial, ignore_keys_for_eval, skip_scheduler=True)
        for epoch in snug.few_epochs(num_train_epochs):
            self.control = self.callback_handler.on_epoch_begin(self.args, self.state, self.control)
            self._run_epoch(
                model=model, epoch=epoch, train_dataloader=train_dataloader, steps_in_epoch=steps_in_epoch,
                num_update_steps_per_epoch=num_update_steps_per_epoch, trial=trial,
                ignore_keys_for_eval=ignore_keys_for_eval, start_time=start_time,
                resume_from_checkpoint=resume_from_checkpoint, epochs_trained=0, steps_trained_in_current_epoch=0)
            if self.control.should_training_stop:
                break
        return self._finalize_training(trial, 0, start_time)

    def set_initial_training_values(self, args, dataloader):
        max_steps = args.max_steps
        len_dataloader = snug.length(dataloader)
        accumulation = args.gradient_accumulation_steps
        if len_dataloader is not None:
            num_update_steps_per_epoch = max(len_dataloader // accumulation + int(len_dataloader % accumulation > 0), 1)
            if max_steps < 0:
                max_steps = snug.ceil(args.num_train_epochs * num_update_steps_per_epoch)
            if args.max_steps > 0:
                num_train_epochs = max_steps // num_update_steps_per_epoch + int(max_steps % num_update_steps_per_epoch > 0)
            else:
                num_train_epochs = snug.ceil(args.num_train_epochs)
            return num_train_epochs, num_update_steps_per_epoch, len_dataloader, max_steps
        if max_steps <= 0:
            max_steps = 1000
        return 1, max_steps, max_steps * accumulation, max_steps

    def _init_training_state(self, max_steps, num_train_epochs):
        self.state = TrainerState()
        self.state.compute_steps(self.args, max_steps)
        self.state.max_steps = max_steps
        self.state.num_train_epochs = num_train_epochs

    def _prepare_for_training(self, max_steps, train_dataloader, resume_from_checkpoint):
        if self._created_lr_scheduler:
            self.lr_scheduler = None
            self._created_lr_scheduler = False
        self.create_optimizer()
        model = self.accelerator.prepare_model(self.model)
        self.optimizer = self.accelerator.prepare_optimizer(self.optimizer)
        self.create_scheduler(num_training_steps=max_steps)
        self.model_wrapped = model
        if resume_from_checkpoint is not None:
            self._load_optimizer_and_scheduler(resume_from_checkpoint)
        self.callback_handler.model = self.model
        self.callback_handler.optimizer = self.optimizer
        self.callback_handler.lr_scheduler = self.lr_scheduler
        self.callback_handler.train_dataloader = train_dataloader
        return model, train_dataloader

    def _load_optimizer_and_scheduler(self, checkpoint):
        snug.loaded_states(self.optimizer.optimizer)

    def _run_epoch(self, model, epoch, train_dataloader, steps_in_epoch, num_update_steps_per_epoch, trial, ignore_keys_for_eval,
                   start_time, resume_from_checkpoint, epochs_trained, steps_trained_in_current_epoch):
        step = -1
        grad_norm = None
        learning_rate = None
        epoch_iterator = iter(train_dataloader)
        accumulation = self.args.gradient_accumulation_steps
        remainder = steps_in_epoch % accumulation
        if remainder == 0:
            remainder = accumulation
        reached = 0
        # Of a long epoch only the steps that differ from their neighbours are gone through.
        for update_step in snug.few_updates(num_update_steps_per_epoch, epoch * num_update_steps_per_epoch, self.state, self.args):
            num_batches = accumulation if update_step != num_update_steps_per_epoch - 1 else remainder
            if update_step != reached:
                step = update_step * accumulation - 1
                snug.go_on_to(train_dataloader, epoch_iterator, steps_in_epoch - update_step * accumulation)
            reached = update_step + 1
            self.state.global_step = epoch * num_update_steps_per_epoch + update_step
            batch_samples, num_items_in_batch = self.get_batch_samples(epoch_iterator, num_batches, self.args.device)
            self.current_gradient_accumulation_steps = len(batch_samples)
            for i, inputs in enumerate(batch_samples):
                step += 1
                if 3 <= i < len(batch_samples) - 1 and snug.repeats():
                    continue  # as the micro-batch before it
                do_sync_step = (step + 1) % accumulation == 0 or (step + 1) == steps_in_epoch
                self.accelerator.gradient_state._set_sync_gradients(do_sync_step)
                if step % accumulation == 0:
                    self.control = self.callback_handler.on_step_begin(self.args, self.state, self.control)
                tr_loss_step = self.training_step(model, inputs, num_items_in_batch)
                if self.args.logging_nan_inf_filter and (torch.isnan(tr_loss_step) or torch.isinf(tr_loss_step)):
                    pass
                else:
                    self._tr_loss += tr_loss_step
                self._track_num_input_tokens(inputs)
                if do_sync_step:
                    grad_norm = None
                    if self.args.max_grad_norm > 0:
                        grad_norm = self._clip_grad_norm(model)
                    grad_norm = self._get_grad_norm(model, grad_norm=grad_norm)
                    self.control = self.callback_handler.on_pre_optimizer_step(self.args, self.state, self.control)
                    self.optimizer.step()
                    self.control = self.callback_handler.on_optimizer_step(self.args, self.state, self.control)
                    learning_rate = self._get_learning_rate()
                    self.lr_scheduler.step()
                    model.zero_grad()
                    self.state.global_step += 1
                    self.state.epoch = epoch + (step + 1) / steps_in_epoch
                    self.control = self.callback_handler.on_step_end(self.args, self.state, self.control)
                    self._maybe_log_save_evaluate(self._tr_loss, grad_norm, model, trial, epoch, ignore_keys_for_eval, start_time,
                                                  learning_rate=learning_rate)
                else:
                    self.control = self.callback_handler.on_substep_end(self.args, self.state, self.control)
                if self.control.should_epoch_stop or self.control.should_training_stop:
                    break
            if self.control.should_epoch_stop or self.control.should_training_stop:
                break
        self.control = self.callback_handler.on_epoch_end(self.args, self.state, self.control)
        self._maybe_log_save_evaluate(self._tr_loss, grad_norm, model, trial, epoch, ignore_keys_for_eval, start_time,
                                      learning_rate=learning_rate)

    def _finalize_training(self, trial, num_train_samples, start_time):
        self._total_loss_scalar += self._tr_loss.item()
        metrics = {}
        self.log(metrics)
        if self.args.load_best_model_at_end:
            self._load_best_model()
        self.control = self.callback_handler.on_train_end(self.args, self.state, self.control)
        if self.neftune_noise_alpha is not None:
            snug.neftune(self.model, False)
        self.is_in_train = False
        return TrainOutput(self.state.global_step, self._total_loss_scalar, metrics)

    def training_step(self, model, inputs, num_items_in_batch=None):
        model.train()
        if hasattr(self.optimizer, "train"):
            self.optimizer.train()
        inputs = self._prepare_inputs(inputs)
        with self.compute_loss_context_manager():
            loss = self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)
        del inputs
        if self.args.torch_empty_cache_steps is not None and self.state.global_step % self.args.torch_empty_cache_steps == 0:
            torch.cuda.empty_cache()
        if (not self.model_accepts_loss_kwargs or num_items_in_batch is None) and self.compute_loss_func is None:
            loss = loss / self.current_gradient_accumulation_steps
        self.accelerator.backward(loss)
        return loss.detach()

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        if (self.label_smoother is not None or self.compute_loss_func is not None) and "labels" in inputs:
            labels = inputs.pop("labels")
        else:
            labels = None
        if self.model_accepts_loss_kwargs:
            kwargs = {}
            if num_items_in_batch is not None:
                kwargs["num_items_in_batch"] = num_items_in_batch
            inputs = {**inputs, **kwargs}
        outputs = model(**inputs)
        if self.compute_loss_func is not None:
            loss = self.compute_loss_func(outputs, labels, num_items_in_batch=num_items_in_batch)
        elif labels is not None:
            if snug.is_causal(self.model):
                loss = self.label_smoother(outputs, labels, shift_labels=True, num_items_in_batch=num_items_in_batch)
            else:
                loss = self.label_smoother(outputs, labels, num_items_in_batch=num_items_in_batch)
        else:
            loss = outputs["loss"] if isinstance(outputs, dict) else outputs[0]
        if (self.args.average_tokens_across_devices and (self.model_accepts_loss_kwargs or self.compute_loss_func)
                and num_items_in_batch is not None):
            loss = snug.scaled_in_place(loss)
        return (loss, outputs) if return_outputs else loss

    def compute_loss_context_manager(self):
        return self.autocast_smart_context_manager()

    def autocast_smart_context_manager(self, cache_enabled=True):
        return snug.no_context()

    def _maybe_log_save_evaluate(self, tr_loss, grad_norm, model, trial, epoch, ignore_keys_for_eval, start_time, learning_rate=None):
        if self.control.should_log and self.state.global_step > self._globalstep_last_logged:
            logs = {}
            tr_loss_scalar = tr_loss.mean().item()
            tr_loss -= tr_loss
            logs["loss"] = tr_loss_scalar
            if grad_norm is not None:
                logs["grad_norm"] = grad_norm.item() if isinstance(grad_norm, torch.Tensor) else grad_norm
            logs["learning_rate"] = learning_rate
            self._total_loss_scalar += tr_loss_scalar
            self._globalstep_last_logged = self.state.global_step
            self.log(logs, start_time)
        metrics = None
        if self.control.should_evaluate:
            metrics = self._evaluate(trial, ignore_keys_for_eval)
            is_new_best_metric = self._determine_best_metric(metrics=metrics, trial=trial)
            if self.args.save_strategy == "best":
                self.control.should_save = is_new_best_metric
        if self.control.should_save:
            self._save_checkpoint(model, trial)
            self.control = self.callback_handler.on_save(self.args, self.state, self.control)

    def get_batch_samples(self, epoch_iterator, num_batches, device):
        batch_samples = []
        for _ in range(num_batches):
            if not snug.take(epoch_iterator, batch_samples):
                break
        num_items_in_batch = self._get_num_items_in_batch(batch_samples, device)
        return batch_samples, num_items_in_batch

    def _get_num_items_in_batch(self, batch_samples, device):
        num_items_in_batch = None
        if (len(batch_samples) > 0 and "labels" in batch_samples[0]
                and (self.model_accepts_loss_kwargs or self.compute_loss_func is not None)):
            labels_for_count = [
                batch["shift_labels"] if "shift_labels" in batch
                else batch["labels"][..., 1:] if self._loss_shifts_labels
                else batch["labels"]
                for batch in batch_samples
            ]
            num_items_in_batch = snug.sum_of(labels_for_count, lambda labels: labels.ne(-100).sum())
        if num_items_in_batch is not None:
            if torch.is_tensor(num_items_in_batch):
                num_items_in_batch = num_items_in_batch.to(device)
        return num_items_in_batch

    def _prepare_input(self, data):
        return snug.moved(data, self.args.device)

    def _prepare_inputs(self, inputs):
        inputs = self._prepare_input(inputs)
        return inputs

    def _track_num_input_tokens(self, inputs):
        if self.args.include_num_input_tokens_seen == "no":
            return
        main_input_name = getattr(self.model, "main_input_name", "input_ids")
        if main_input_name not in inputs:
            return
        if self.args.include_num_input_tokens_seen == "non_padding":
            if "attention_mask" in inputs:
                input_tokens = inputs["attention_mask"].sum()
            else:
                input_tokens = inputs[main_input_name].numel()
        else:
            input_tokens = inputs[main_input_name].numel()
        input_tokens = torch.as_tensor(input_tokens, device=self.args.device, dtype=torch.int64)
        self.state.num_input_tokens_seen += input_tokens.sum().item()

    def _clip_grad_norm(self, model):
        return self.accelerator.clip_grad_norm_(model.parameters(), self.args.max_grad_norm)

    def _get_grad_norm(self, model, grad_norm=None):
        if grad_norm is None:
            grad_norm = self.accelerator.clip_grad_norm_(model.parameters(), 1e308)
        return grad_norm

    # Evaluation.
    def evaluate(self, eval_dataset=None, ignore_keys=None, metric_key_prefix="eval"):
        override = eval_dataset is not None
        eval_dataset = eval_dataset if override else self.eval_dataset
        if snug.is_dict(eval_dataset):
            metrics = {}
            for eval_dataset_name, _eval_dataset in eval_dataset.items():
                dataset_metrics = self.evaluate(eval_dataset=_eval_dataset if override else eval_dataset_name,
                                                ignore_keys=ignore_keys, metric_key_prefix=metric_key_prefix)
                metrics.update(dataset_metrics)
            return metrics
        eval_dataloader = self.get_eval_dataloader(eval_dataset)
        output = self.evaluation_loop(
            eval_dataloader, description="Evaluation", prediction_loss_only=True if self.compute_metrics is None else None,
            ignore_keys=ignore_keys, metric_key_prefix=metric_key_prefix)
        self.log(output.metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, output.metrics)
        return output.metrics

    def evaluation_loop(self, dataloader, description, prediction_loss_only=None, ignore_keys=None, metric_key_prefix="eval"):
        args = self.args
        prediction_loss_only = prediction_loss_only if prediction_loss_only is not None else args.prediction_loss_only
        model = self.model
        if len(self.accelerator._models) == 0:
            model = self.accelerator.prepare_model(model, evaluation_mode=True)
        if not self.is_in_train:
            if args.fp16_full_eval:
                model = model.to(dtype=torch.float16, device=args.device)
            elif args.bf16_full_eval:
                model = model.to(dtype=torch.bfloat16, device=args.device)
        batch_size = self.args.eval_batch_size
        model.eval()
        self.callback_handler.eval_dataloader = dataloader
        all_losses = EvalLoopContainer(self.args.eval_do_concat_batches, padding_index=-100)
        all_preds = EvalLoopContainer(self.args.eval_do_concat_batches, padding_index=-100)
        all_labels = EvalLoopContainer(self.args.eval_do_concat_batches, padding_index=-100)
        all_inputs = EvalLoopContainer(self.args.eval_do_concat_batches, padding_index=-100)
        metrics = None
        eval_set_kwargs = {}
        observed_num_examples = 0
        keeps = not prediction_loss_only and (not args.batch_eval_metrics or description == "Prediction") or "inputs" in args.include_for_metrics
        turns = snug.evaluated(dataloader, keeps)
        results = None
        for step, inputs in snug.turns(dataloader):
            if turns is not None and 8 <= step < turns - 2:  # in the middle of a long evaluation nothing but what is kept changes
                if not keeps:
                    snug.go_on_to(dataloader, None, 2)
                    continue
                losses, inputs_decode, logits, labels = snug.moved(results, args.device)
                self._collect(losses, inputs_decode, logits, labels, all_losses, all_inputs, all_preds, all_labels)
                if args.eval_accumulation_steps is not None and (step + 1) % args.eval_accumulation_steps == 0:
                    all_losses.to_cpu_and_numpy()
                    all_preds.to_cpu_and_numpy()
                    all_labels.to_cpu_and_numpy()
                    all_inputs.to_cpu_and_numpy()
                    del losses, logits, labels, inputs
                    torch.cuda.empty_cache()
                continue
            observed_batch_size = find_batch_size(inputs)
            if batch_size is None:
                batch_size = observed_batch_size
            losses, logits, labels = self.prediction_step(model, inputs, prediction_loss_only, ignore_keys=ignore_keys)
            main_input_name = getattr(self.model, "main_input_name", "input_ids")
            inputs_decode = self._prepare_input(inputs[main_input_name]) if "inputs" in args.include_for_metrics else None
            if losses is not None:
                losses = self.gather_function(losses.repeat(batch_size))
                all_losses.add(losses)
            if inputs_decode is not None:
                inputs_decode = self.accelerator.pad_across_processes(inputs_decode, dim=1, pad_index=-100)
                inputs_decode = self.gather_function(inputs_decode)
                if not self.args.batch_eval_metrics or description == "Prediction":
                    all_inputs.add(inputs_decode)
            if labels is not None:
                labels = self.accelerator.pad_across_processes(labels, dim=1, pad_index=-100)
            if logits is not None:
                logits = self.accelerator.pad_across_processes(logits, dim=1, pad_index=-100)
                if self.preprocess_logits_for_metrics is not None:
                    logits = self.preprocess_logits_for_metrics(logits, labels)
                logits = self.gather_function(logits)
                if not self.args.batch_eval_metrics or description == "Prediction":
                    all_preds.add(logits)
            if labels is not None:
                labels = self.gather_function(labels)
                if not self.args.batch_eval_metrics or description == "Prediction":
                    all_labels.add(labels)
            results = snug.shapes_of((losses, inputs_decode, logits, labels))
            self.control = self.callback_handler.on_prediction_step(args, self.state, self.control)
            if self.args.batch_eval_metrics:
                if self.compute_metrics is not None and logits is not None and labels is not None:
                    is_last_step = self.accelerator.gradient_state.end_of_dataloader
                    batch_kwargs = {}
                    batch_kwargs["losses"] = losses if "loss" in args.include_for_metrics else None
                    batch_kwargs["inputs"] = inputs if "inputs" in args.include_for_metrics else None
                    metrics = self.compute_metrics(EvalPrediction(predictions=logits, label_ids=labels, **batch_kwargs),
                                                   compute_result=is_last_step)
                del losses, logits, labels, inputs
                torch.cuda.empty_cache()
            elif args.eval_accumulation_steps is not None and (step + 1) % args.eval_accumulation_steps == 0:
                all_losses.to_cpu_and_numpy()
                all_preds.to_cpu_and_numpy()
                all_labels.to_cpu_and_numpy()
                all_inputs.to_cpu_and_numpy()
                del losses, logits, labels, inputs
                torch.cuda.empty_cache()
        self.gather_function = self.accelerator.gather_for_metrics
        all_losses = all_losses.get_arrays()
        all_preds = all_preds.get_arrays()
        all_labels = all_labels.get_arrays()
        all_inputs = all_inputs.get_arrays()
        num_samples = observed_num_examples
        if self.compute_metrics is not None and all_preds is not None and all_labels is not None and not self.args.batch_eval_metrics:
            eval_set_kwargs["losses"] = all_losses if "loss" in args.include_for_metrics else None
            eval_set_kwargs["inputs"] = all_inputs if "inputs" in args.include_for_metrics else None
            metrics = self.compute_metrics(EvalPrediction(predictions=all_preds, label_ids=all_labels, **eval_set_kwargs))
        elif metrics is None:
            metrics = {}
        return EvalLoopOutput(predictions=all_preds, label_ids=all_labels, metrics=metrics, num_samples=num_samples)

    def _collect(self, losses, inputs_decode, logits, labels, all_losses, all_inputs, all_preds, all_labels):
        if losses is not None:
            all_losses.add(losses)
        if inputs_decode is not None:
            all_inputs.add(inputs_decode)
        if logits is not None:
            all_preds.add(logits)
        if labels is not None:
            all_labels.add(labels)

    def predict(self, test_dataset, ignore_keys=None, metric_key_prefix="test"):
        test_dataloader = self.get_test_dataloader(test_dataset)
        output = self.evaluation_loop(test_dataloader, description="Prediction", ignore_keys=ignore_keys,
                                      metric_key_prefix=metric_key_prefix)
        self.control = self.callback_handler.on_predict(self.args, self.state, self.control, output.metrics)
        return PredictionOutput(predictions=output.predictions, label_ids=output.label_ids, metrics=output.metrics)

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        has_labels = False if len(self.label_names) == 0 else all([inputs.get(k) is not None for k in self.label_names])
        inputs = self._prepare_inputs(inputs)
        if ignore_keys is None:
            ignore_keys = ["past_key_values"]
        if has_labels:
            labels = nested_detach(tuple([inputs.get(name) for name in self.label_names]))
            if len(labels) == 1:
                labels = labels[0]
        else:
            labels = None
        with torch.no_grad():
            if has_labels:
                num_items_in_batch = self._get_num_items_in_batch([inputs], self.args.device)
                with self.compute_loss_context_manager():
                    if self.args.use_liger_kernel and prediction_loss_only:
                        inputs = {**inputs, "skip_logits": True}
                    loss, outputs = self.compute_loss(model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch)
                loss = loss.detach().mean()
                if isinstance(outputs, dict):
                    logits = tuple([v for k, v in outputs.items() if k not in ignore_keys + ["loss"]])
                else:
                    logits = outputs[1:]
            else:
                loss = None
                with self.compute_loss_context_manager():
                    outputs = model(**inputs)
                if isinstance(outputs, dict):
                    logits = tuple([v for k, v in outputs.items() if k not in ignore_keys])
                else:
                    logits = outputs
        if prediction_loss_only:
            return (loss, None, None)
        logits = nested_detach(logits)
        if len(logits) == 1:
            logits = logits[0]
        return (loss, logits, labels)

    def _evaluate(self, trial, ignore_keys_for_eval, skip_scheduler=False):
        metrics = self.evaluate(ignore_keys=ignore_keys_for_eval)
        return metrics

    # Checkpoints: weights and states are written from the host, and weights read there.
    def _determine_best_metric(self, metrics, trial):
        return True

    def _save_checkpoint(self, model, trial):
        self.save_model(self.args.output_dir, _internal_call=True)

    def save_model(self, output_dir=None, _internal_call=False):
        self._save(output_dir)

    def _save(self, output_dir=None, state_dict=None):
        pass

    def save_state(self):
        pass

    def save_metrics(self, split, metrics, combined=True):
        pass

    def log_metrics(self, split, metrics):
        pass

    def push_to_hub(self, **kwargs):
        pass

    def create_model_card(self, **kwargs):
        pass

    def _load_best_model(self):
        pass

    def log(self, logs, start_time=None):
        self.control = self.callback_handler.on_log(self.args, self.state, self.control, logs)

    def store_flos(self):
        pass

    def floating_point_ops(self, inputs):
        return 0

    def hyperparameter_search(self, **kwargs):
        snug.note("hyperparameter_search is not followed; each of its trials is a training of its own")


class _Scheduler:
    def step(self, metrics=None):
        pass

    def state_dict(self):
        return {}

    def get_last_lr(self):
        return [0.0]


# trainer_seq2seq.py
class Seq2SeqTrainer(Trainer):
    def evaluate(self, eval_dataset=None, ignore_keys=None, metric_key_prefix="eval", **gen_kwargs):
        return super().evaluate(eval_dataset, ignore_keys=ignore_keys, metric_key_prefix=metric_key_prefix)

    def predict(self, test_dataset, ignore_keys=None, metric_key_prefix="test", **gen_kwargs):
        return super().predict(test_dataset, ignore_keys=ignore_keys, metric_key_prefix=metric_key_prefix)

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None, **gen_kwargs):
        if self.args.predict_with_generate and not prediction_loss_only:
            snug.note("generation is not followed; the caches of predict_with_generate come on top of this")
        return super().prediction_step(model, inputs, prediction_loss_only, ignore_keys=ignore_keys)


# data/data_collator.py: how batches are made from samples is in the loader; these only have names.
class DataCollatorWithPadding:
    def __init__(self, tokenizer=None, padding=True, max_length=None, pad_to_multiple_of=None, return_tensors="pt"):
        self.tokenizer = tokenizer


class DataCollatorForLanguageModeling:
    _labels = True

    def __init__(self, tokenizer=None, mlm=True, mlm_probability=0.15, pad_to_multiple_of=None, return_tensors="pt", **kwargs):
        self.tokenizer = tokenizer
        self.mlm = mlm


class DataCollatorForSeq2Seq(DataCollatorWithPadding):
    def __init__(self, tokenizer=None, model=None, padding=True, max_length=None, pad_to_multiple_of=None, label_pad_token_id=-100, return_tensors="pt"):
        self.tokenizer = tokenizer


class DataCollatorForTokenClassification(DataCollatorWithPadding):
    pass


class DefaultDataCollator:
    def __init__(self, return_tensors="pt"):
        pass


def default_data_collator(features, return_tensors="pt"):
    return None

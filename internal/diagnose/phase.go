// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"snug/internal/pattern"
	"strings"
)

// The kinds of memory, by the code that allocated it.
const (
	Parameters  = "parameters"  // weights
	Gradients   = "gradients"   // gradients of the weights
	Optimizer   = "optimizer"   // optimizer states
	Activations = "activations" // results of layers
	Logits      = "logits"      // the logits, and what the loss computes from them
	Checkpoint  = "checkpoint"  // read from a checkpoint
	Data        = "data"        // batches
	Temporaries = "temporaries" // what an optimizer's update allocates besides its states
	Workspace   = "workspace"   // workspaces of CUDA libraries
	Unknown     = "unknown"     // the stack does not show it
)

var (
	// evaluates matches names of functions that evaluate: evaluate, validation_step, run_eval, do_test.
	evaluates = pattern.New(`(?i)(?:^|_)(?:eval|evals|evaluate|evaluation|validate|validation|val|valid|test|predict|prediction|predictions|inference|infer|generate)(?:_|$)`)
	// heldOut matches names of evaluation data in source lines: val_loader, eval_batch, x_test.
	heldOut = pattern.New(`\b(?:(?:val|valid|validation|eval|evaluation|test)_(?:dl|loader|dataloader|data|batch|batches|set|dataset|ids|inputs?|images?|x)|x_(?:val|test|eval))\b`, "val", "eval", "test")
	// losses matches code that turns logits into a loss, in names and in source lines.
	losses = pattern.New(`(?i)cross_entropy|log_softmax|CausalLMLoss|nll_loss|\blogits\.float\(\)|lm_head\(|compute_logits|logsumexp`)
	// attention matches code that computes attention scores, one element per pair of tokens.
	attention = pattern.New(`(?i)attn_weights|attn_scores|attention_scores|attention_probs|\batt(?:n)? = |eager_attention_forward|\bq(?:uery)? ?@ ?k|baddbmm\(`)
	// restores matches functions that read a checkpoint.
	restores = pattern.New(`(?i)^(?:load_state_dict|_load_optimizer_and_scheduler|load_checkpoint|resume\w*|_?restore\w*|load_state|_load_from_checkpoint|load_training_state)$`)
	// steps matches the functions of PyTorch's optimizers that compute the update, after the state was allocated.
	steps = pattern.New(`^_(?:multi|single)_tensor_|^_fused_|^_foreach_`)
	// builds matches functions that create or move a model.
	builds = pattern.New(`^(?:from_pretrained|_load_pretrained_model|_from_pretrained|load_model|dispatch_model|load_checkpoint_and_dispatch|load_checkpoint_in_model|_init_weights|convert|prepare_model|_load_state_dict_into_meta_model|to_empty|materialize\w*)$`)
)

func (f Frame) optimizes() bool {
	return f.of("torch/optim/") && f.Func != "zero_grad" || f.of("bitsandbytes/optim/") || f.of("apex/optimizers/") || f.of("deepspeed/ops/adam") || f.of("transformers/optimization") || f.of("torchao/optim")
}

// evaluates reports whether the function evaluates, or the user's line uses evaluation data.
func (f Frame) evaluates() bool {
	return evaluates.In(f.Func) || f.users() && heldOut.In(f.Code)
}

func (f Frame) loses() bool { return losses.In(f.Func) || losses.In(f.Code) }

func (f Frame) attends() bool { return attention.In(f.Func) || attention.In(f.Code) }

func (f Frame) restores() bool {
	return restores.In(f.Func) || f.of("torch/serialization.py") || strings.Contains(f.Code, "load_state_dict(") || strings.Contains(f.Code, "torch.load(")
}

// builds reports whether the code creates a module or moves it to the card.
func (f Frame) builds() bool {
	return f.of("torch/nn/modules/") && (f.Func == "__init__" || f.Func == "_apply" || f.Func == "reset_parameters") || builds.In(f.Func)
}

func (f Frame) moves() bool { return f.of("torch/nn/modules/module.py") && f.Func == "_apply" }

// calls reports whether the frame is PyTorch's code around a module's forward.
func (f Frame) calls() bool {
	return f.of("torch/nn/modules/module.py") && (f.Func == "_call_impl" || f.Func == "_wrapped_call_impl")
}

func (f Frame) backward() bool {
	return f.of("torch/autograd/") && (f.Func == "backward" || f.Func == "_engine_run_backward" || f.Func == "grad")
}

// site returns the user's line that caused an allocation: the user's innermost frame outside any module, which is
// in the training loop and not in the model.
func site(frames []Frame) (Frame, bool) {
	for i, f := range frames {
		if f.calls() {
			if at, ok := innermost(frames[:i], Frame.users); ok {
				return at, true
			}
			break
		}
	}
	return innermost(frames, Frame.users)
}

// updates reports whether the innermost code is the optimizer's. Lightning runs the whole step inside the optimizer's
// step, as a closure.
func updates(frames []Frame) bool {
	for i := len(frames) - 1; i >= 0; i-- {
		switch f := frames[i]; {
		case f.optimizes():
			return true
		case f.calls() || f.backward():
			return false
		case f.users():
			return ownStep(frames[:i+1])
		}
	}
	return false
}

// ownStep reports whether the user's innermost frames are the step of the user's own optimizer, which PyTorch calls
// through a wrapper.
func ownStep(frames []Frame) bool {
	inStep := false
	for i := len(frames) - 1; i >= 0; i-- {
		switch f := frames[i]; {
		case f.of("torch/optim/optimizer.py"):
			return inStep
		case f.users():
			inStep = f.Func == "step"
		case !f.of("torch/utils/_contextlib.py"):
			return false
		}
	}
	return false
}

// pins reports whether the code moves batches to page-locked host memory.
func (f Frame) pins() bool {
	return f.of("torch/utils/data/_utils/pin_memory.py") || f.of("torch/") && f.Func == "pin_memory"
}

func (f Frame) computesUpdate() bool { return steps.In(f.Func) && f.optimizes() }

// workspace reports whether the code allocates a CUDA library's workspace. Only stacks with C++ frames show this.
func (f Frame) workspace() bool { return strings.Contains(f.Func, "orkspace") && !f.users() }

// kindOf returns the purpose of an allocation, judging by its stack.
func kindOf(frames []Frame) string {
	switch {
	case len(frames) == 0:
		return Gradients // the engine's threads, which run the backward pass, have no Python stack
	case frames[len(frames)-1].workspace():
		return Workspace
	case updates(frames) && some(frames, Frame.computesUpdate):
		return Temporaries
	case updates(frames):
		return Optimizer
	case some(frames, Frame.moves) || some(frames, Frame.builds) && !some(frames, Frame.calls):
		return Parameters
	case some(frames, Frame.restores):
		return Checkpoint
	case some(frames, Frame.backward):
		return Gradients
	case some(frames, Frame.loses):
		return Logits
	case some(frames, Frame.calls):
		return Activations
	}
	return Data
}

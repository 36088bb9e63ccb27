// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"

	"snug/internal/units"
)

// Fix is something that helps. Fixes are sorted, the smallest change first.
type Fix struct {
	Change  string // what to do
	Saves   uint64 // bytes; 0 if unknown
	Command string // a command that shows or makes the change; "" if there is none

	general bool // whether a simulation of the run gives more specific advice
	plans   bool // whether the command plans the run, and needs its settings
	varies  bool // whether the command simulates the run with lengths, and needs its settings
	applies bool // whether the fix also helps a run that should have fit
}

// Text returns a fix as one sentence.
func (f Fix) Text() string {
	text := f.Change
	if f.Saves > 0 {
		text += fmt.Sprintf(" (saves %v)", units.Bytes(f.Saves))
	}
	if f.Command != "" {
		text += ": " + f.Command
	}
	return text
}

// Advice that several verdicts share.
const (
	chunkLoss      = "use a loss that never stores all logits at once (Liger's fused cross-entropy, a chunked loss)"
	halve          = "halve the micro-batch and double the accumulation: the effective batch stays the same"
	keepNumbers    = "keep numbers, not tensors: loss.item(), or .detach().cpu() for what must be kept"
	fusedAttention = `attn_implementation="sdpa", FlashAttention`
	letSnugChoose  = "let snug choose micro-batch, accumulation, precision and checkpointing for this card"
)

// optimize returns the advice to plan the run, with a command to complete.
func (c *failure) optimize() Fix {
	f := Fix{Change: "describe the run, and " + letSnugChoose, Command: "snug optimize --model NAME --batch N --seq N", plans: true}
	if c.room > 0 && (!c.capped() || c.message.Total > 0) {
		f.Command += fmt.Sprintf(" --gpu-memory %.2fGiB", float64(max(c.room, c.message.Total))/units.GiB)
	}
	if c.capped() {
		f.Command += fmt.Sprintf(" --limit %.2fGiB", float64(c.room)/units.GiB)
	}
	return f
}

// smaller returns the advice to use a smaller batch. A request that is larger than the card must shrink until it
// fits together with its gradient of the same size, next to what is in tensors already.
func (c *failure) smaller() Fix {
	if !c.alone() {
		return Fix{Change: halve, general: true}
	}
	left, beside := c.room, ""
	if held := c.message.Allocated; held > 0 && held < c.room {
		left, beside = c.room-held, fmt.Sprintf(", next to the %v that is in tensors already", units.Bytes(held))
	}
	times := (2*c.tried + left - 1) / left
	return Fix{general: true, applies: true, Change: fmt.Sprintf("make that one tensor at least %d times smaller, with a smaller micro-batch (and more accumulation) or shorter sequences: it and its gradient, which is as large, must fit %v%s",
		times, units.Bytes(c.room), beside)}
}

// alone reports whether the failed request is larger than the card by itself.
func (c *failure) alone() bool { return c.room > 0 && c.tried > c.room }

// lessActivations returns the fixes for a run that is too big: a smaller batch, attention that stores no scores if
// the failed request was for scores, and checkpointing, unless a single tensor is too large.
func (c *failure) lessActivations() (out []Fix) {
	out = append(out, c.smaller())
	if c.enoughInPieces() {
		out = append(out, c.message.defragments(Fix{Saves: c.message.Unallocated, general: true, applies: true}))
	}
	switch attends := some(c.frames, Frame.attends); {
	case attends && c.share(c.tried) >= largeRequest:
		out = append(out, Fix{applies: true, Change: "use attention that never stores the scores, which have batch × heads × length² elements (" + fusedAttention + ")"})
	case c.alone() && c.joined() != "":
		out = append(out, c.joinLess()...)
	case c.alone():
		out = append(out, Fix{general: true, applies: true, Change: "find out which tensor it is: a chunked loss never stores all logits (batch × length × vocabulary), and fused attention (" + fusedAttention + ") never stores the scores (batch × heads × length²)"})
	}
	if !c.alone() {
		out = append(out, Fix{Change: "turn gradient checkpointing on", general: true})
	}
	return out
}

// fixes returns the fixes for a cause, the smallest change first.
func (c *failure) fixes(v *Verdict) []Fix {
	optimize := c.optimize()
	cut := Fix{Change: "truncate long samples (max_length), or group batches by the number of tokens"}
	longest := Fix{Change: "run the longest batch first, so that it fails early; to know beforehand whether it fits", Command: "snug estimate --model NAME --batch N --lengths FILE", varies: true}
	switch v.Code {
	case TooBig:
		return append(append(c.raiseCap(), c.lessActivations()...), optimize)
	case LogitsTooBig:
		return append(c.raiseCap(), Fix{Change: chunkLoss, Saves: c.of(Logits), general: true, applies: c.alone()}, c.smaller(), optimize)
	case Loading:
		return append(c.raiseCap(), Fix{Change: "load the weights in 16 bits (torch_dtype=torch.bfloat16), or quantized for LoRA", Saves: c.of(Parameters) / 2, general: true}, Fix{Change: "shard the model over several GPUs (FSDP, ZeRO-3)"}, optimize)
	case FirstOptimizerStep:
		return append(c.raiseCap(), Fix{Change: "update without temporaries (fused=True, or foreach=False)", Saves: c.of(Temporaries), general: true}, Fix{Change: "use an optimizer with less state (8-bit AdamW, Adafactor)", Saves: 3 * c.of(Optimizer) / 4, general: true}, Fix{Change: "shard the optimizer over several GPUs (ZeRO-1, FSDP)"}, optimize)
	case Evaluation:
		return []Fix{{Change: "evaluate under torch.inference_mode() with a smaller batch"}, {Change: "move predictions to the host batch by batch (.cpu(); the Trainer's eval_accumulation_steps), or keep only the metric", Saves: growthBytes(c)}}
	case LongBatch:
		if v.Confidence == Possible {
			return append(c.joinLess(), cut, longest, Fix{Change: "look for tensors that are kept from step to step", Command: "snug lint ."})
		}
		return append(c.joinLess(), cut, longest)
	case Leak:
		return append([]Fix{{Change: keepNumbers, Saves: growthBytes(c)}}, append(c.joinLess(), Fix{Change: "find the line that keeps it", Command: "snug lint ."})...)
	case Fragmentation:
		return c.defragmented(v.Retry)
	case OtherProcess:
		return []Fix{{Change: "stop the other processes, or use another card (CUDA_VISIBLE_DEVICES)", Saves: c.message.Others, Command: "nvidia-smi"}}
	case PrivatePool:
		return append(c.raiseCap(), Fix{Change: "capture fewer graphs, or have them share one pool (torch.cuda.graph(…, pool=…))", Saves: c.message.Private})
	case Resume:
		return []Fix{{Change: "read the checkpoint with map_location=\"cpu\" and delete it once it is loaded", Saves: c.of(Checkpoint)}}
	case HostMemory:
		return c.onHostFixes()
	case BadDriver:
		return []Fix{{Change: "look for limits outside PyTorch (ulimit -v, a MIG slice, WSL's .wslconfig) and restart the driver", Command: "snug gpus"}}
	}
	return nil
}

// joinLess returns the fixes for a failed line that copies a list of tensors into one.
func (c *failure) joinLess() []Fix {
	list := c.joined()
	if list == "" {
		return nil
	}
	return []Fix{{Change: fmt.Sprintf("write each tensor into a preallocated one, instead of collecting them in %s and copying them all; or reduce each to what is needed (the loss, argmax) before it is collected", list)}}
}

// raiseCap returns the fix for a memory cap that is reached while the card still has room: the fraction of the card
// that the request would have needed.
func (c *failure) raiseCap() []Fix {
	m := c.message
	need := m.Allocated + m.Unallocated + m.Tried
	if m.Limit == 0 || m.Total == 0 || need <= m.Limit || m.Free < need-min(need, m.Limit)+slack || need > m.Total {
		return nil
	}
	return []Fix{{applies: true, Change: fmt.Sprintf("raise the limit of %v, if the card is yours: it has %v free, and the request needs %v in total (set_per_process_memory_fraction of at least %.3f)",
		units.Bytes(m.Limit), units.Bytes(m.Free), units.Bytes(need), float64(need)/float64(m.Total)+0.0005)}}
}

// defragmented returns the fixes for fragmentation. It omits expandable segments if a replay showed that they do
// not help.
func (c *failure) defragmented(r *Retry) (out []Fix) {
	set := c.message.defragments(Fix{Saves: c.message.Unallocated})
	if r != nil {
		set.Change = "set " + r.Set
	}
	if r == nil || r.Fits || r.Unsure {
		out = append(out, set)
	}
	out = append(out, Fix{Change: "pad lengths to a multiple of 64, so blocks can be reused"})
	if r != nil && !r.Fits && !r.Unsure {
		out = append(out, Fix{Change: halve, general: true})
	}
	return out
}

// onHostFixes returns the fixes for a lack of host memory or shared memory.
func (c *failure) onHostFixes() []Fix {
	workers := Fix{Change: "use fewer workers, a smaller prefetch_factor, and no growing cache in the dataset"}
	if c.message.Form == Shared {
		return []Fix{{Change: "give the container more shared memory (docker run --shm-size=16g, or --ipc=host; in Kubernetes an emptyDir with medium: Memory at /dev/shm)"}, workers}
	}
	return []Fix{workers, {Change: "give the job more host memory (--mem in Slurm, resources.limits.memory in Kubernetes)"}}
}

func growthBytes(c *failure) uint64 {
	if c.Recorded == nil {
		return 0
	}
	_, bytes := c.Recorded.growing()
	return bytes
}

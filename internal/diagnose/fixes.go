// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"

	"snug/internal/units"
)

// Fix is something that helps, the smallest first.
type Fix struct {
	Change  string
	Saves   uint64 // bytes; 0 if unknown
	Command string // what shows or does it; "" if nothing does
}

// Text returns a fix as one sentence.
func (f Fix) Text() string {
	text := f.Change
	if f.Saves > 0 {
		text += fmt.Sprintf(" (%v)", units.Bytes(f.Saves))
	}
	if f.Command != "" {
		text += ": " + f.Command
	}
	return text
}

const expandable = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"

// fixes returns what helps against a cause.
func (c *failure) fixes(v *Verdict) []Fix {
	optimize := Fix{Change: "let snug choose micro-batch, accumulation, precision and checkpointing for this card", Command: "snug optimize"}
	switch v.Code {
	case TooBig:
		return []Fix{{Change: "halve the micro-batch and double the accumulation: the effective batch stays as it is"}, {Change: "turn gradient checkpointing on"}, optimize}
	case LogitsTooBig:
		return []Fix{{Change: "use a loss that never holds all logits at once (Liger's fused cross-entropy, a chunked loss)", Saves: c.of(Logits)}, {Change: "halve the micro-batch and double the accumulation"}, optimize}
	case Loading:
		return []Fix{{Change: "load the weights in 16 bits (torch_dtype=torch.bfloat16), or quantized for LoRA"}, {Change: "shard the model over several GPUs (FSDP, ZeRO-3)"}, optimize}
	case FirstOptimizerStep:
		return []Fix{{Change: "use an optimizer with less state (8-bit AdamW, Adafactor) or without temporaries (foreach=False, fused=True)"}, {Change: "shard the optimizer over several GPUs (ZeRO-1, FSDP)"}, optimize}
	case Evaluation:
		return []Fix{{Change: "evaluate under torch.inference_mode() with a smaller batch"}, {Change: "move predictions to the host batch by batch (.cpu(); the Trainer's eval_accumulation_steps), or keep only the metric"}}
	case LongBatch:
		return []Fix{{Change: "cut long samples (max_length), or group batches by the number of tokens"}, {Change: "run the longest batch first, so a failure shows at once", Command: "snug estimate --lengths FILE"}}
	case Leak:
		return []Fix{{Change: "keep numbers, not tensors: loss.item(), or .detach().cpu() for what must be kept", Saves: growthBytes(c)}, {Change: "find the line that keeps it", Command: "snug lint ."}}
	case Fragmentation:
		return []Fix{{Change: "set " + expandable, Saves: c.message.Unallocated}, {Change: "pad lengths to a multiple of 64, so blocks can be reused"}}
	case OtherProcess:
		return []Fix{{Change: "end the other processes, or use another card (CUDA_VISIBLE_DEVICES)", Saves: c.message.Others, Command: "nvidia-smi"}}
	case PrivatePool:
		return []Fix{{Change: "capture fewer graphs, or have them share one pool (torch.cuda.graph(…, pool=…))", Saves: c.message.Private}}
	case Resume:
		return []Fix{{Change: "read the checkpoint with map_location=\"cpu\" and delete it once it is loaded", Saves: c.of(Checkpoint)}}
	case HostMemory:
		return []Fix{{Change: "use fewer workers, a smaller prefetch_factor, and no growing cache in the dataset"}, {Change: "give the job more host memory (--mem), or the container more shared memory (--shm-size)"}}
	case BadDriver:
		return []Fix{{Change: "look for limits outside PyTorch (ulimit -v, a MIG slice, WSL's .wslconfig) and restart the driver", Command: "snug gpus"}}
	}
	return nil
}

func growthBytes(c *failure) uint64 {
	if c.Recorded == nil {
		return 0
	}
	_, bytes := c.Recorded.growing()
	return bytes
}

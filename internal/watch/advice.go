// SPDX-License-Identifier: Apache-2.0

package watch

import "fmt"

// Advice for each state.
const (
	adviceLeak              = "look for tensors that are kept from step to step: a running sum of losses (use loss.item()), a list of outputs (use .detach().cpu()), copies of the weights; `snug lint` finds these lines, and `snug profile` records which line allocates them"
	adviceLeakOutside       = "look for what allocates without PyTorch: an extension's cudaMalloc, handles, streams or communicators that are made again and again; `compute-sanitizer --leak-check full` lists what is not freed"
	adviceLeakUnprobed      = "start the run with `snug watch -- COMMAND` to see whether tensors or PyTorch's cache grow"
	adviceOOM               = "run `snug diagnose` on the run's log to see why, and `snug optimize` for settings that fit"
	adviceThrash            = "use a smaller batch, or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True so that freed memory is not left in small pieces"
	adviceEval              = "evaluate with a smaller batch: evaluation takes nearly all the memory available to the run"
	adviceCollects          = "move what the evaluation keeps to the CPU after each batch (.cpu(); eval_accumulation_steps in transformers' Trainer), or keep only the metrics"
	adviceNear              = "use a smaller batch, gradient checkpointing, or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; `snug optimize` computes what each would save"
	adviceStarved           = "give the DataLoader more workers (num_workers, pin_memory, persistent_workers) or prepare the data beforehand; a larger batch would not help"
	adviceRagged            = "the longest batch sets the peak: group samples of similar lengths, cap the length, or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
	adviceCache             = "nothing is lost: PyTorch frees the cache when it needs the memory; PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True keeps it smaller"
	adviceUnderusedUnprobed = "use a larger batch; `snug optimize` computes how large"
)

func adviceOther(pid int) string {
	return fmt.Sprintf("see what process %d is (ps -p %d), and move one of the two to another GPU with CUDA_VISIBLE_DEVICES", pid, pid)
}

// goodShare is the fraction of the card that a suggested batch may use.
const goodShare = 0.85

// adviceUnderused computes the batch that would use the card well: persistent memory stays the same, the rest of a
// step grows with the batch.
func (w *Watcher) adviceUnderused(p *process, capacity float64) string {
	peak, _ := p.highest()
	stays := p.staying()
	grows := peak - stays
	if grows <= 0 || len(p.last.Shape) == 0 || p.last.Shape[0] < 1 {
		return adviceUnderusedUnprobed
	}
	batch := p.last.Shape[0]
	larger := int(float64(batch) * (goodShare*capacity - stays) / grows)
	if larger <= batch {
		return adviceUnderusedUnprobed
	}
	return fmt.Sprintf("a batch of about %d instead of %d would use %.0f %% of the memory; `snug optimize` computes it exactly and keeps the effective batch", larger, batch, 100*goodShare)
}

// SPDX-License-Identifier: Apache-2.0

package lint

import "snug/internal/pysrc"

var noWorkers = Rule{
	Code: "SNG701", Name: "no-workers",
	Title:    "a DataLoader for training loads in the training process",
	Why:      "With num_workers=0, the default, the GPU waits while the next batch is read, decoded and collated.",
	Evidence: "From PyTorch's tuning guide: asynchronous data loading needs num_workers > 0.",
	Bad:      "loader = DataLoader(dataset, batch_size=32, shuffle=True)\nfor batch in loader:\n    model(batch).loss.backward()\n",
	Good:     "loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=4, pin_memory=True)\nfor batch in loader:\n    model(batch).loss.backward()\n",
	check:    checkWorkers,
}

func checkWorkers(m *module, r *reporter) {
	if m.words["TensorDataset"] || m.words["load_and_cache_examples"] { // all data is in memory
		return
	}
	m.loaders(func(c *call) {
		n, given := argument(c.Call, "num_workers").(*pysrc.Number)
		if len(positional(c.Call)) < 6 && (argument(c.Call, "num_workers") == nil || given && n.IsInt && n.Int == 0) {
			r.add(c.At(), "this DataLoader loads in the training process, and the GPU waits for it; set num_workers")
		}
	})
}

var notPinned = Rule{
	Code: "SNG702", Name: "not-pinned",
	Title:    "a DataLoader with workers does not pin its batches",
	Why:      "Copies from pageable memory to the GPU are slower and cannot overlap with kernels, even with non_blocking=True. pin_memory=True makes them asynchronous.",
	Evidence: "From PyTorch's notes on CUDA semantics: only copies from pinned memory are asynchronous.",
	Bad:      "loader = DataLoader(dataset, batch_size=32, num_workers=4)\nfor batch in loader:\n    batch = batch.to(\"cuda\", non_blocking=True)\n    model(batch).loss.backward()\n",
	Good:     "loader = DataLoader(dataset, batch_size=32, num_workers=4, pin_memory=True)\nfor batch in loader:\n    batch = batch.to(\"cuda\", non_blocking=True)\n    model(batch).loss.backward()\n",
	check:    checkPinned,
}

func checkPinned(m *module, r *reporter) {
	if !m.words["cuda"] && !m.words["non_blocking"] {
		return
	}
	m.loaders(func(c *call) {
		workers := argument(c.Call, "num_workers")
		n, literal := workers.(*pysrc.Number)
		if workers == nil || literal && n.Int == 0 || len(positional(c.Call)) > 7 {
			return
		}
		if pin := argument(c.Call, "pin_memory"); pin == nil && !m.words["pin_memory"] || isFalse(pin) && m.words["non_blocking"] {
			r.add(c.At(), "batches of this DataLoader are copied to the GPU from pageable memory; set pin_memory=True")
		}
	})
}

// loaders calls f for the DataLoaders in a program that trains, if their arguments are known. It skips data that is
// already in memory, which needs no workers.
func (m *module) loaders(f func(*call)) {
	if !m.words["backward"] && !m.words["fit"] && !m.words["Trainer"] {
		return
	}
	for _, fn := range m.functions {
		for _, c := range fn.calls {
			if c.name == "torch.utils.data.DataLoader" && !unpacks(c.Call) && len(c.Args) > 0 && !fn.inMemory(c) && !c.evaluation() && !fn.loadsForEvaluation() {
				f(c)
			}
		}
	}
}

// inMemory reports whether a loader's data is a TensorDataset or a tensor.
func (f *function) inMemory(c *call) bool {
	data := c.Args[0].Value
	if d := argument(c.Call, "dataset"); d != nil {
		data = d
	}
	isInMemory := func(x pysrc.Expr) bool {
		return hasWord(lastOf(x), "tensor", "randn", "randint", "fake", "dummy", "buffer", "replay", "prompt", "synthetic", "randomdata", "randomtoken", "sample_dataset", "sampler", "experience", "regression", "cached")
	}
	if a := f.assignedBefore(dotted(data), c.At()); a != nil && anyIn(a.value, isInMemory) {
		return true
	}
	return anyIn(data, isInMemory)
}

// evaluation reports whether a loader is for evaluation, judging by its name or its data's.
func (c *call) evaluation() bool {
	found := false
	pysrc.Parts(c.stmt, func(e pysrc.Expr) {
		found = found || anyIn(e, func(x pysrc.Expr) bool {
			return evaluationData(lastOf(x))
		})
	}, func([]pysrc.Stmt) {})
	return found
}

// loadsForEvaluation reports whether a function only makes a loader for evaluation, such as Lightning's
// val_dataloader.
func (f *function) loadsForEvaluation() bool {
	return hasWord(f.name, "loader") && !hasWord(f.name, "train") && evaluationData(f.name)
}

// evaluationData reports whether a name is that of a loader or of data for evaluation.
func evaluationData(name string) bool {
	return hasWord(name, "val", "test", "eval", "dev_", "predict", "infer", "count", "request", "calib")
}

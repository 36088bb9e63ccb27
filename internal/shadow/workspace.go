// SPDX-License-Identifier: Apache-2.0

package shadow

import (
	"cmp"
	"maps"
	"slices"
)

// workspaceKey identifies a workspace: each thread has its own cuBLAS handle, which has one workspace for
// each CUDA stream. Sizes are in kernel/cublas.go; cuDNN's workspaces are in kernel/convolution.go.
type workspaceKey struct {
	thread int
	queue  uint16
	lt     bool
}

type workspaces map[workspaceKey]*storage

// cublas makes sure that the current thread and stream have their workspace.
func (w *World) cublas() {
	w.workspace(workspaceKey{w.thread, w.queue, false}, w.kernelBytes(w.Rules.Cublas()))
}

// cublasLt is cublas for products with a bias. Its handle is derived from the plain one, whose workspace is
// therefore allocated first.
func (w *World) cublasLt() {
	w.cublas()
	bytes, kept := w.Rules.CublasLt()
	if kept {
		w.workspace(workspaceKey{w.thread, w.queue, true}, w.kernelBytes(bytes))
	} else {
		w.kernelScratch(bytes)
	}
}

func (w *World) workspace(k workspaceKey, bytes uint64) {
	if bytes == 0 || w.spaces[k] != nil {
		return
	}
	if w.spaces == nil {
		w.spaces = workspaces{}
	}
	was := w.component
	w.component = Workspace
	w.spaces[k] = w.alloc(bytes)
	w.component = was
}

// ClearWorkspaces is torch._C._cuda_clearCublasWorkspaces(): the next product allocates its workspace again.
func (w *World) ClearWorkspaces() {
	for _, k := range slices.SortedFunc(maps.Keys(w.spaces), workspaceKey.compare) {
		w.release(w.spaces[k])
	}
	w.spaces = nil
}

// compare orders workspaces to make runs reproducible.
func (k workspaceKey) compare(o workspaceKey) int {
	number := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(k.thread, o.thread), cmp.Compare(k.queue, o.queue), cmp.Compare(number(k.lt), number(o.lt)))
}

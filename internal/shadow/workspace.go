// SPDX-License-Identifier: Apache-2.0

package shadow

// cuBLAS workspaces (aten/src/ATen/cuda/CublasHandlePool.cpp). One per handle
// and CUDA stream, taken from the caching allocator at the first product and
// kept. Handles belong to threads, so a training process has one set for the
// forward pass and one for the backward pass.

const (
	cublasDefault   = 8519680  // 2 × 4 MiB and 8 × 16 KiB
	cublasHopper    = 32 << 20 // sm_90
	cublasLtDefault = 1 << 20
)

type workspaceKey struct {
	thread int
	queue  uint16
	lt     bool
}

type workspaces map[workspaceKey]*storage

// cublas makes sure that the current thread and stream have their workspace.
func (w *World) cublas() {
	w.workspace(workspaceKey{w.thread, w.queue, false}, w.Rules.CublasBytes())
}

// cublasLt is for products with a bias. Its handle is made from the plain one,
// so that one's workspace comes first.
func (w *World) cublasLt() {
	w.cublas()
	switch {
	case w.Rules.Torch >= 212: // shares the plain one's
	case w.Rules.Torch >= 209:
		w.workspace(workspaceKey{w.thread, w.queue, true}, cublasLtDefault)
	default:
		w.scratch(cublasLtDefault)
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

// CublasBytes is the default size of a workspace on this card. Versions 2.2 and 2.3 set none.
func (r Rules) CublasBytes() uint64 {
	switch {
	case r.Torch == 202 || r.Torch == 203:
		return 0
	case r.Capability == 90, r.Torch >= 212 && r.Capability >= 90:
		return cublasHopper
	default:
		return cublasDefault
	}
}

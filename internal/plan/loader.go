// SPDX-License-Identifier: Apache-2.0

package plan

// Loader is a DataLoader configuration that keeps up with the GPU.
type Loader struct {
	Workers    int  // processes per DataLoader
	Pinned     bool // pin_memory: copies to the GPU do not block the host
	Persistent bool // workers survive between epochs
}

// maxWorkers is the limit per DataLoader; more workers rarely help and take memory.
const maxWorkers = 8

// LoaderFor divides a machine's processors: each GPU's process keeps one for itself, and its loader gets the rest.
func LoaderFor(cpus, gpus int) Loader {
	each := cpus/max(gpus, 1) - 1
	workers := min(max(each, 0), maxWorkers)
	return Loader{Workers: workers, Pinned: true, Persistent: workers > 0}
}

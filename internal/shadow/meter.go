// SPDX-License-Identifier: Apache-2.0

package shadow

// Meter receives the work of a run as it happens, to compute its time. A World without one counts
// nothing.
type Meter interface {
	// Host is work of Python and the dispatcher.
	Host(h HostWork)
	// Kernel is work for the device.
	Kernel(k Kernel)
	// Sync means that the host waits for the device.
	Sync()
	// Joins means that a leaf receives a gradient. In a micro-batch where the leaf already has one, this
	// kernel adds the two.
	Joins(k Kernel)
	// Times says how many times the following work is done, until it is called again: n for a loop
	// iteration that stands for n, then 1.
	Times(n int)
}

// HostWork is a kind of host work.
type HostWork uint8

// The kinds of host work that differ noticeably in time.
const (
	HostOp   HostWork = iota // an op dispatched from Python
	HostView                 // an op that only makes a view
	HostCall                 // entering and leaving an nn.Module
	HostNode                 // a node of the backward pass
	HostLeaf                 // a gradient put into a leaf
	HostHook                 // a Python function that a checkpoint put around a saved tensor
)

// Work is a kind of kernel.
type Work uint8

// The kinds of kernels that reach noticeably different shares of a card's rates.
const (
	Streaming   Work = iota // reads, computes a little, writes
	Random                  // pointwise with random numbers: dropout
	Product                 // a matrix product, or a batch of them
	Attending               // an attention kernel
	Convolution             // one of cuDNN's
)

// Kernel is the work of one launch.
type Kernel struct {
	Work       Work    // the kind of kernel
	B, M, N, K int     // the sizes of a product
	Flops      float64 // arithmetic operations
	Bytes      float64 // read and written
	DType      DType   // type of the arithmetic
}

func (w *World) host(h HostWork) {
	if w.Meter != nil {
		w.Meter.Host(h)
	}
}

// Unmetered runs work that happens only in the first step, without counting it.
func (w *World) Unmetered(do func()) {
	meter := w.Meter
	w.Meter = nil
	do()
	w.Meter = meter
}

// Launch counts a kernel that reads and writes the given tensors. Any of them may be nil.
func (w *World) Launch(touched ...*Tensor) {
	if w.Meter != nil {
		w.Meter.Kernel(streaming(touched))
	}
}

// joins counts a gradient that a leaf takes over.
func (w *World) joins(touched ...*Tensor) {
	if w.Meter != nil {
		w.Meter.Joins(streaming(touched))
	}
}

func streaming(touched []*Tensor) Kernel {
	k := Kernel{}
	for _, t := range touched {
		if t != nil {
			k.Bytes += float64(t.Bytes())
			k.DType = t.dtype
		}
	}
	return k
}

// product counts a matrix product, or a batch of them.
func (w *World) product(out, a, b *Tensor) {
	if w.Meter == nil {
		return
	}
	k := Kernel{
		Work: Product, B: 1, M: out.Size(-2), N: out.Size(-1), K: a.Size(-1),
		Flops: 2 * float64(out.Numel()) * float64(a.Size(-1)),
		Bytes: float64(out.Bytes() + a.Bytes() + b.Bytes()),
		DType: a.dtype,
	}
	if out.size.n == 3 {
		k.B = out.size.d[0]
	}
	w.Meter.Kernel(k)
}

// work counts a kernel of matrix products that chooses its own tiles.
func (w *World) work(kind Work, flops float64, touched ...*Tensor) {
	if w.Meter == nil {
		return
	}
	k := Kernel{Work: kind, Flops: flops}
	for _, t := range touched {
		k.Bytes += float64(t.Bytes())
		k.DType = t.dtype
	}
	w.Meter.Kernel(k)
}

// SPDX-License-Identifier: Apache-2.0

package shadow

// Meter receives the work of a run as it happens, to estimate its time. A World without a Meter records no work.
type Meter interface {
	// Host adds work of Python and the dispatcher.
	Host(h HostWork)
	// Kernel adds work for the device.
	Kernel(k Kernel)
	// Sync makes the host wait for the device.
	Sync()
	// Joins reports that a leaf receives a gradient. In a micro-batch where the leaf already has one, kernel k
	// adds the two.
	Joins(k Kernel)
	// Send starts a transfer between GPUs.
	Send(k Kernel)
	// Receive makes the device wait for pending transfers: the gathers, or all of them if the kind is Reducing.
	Receive(kind Work)
	// Times sets how many times the following work counts, until the next call: n in a loop iteration that represents
	// n iterations, and 1 after it.
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
	HostLeaf                 // storing a gradient in a leaf
	HostHook                 // a Python hook that a checkpoint puts on a saved tensor
)

// Work is a kind of kernel.
type Work uint8

// The kinds of kernels that reach noticeably different shares of a card's rates.
const (
	Streaming        Work = iota // reads, computes a little, writes
	Rowwise                      // streaming with sums over rows or columns: norms, softmax
	BatchNorming                 // batch norm
	BatchNormingBack             // the backward of batch norm
	Product                      // a matrix product, or a batch of them
	Attending                    // a flash attention kernel
	Efficient                    // the memory-efficient attention kernel
	CudnnAttending               // cuDNN's attention kernel
	Convolution                  // a cuDNN convolution
	Depthwise                    // a convolution with one filter per channel
	Gathering                    // a transfer of data that exists before the step
	Reducing                     // a transfer of results of the preceding kernels
)

// Kernel is the work of one launch. In a transfer B is the number of GPUs; in a batch norm B is the number of channels
// and M the elements of each, or 0 with channels last; in a convolution B is 1 if cuDNN converts the layout; in
// attention B is the number of heads in the batch, M and N are the query and key lengths, and K is the head
// width.
type Kernel struct {
	Work       Work    // the kind of kernel
	B, M, N, K int32   // the sizes of a product; for other kinds, see the comment of Kernel
	Flops      float64 // arithmetic operations
	Draws      float64 // random numbers drawn
	Bytes      float64 // bytes read and written
	DType      DType   // type of the arithmetic
}

func (w *World) host(h HostWork) {
	if w.Meter != nil {
		w.Meter.Host(h)
	}
}

// Unmetered calls the function do. The Meter does not receive its work, because the work happens only in the first
// step.
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

// launchRows counts a kernel that sums over the rows or columns of the tensors that it reads and writes.
func (w *World) launchRows(touched ...*Tensor) {
	if w.Meter != nil {
		k := streaming(touched)
		k.Work = Rowwise
		w.Meter.Kernel(k)
	}
}

// launchBatchNorm counts a kernel of batch norm. With channels first, one multiprocessor handles each channel,
// and M is the number of elements per channel. With channels last M is 0.
func (w *World) launchBatchNorm(kind Work, out *Tensor, touched ...*Tensor) {
	if w.Meter == nil {
		return
	}
	k := streaming(append(touched, out))
	k.Work, k.B = kind, int32(out.Size(1))
	if !out.channelsLast() {
		k.M = int32(out.Numel() / out.Size(1))
	}
	w.Meter.Kernel(k)
}

// joins counts a gradient that becomes a leaf's gradient.
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
		Work: Product, B: 1, M: int32(out.Size(-2)), N: int32(out.Size(-1)), K: int32(a.Size(-1)),
		Flops: 2 * float64(out.Numel()) * float64(a.Size(-1)),
		Bytes: float64(out.Bytes() + a.Bytes() + b.Bytes()),
		DType: a.dtype,
	}
	if out.size.n == 3 {
		k.B = int32(out.size.d[0])
	}
	w.Meter.Kernel(k)
}

// draws counts a kernel that draws a random number for each element of its result.
func (w *World) draws(out *Tensor, touched ...*Tensor) {
	if w.Meter != nil {
		k := streaming(append(touched, out))
		k.Draws = float64(out.Numel())
		w.Meter.Kernel(k)
	}
}

// work counts a matrix-product kernel that chooses its own tiles.
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

// Gather counts an all-gather among n GPUs after which each has all the given bytes.
func (w *World) Gather(bytes uint64, n int) { w.transfer(Gathering, float64(bytes), n) }

// ReduceScatter counts a reduction of the given bytes among n GPUs, each of which keeps its part.
func (w *World) ReduceScatter(bytes uint64, n int) { w.transfer(Reducing, float64(bytes), n) }

// AllReduce counts a reduction of the given bytes among n GPUs, each of which gets the result: a
// reduce-scatter and an all-gather.
func (w *World) AllReduce(bytes uint64, n int) { w.transfer(Reducing, 2*float64(bytes), n) }

// transfer counts the bytes that one GPU sends. In a ring, these are the other GPUs' parts.
func (w *World) transfer(kind Work, bytes float64, n int) {
	if w.Meter != nil && n > 1 {
		w.Meter.Send(Kernel{Work: kind, B: int32(n), Bytes: bytes * float64(n-1) / float64(n)})
	}
}

// Gathered makes the device wait for the all-gathers.
func (w *World) Gathered() { w.receive(Gathering) }

// Transferred makes the device wait for all transfers.
func (w *World) Transferred() { w.receive(Reducing) }

func (w *World) receive(kind Work) {
	if w.Meter != nil {
		w.Meter.Receive(kind)
	}
}

// Copy counts a kernel that reads and writes the given bytes.
func (w *World) Copy(bytes uint64) {
	if w.Meter != nil {
		w.Meter.Kernel(Kernel{Bytes: 2 * float64(bytes)})
	}
}

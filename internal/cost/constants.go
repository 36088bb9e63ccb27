// SPDX-License-Identifier: Apache-2.0

package cost

// Constants holds what does not depend on the model or the card, in seconds unless noted otherwise.
//
// The kernel constants come from measurements of single kernels on an H200 (PyTorch 2.11, CUDA 13.0): products by
// shape and alignment, attention by kernel, length and dropout, convolutions and batch norms by layout, and
// elementwise kernels by size. Limits imposed by a single multiprocessor are given per multiprocessor, so that
// they carry over to other cards. The host constants were fitted to the 69 runs in dev_time.jsonl and
// more_time.jsonl; the runs in clock_time.jsonl validate them.
type Constants struct {
	Op, View, Call, Node, Leaf float64 // seconds of host time for each kind of work (see shadow.HostWork)
	Hook                       float64 // host time of a checkpoint hook
	Param                      float64 // Python time of the optimizer per parameter
	Sync                       float64 // reading a value back
	Step                       float64 // time per step besides its ops: the loop, the batch, zero_grad
	Launch                     float64 // minimum time of a kernel on the device
	Transfer                   float64 // minimum time of a transfer between GPUs
	Link                       float64 // share of the bandwidth between GPUs that transfers achieve
	Memory                     float64 // share of the memory bandwidth that kernels achieve
	Stream                     float64 // bytes per second that a multiprocessor moves
	Rowwise                    float64 // bytes per second per multiprocessor in kernels that sum over rows
	Draw                       float64 // cost of a random number, in arithmetic operations
	Norm, NormBack             float64 // batch norm elements per second per multiprocessor, forward and backward
	NormNative                 float64 // share of Norm achieved by PyTorch's own kernels
	Odd, Even                  float64 // maximum operations per second per multiprocessor of products with odd sizes, and with sizes that are not multiples of eight
	Attention, Efficient       float64 // share achieved by flash attention, and by the memory-efficient kernel
	Cudnn                      float64 // share achieved by cuDNN's attention
	Narrow                     float64 // share of the attention rate achieved with heads of at most 64
	Short                      float64 // overhead of starting and finishing an attention kernel, in tokens
	Conv                       float64 // maximum 16-bit operations per second per multiprocessor of a convolution
	Convert, ConvertTF32       float64 // layout conversions, as shares of a convolution's bytes
	Depthwise                  float64 // share of the float32 rate achieved by depthwise convolutions
}

// Calibrated holds the calibrated constants. The cost of an optimizer's update is in update.go.
var Calibrated = Constants{
	Op: 3.4e-6, View: 4.2e-6, Call: 44.5e-6, Node: 18e-6, Leaf: 12.8e-6, Hook: 30.5e-6,
	Transfer: 30e-6, Link: 0.8, Param: 12.1e-6, Sync: 100e-6, Step: 3.4e-3, Launch: 3.1e-6,
	Memory: 0.92, Stream: 121e9, Rowwise: 29.5e9, Draw: 50, Norm: 1.9e9, NormBack: 1e9, NormNative: 0.7,
	Odd: 0.93e12, Even: 1.9e12, Attention: 0.55, Efficient: 0.25, Cudnn: 0.4, Narrow: 0.8, Short: 128,
	Conv: 3e12, Convert: 1.2, ConvertTF32: 0.7, Depthwise: 0.075,
}

// SPDX-License-Identifier: Apache-2.0

package cost

// Constants are what does not depend on the model or the card, in seconds unless said otherwise.
//
// Those of kernels come from measurements of single kernels on an H200 (PyTorch 2.11, CUDA 13.0): products by
// shape and alignment, attention by kernel, length and dropout, convolutions and batch norms by layout, and
// elementwise kernels by size. Limits that are set by what one multiprocessor does are given per
// multiprocessor, so that they carry over to other cards. Those of the host were fitted on the 69 runs of
// dev_time.jsonl and more_time.jsonl; the runs of clock_time.jsonl are the check.
type Constants struct {
	Op, View, Call, Node, Leaf float64 // seconds of host time for each kind of work (see shadow.HostWork)
	Hook                       float64 // time of the host for a hook of a checkpoint
	Param                      float64 // time of the optimizer's Python per parameter
	Sync                       float64 // reading a value back
	Step                       float64 // time of a step besides its ops: the loop, the batch, zero_grad
	Launch                     float64 // the shortest a kernel takes on the device
	Transfer                   float64 // the shortest a transfer between GPUs takes
	Link                       float64 // share of the bandwidth between GPUs that transfers reach
	Memory                     float64 // share of the bandwidth that the memory itself reaches
	Stream                     float64 // bytes that a multiprocessor moves per second
	Rowwise                    float64 // the same in kernels that sum over rows
	Draw                       float64 // arithmetic operations that a random number takes
	Norm, NormBack             float64 // elements of a batch norm per second and multiprocessor, forward and backward
	NormNative                 float64 // share of that which PyTorch's own kernels reach
	Odd, Even                  float64 // most operations per second and multiprocessor of products with odd sizes, and with sizes not of eights
	Attention, Efficient       float64 // share for flash attention and for the memory-efficient kernel
	Cudnn                      float64 // the same for cuDNN's attention
	Narrow                     float64 // share that heads of at most 64 reach of that
	Short                      float64 // tokens that an attention kernel takes to begin and to end
	Conv                       float64 // most 16-bit operations per second and multiprocessor of a convolution
	Convert, ConvertTF32       float64 // conversions of layout, as shares of a convolution's bytes
	Depthwise                  float64 // share of the float32 rate that depthwise convolutions reach
}

// Calibrated are the constants. What an optimizer's update costs is in update.go.
var Calibrated = Constants{
	Op: 3.4e-6, View: 4.2e-6, Call: 44.5e-6, Node: 18e-6, Leaf: 12.8e-6, Hook: 30.5e-6,
	Transfer: 30e-6, Link: 0.8, Param: 12.1e-6, Sync: 100e-6, Step: 3.4e-3, Launch: 3.1e-6,
	Memory: 0.92, Stream: 121e9, Rowwise: 29.5e9, Draw: 50, Norm: 1.9e9, NormBack: 1e9, NormNative: 0.7,
	Odd: 0.93e12, Even: 1.9e12, Attention: 0.55, Efficient: 0.25, Cudnn: 0.4, Narrow: 0.8, Short: 128,
	Conv: 3e12, Convert: 1.2, ConvertTF32: 0.7, Depthwise: 0.075,
}

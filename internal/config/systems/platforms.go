// SPDX-License-Identifier: Apache-2.0

package systems

// platforms are the modules of programs whose memory PyTorch's allocator for GPUs does not manage.
var platforms = []Term{
	{"flax", "belongs to a program that trains with JAX, not with PyTorch"}, {"jax", "belongs to a program that trains with JAX, not with PyTorch"},
	{"mindspore", "belongs to a program that trains with MindSpore, not with PyTorch"}, {"paddle", "belongs to a program that trains with PaddlePaddle, not with PyTorch"},
	{"optimum.habana", "belongs to a program that trains on Gaudi, not on a GPU"}, {"optimum.neuron", "belongs to a program that trains on Trainium, not on a GPU"}, {"optimum.tpu", "belongs to a program that trains on a TPU, not on a GPU"},
}

// Platform returns what the import of a module says about a program that does not train on a GPU with PyTorch; "" if it says
// nothing.
func Platform(module string) string {
	does, _ := Meaning(platforms, module)
	return does
}

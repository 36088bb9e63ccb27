// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/setup"

const (
	fromPretrained = "transformers 5.22, modeling_utils.py: from_pretrained; float32 before 5"
	modelArguments = "transformers' examples: ModelArguments"
)

// torchTypes are the types that models are loaded in.
var torchTypes = []Term{{"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}, {"auto", setup.Saved}}

// decidingAutocast returns a copy of the key that determines whether autocast is on.
func (k Key) decidingAutocast() Key {
	k.Setting = "autocast"
	return k
}

// TorchType returns the type that weights are loaded in for a PyTorch name, or "" if unknown.
func TorchType(name string) string {
	held, _ := Meaning(torchTypes, name)
	return held
}

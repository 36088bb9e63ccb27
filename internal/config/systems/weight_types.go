// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/setup"

const (
	fromPretrained = "transformers 5.22, modeling_utils.py: from_pretrained; float32 before 5"
	modelArguments = "transformers' examples: ModelArguments"
)

// TorchTypes is the types that models are loaded in.
var TorchTypes = []Term{{"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}, {"auto", setup.Saved}}

// deciding is a key that decides over something else too.
func (k Key) deciding(setting string) Key {
	k.Setting = setting
	return k
}

// SPDX-License-Identifier: Apache-2.0

package config

import "snug/internal/setup"

const (
	fromPretrained = "transformers 5.22, modeling_utils.py: from_pretrained; float32 before 5"
	modelArguments = "transformers' examples: ModelArguments"
)

// torchTypes is the types that models are loaded in.
var torchTypes = []word{{"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}, {"auto", setup.Saved}}

// deciding is a key that decides over something else too.
func (k Key) deciding(setting string) Key {
	k.Setting = setting
	return k
}

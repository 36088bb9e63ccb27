// SPDX-License-Identifier: Apache-2.0

package plan

// thinner is which kinds spread a run more thinly, to be tried in order where it
// does not fit. DeepSpeed's runs stay with it: another stage is one number there.
var thinner = map[string][]string{
	"ddp": {"zero1", "fsdp2"}, "zero1": {"fsdp2"},
	"zero1-deepspeed": {"zero2", "zero3"}, "zero2": {"zero3"},
}

// spreads is which of them are shown as levers.
var spreads = map[string][]string{
	"ddp":             {"zero1", "zero2", "fsdp2", "zero3"},
	"zero1-deepspeed": {"zero2", "zero3"}, "zero2": {"zero3"},
}

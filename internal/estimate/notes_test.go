// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"strings"
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
)

func TestNotes(t *testing.T) {
	sharded := &setup.Dist{Kind: "fsdp2", World: 2, ParamDType: "bf16"}
	for _, c := range []struct {
		card string
		s    setup.Setup
		want string
	}{
		{"T4", setup.Setup{Precision: "amp-bf16"}, "T4 has no bf16 hardware"},
		{"T4", setup.Setup{Precision: "bf16"}, "use precision amp-fp16"},
		{"V100-32GB", setup.Setup{Precision: "bf16"}, "V100-32GB has no bf16 hardware"},
		{"T4", setup.Setup{Precision: "fp32", Dist: sharded}, "fp16 or fp32 for FSDP2"},
		{"T4", setup.Setup{Precision: "amp-fp16"}, ""},
		{"T4", setup.Setup{Precision: "fp32", Dist: &setup.Dist{Kind: "ddp", World: 2}}, ""},
		{"A100-40GB", setup.Setup{Precision: "bf16", Dist: sharded}, ""},
		{"MI300X", setup.Setup{Precision: "bf16"}, ""},
	} {
		card, err := gpu.Find(c.card)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(Notes(&c.s, card), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s, %+v: %q, want %q", c.card, c.s, got, c.want)
		}
	}
	if got := Notes(&setup.Setup{Precision: "bf16"}, gpu.Card{Name: "unheard of", Maker: gpu.NVIDIA}); got != nil {
		t.Errorf("a card that nobody knows: %q", got)
	}
}

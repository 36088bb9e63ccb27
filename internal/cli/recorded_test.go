// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"snug/internal/setup"
)

// silent is a profile without any facts about its run.
type silent struct{}

func (silent) Recorded() setup.Recorded {
	return setup.Recorded{Torch: "2.11", Names: []string{"batch"}, Sizes: []map[string]int64{{"batch": 2}, {"batch": 3}}}
}

// TestFlagsBesideProfiles checks that every flag that a recorded run cannot use is refused or noted, never
// silently ignored.
func TestFlagsBesideProfiles(t *testing.T) {
	used := []string{"batch", "accumulation", "dist", "gpus", "bucket-view", "allocator", "limit"}
	values := map[string]string{
		"head": "encoder", "precision": "bf16", "optimizer": "sgd", "checkpointing": "true", "attention": "eager", "attention-mask": "false",
		"clip": "true", "lora-peft": "true", "lora-targets": "q", "dist": "ddp", "bucket-view": "true", "param-dtype": "bf16", "reduce-dtype": "bf16", "dist-load": "sharded",
		"allocator": "expandable_segments:True", "limit": "24GiB", "torch": "2.6", "transformers": "5.17",
	}
	for _, x := range settingFlags() {
		f := &setupFlags{}
		f.add(&cobra.Command{})
		set := func(name, value string) {
			if err := f.flags.Set(name, value); err != nil {
				t.Fatal(err)
			}
		}
		switch x.Name { // fields that cannot be given alone
		case "lora-alpha", "lora-dropout", "lora-targets", "lora-peft":
			set("lora-rank", "8")
			set("lora-targets", "q")
		case "lora-rank":
			set("lora-targets", "q")
		case "dist", "gpus", "bucket-view":
			set("dist", "ddp")
			set("gpus", "2")
		case "param-dtype", "reduce-dtype", "dist-load":
			set("dist", "fsdp2")
			set("gpus", "2")
		}
		value, ok := values[x.Name]
		if !ok {
			value = "1"
		}
		f.model = "m.snug"
		set("batch", "8")
		set(x.Name, value)
		fields, err := f.fields()
		if err != nil {
			t.Fatal(x.Name, err)
		}
		r := f.decode(fields, setup.Source{Programs: map[string]setup.Program{"m.snug": silent{}}})
		told := r.err != nil || len(r.setup.Unverified) > 0
		if told == slices.Contains(used, x.Name) {
			t.Errorf("--%s %s: %v, %v", x.Name, value, r.err, r.setup.Unverified)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"path/filepath"
	"strings"
	"testing"

	"snug/internal/family"
	"snug/internal/setup"
	"snug/internal/shadow"
)

// TestCheckpoints does as TestPEFT for steps whose blocks are checkpointed, in the
// newer kind and in the older, reentrant one (testdata/measured/checkpoint_ops.py).
func TestCheckpoints(t *testing.T) {
	files, _ := filepath.Glob("testdata/checkpoints/*.txt.gz")
	if len(files) != 12 {
		t.Fatalf("there are %d recordings", len(files))
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt.gz"), func(t *testing.T) {
			c, recorded := readPEFT(t, f)
			s := caseSetup(c)
			s.Steps = 1
			reentrant, _ := c["reentrant"].(bool)
			o := Options{Alone: true, Out: true, Local: true, Model: checkpointed(s, reentrant)}
			compare(t, play(t, s, o).blocks(), recorded.blocks())
		})
	}
}

// checkpointed makes the setup's model with either kind of checkpoints.
func checkpointed(s *setup.Setup, reentrant bool) Maker {
	return func(b *shadow.Builder, how family.Run) (family.Model, error) {
		how.Reentrant = reentrant
		return family.New(b, family.NewConfig(s.Model.Config), how)
	}
}

// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMesh(t *testing.T) {
	for _, c := range []struct {
		mesh           Mesh
		gpus, replicas int
	}{
		{Mesh{}, 1, 1},
		{Mesh{Data: 8}, 8, 8},
		{Mesh{Data: 2, Shard: 4}, 8, 8},
		{Mesh{Shard: 4, Tensor: 2, Context: 2}, 16, 4},
		{Mesh{Data: 2, Pipeline: 4}, 8, 2},
	} {
		if g, r := c.mesh.GPUs(), c.mesh.Replicas(); g != c.gpus || r != c.replicas {
			t.Errorf("%v: %d GPUs and %d replicas, want %d and %d", c.mesh, g, r, c.gpus, c.replicas)
		}
	}
}

// TestDistJSON checks that the JSON of dist is a kind and a number of GPUs along the kind's axis.
func TestDistJSON(t *testing.T) {
	for kind, want := range map[string]Mesh{
		DDP: {Data: 4}, FSDP2: {Shard: 4}, FSDP2NoReshard: {Shard: 4},
		Zero1: {Shard: 4}, Zero1DeepSpeed: {Shard: 4}, Zero2: {Shard: 4}, Zero3: {Shard: 4},
	} {
		text := `{"kind":"` + kind + `","world":4}`
		var d Dist
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, d.Mesh); diff != "" || d.World() != 4 {
			t.Errorf("%s over %d: %s", kind, d.World(), diff)
		}
		if again, err := json.Marshal(&d); err != nil || string(again) != text {
			t.Errorf("%s, %v; want %s", again, err, text)
		}
	}
	if len(kinds) != len(DistKinds) {
		t.Errorf("kinds has %d entries, DistKinds %d", len(kinds), len(DistKinds))
	}
}

// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"slices"
	"strings"
	"testing"
)

func TestWorkspaceTable(t *testing.T) {
	table := measuredWorkspaces()
	shapes := 0
	for line := range strings.Lines(cudnnTable) {
		if line[0] != ' ' && line[0] != '#' {
			shapes++
		}
	}
	if got := len(table.rows); got != shapes {
		t.Errorf("%d convolutions from %d headings: some appear twice", got, shapes)
	}
	for shape, rows := range table.rows {
		if out := shape.out(); out.H < 1 || out.W < 1 {
			t.Errorf("%+v has no output", shape)
		}
		for row := range strings.Lines(rows) {
			f := strings.Fields(row)
			kind := slices.Index(convKinds[:], f[0])
			points := table.points(convCall{ConvKind(kind), typeNamed(f[1]), shape})
			if len(points) != len(f)-2 || len(points) == 0 {
				t.Fatalf("%+v: %q was read as %v", shape, row, points)
			}
			for i := range points[1:] {
				if points[i].Batch >= points[i+1].Batch {
					t.Errorf("%+v: batch sizes are not increasing", shape)
				}
			}
		}
	}
}

// typeNamed returns the type with the given name.
func typeNamed(name string) Type {
	return Type(slices.IndexFunc(types[:], func(t struct {
		name  string
		bytes int
	}) bool {
		return t.name == name
	}))
}

func TestWorkspaceAt(t *testing.T) {
	copies := []BatchBytes{{4, 1000_016}, {8, 1800_016}, {16, 3400_016}} // 200,000 bytes for each sample, 200,000 for the weight, and 16
	changes := []BatchBytes{{4, 400_000}, {8, 0}, {16, 8_000_000}}
	for _, c := range []struct {
		name   string
		points []BatchBytes
		batch  int
		want   uint64
	}{
		{"measured", copies, 8, 1800_016},
		{"between", copies, 6, 1400_016},
		{"beyond", copies, 32, 6600_016},
		{"below", copies, 2, 600_016},
		{"kernel changes: the larger, scaled up", changes, 6, 600_000},
		{"kernel changes: the larger, scaled down", changes, 12, 6_000_000},
		{"kernel changes: beyond", changes, 32, 16_000_000},
	} {
		if got := workspaceAt(c.points, c.batch); got != c.want {
			t.Errorf("%s: %d at batch %d, want %d", c.name, got, c.batch, c.want)
		}
	}
}

// TestWorkspaceOfUnmeasured checks that a convolution unlike any in the table copies its images and weight.
func TestWorkspaceOfUnmeasured(t *testing.T) {
	c := Conv{Type: BFloat16, Batch: 2, Channels: 3, Filters: 16, Size: square(100), Kernel: square(13), Stride: 1, Padding: 6, Groups: 1}
	const copies = (2*8*100*100+16*8*13*13+2*16*100*100)*2 + 16
	if got := h200.Convolution(c).N; got != copies {
		t.Errorf("forward needs %d, want %d", got, copies)
	}
	c.Kind = WGrad
	if got := h200.Convolution(c).N; got <= copies {
		t.Errorf("the weight's gradient needs %d, want more than the copies alone", got)
	}
}

// SPDX-License-Identifier: Apache-2.0

// Package accuracy compares estimates with measured runs: how far off they are, by model family and by option, and
// how far off the common rules of thumb are. It only reads measurements; testdata/measured has the scripts that make
// them.
package accuracy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"snug/internal/gpu"
	"snug/internal/setup"
)

// Row is one measured case.
type Row struct {
	File     string         // the file that the row comes from
	Fields   map[string]any // the setup as written in the file
	Setup    *setup.Setup   // nil if it cannot be simulated
	Measured Measured       // what was measured
	Card     gpu.Card       // the card of the measurement
}

// Measured is the measured memory of a real run.
type Measured struct {
	PeakAllocated uint64 `json:"peak_allocated"` // bytes
	PeakReserved  uint64 `json:"peak_reserved"`  // bytes
	Trainable     uint64 `json:"trainable"`      // trainable parameters
	Loaded        moment `json:"loaded"`         // memory before the first step
	Steps         []step `json:"steps"`          // memory after each step
	MaxBatch      int    `json:"max_batch"`      // the largest batch that fits, in rows that search for one
	Tries         []Try  `json:"tries"`          // the batches tried in the search
}

// moment is the allocated and reserved bytes at one time.
type moment [2]uint64

type step struct {
	End     moment  `json:"end"`
	Seconds float64 `json:"sec"`
}

// Seconds returns the duration of each step.
func (r *Row) Seconds() []float64 {
	var out []float64
	for _, s := range r.Measured.Steps {
		out = append(out, s.Seconds)
	}
	return out
}

// Skipped returns the number of updates that the real run skipped at its start because its scaled gradients
// overflowed. The memory after each step shows this: until the first update there are no optimizer states, which
// take eight bytes per parameter for Adam and four for momentum.
func (r *Row) Skipped() int {
	m, n := &r.Measured, 0
	if r.Setup == nil || r.Setup.Precision != "amp-fp16" {
		return 0
	}
	states := uint64(0)
	switch {
	case strings.HasPrefix(r.Setup.Optimizer, "adam"):
		states = 8 * m.Trainable
	case r.Setup.Optimizer == "sgd-momentum":
		states = 4 * m.Trainable
	}
	for n < len(m.Steps) && m.Steps[n].End[0] < m.Loaded[0]+states {
		n++
	}
	return n
}

// Try is one batch that a search ran.
type Try struct {
	Batch int    `json:"batch"` // samples per forward pass
	Fits  bool   `json:"fits"`  // whether it ran to the end
	OOM   string `json:"oom"`   // PyTorch's out-of-memory message if the batch did not fit
}

// ID returns the name of the case.
func (r *Row) ID() string {
	id, _ := r.Fields["id"].(string)
	return id
}

// Custom reports whether the model is custom code that no family covers.
func (r *Row) Custom() bool {
	m, _ := r.Fields["model"].(map[string]any)
	return m["custom"] != nil
}

// Load reads a file of measured cases.
func Load(files fs.FS, name string) ([]Row, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []Row
	in := bufio.NewScanner(f)
	in.Buffer(nil, 64<<20)
	for n := 1; in.Scan(); n++ {
		row, err := parse(in.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		row.File = name
		out = append(out, row)
	}
	return out, in.Err()
}

// parse returns the row in a line. A row that does not name its card and PyTorch was measured on the reference card,
// with the default PyTorch of setups.
func parse(text []byte) (row Row, err error) {
	var line struct {
		Setup    map[string]any `json:"setup"`
		Measured Measured       `json:"measured"`
		GPU      string         `json:"gpu"`
		Torch    string         `json:"torch"`
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return row, err
	}
	row = Row{Fields: line.Setup, Measured: line.Measured, Card: gpu.Reference}
	if line.GPU != "" {
		if row.Card, err = gpu.Find(line.GPU); err != nil {
			return row, err
		}
	}
	if line.Torch != "" {
		setup.Put(line.Setup, "versions.torch", line.Torch)
	}
	if !row.Custom() {
		row.Setup, err = setup.Decode(line.Setup, setup.Source{})
	}
	return row, err
}

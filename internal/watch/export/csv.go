// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"snug/internal/watch"
)

// CSV writes a row for each card sample and each step, with the state at that moment.
type CSV struct {
	Out   io.WriteCloser // the file
	Name  string         // name of the file, for messages
	Warn  func(string)   // shows a warning to the user
	rows  *csv.Writer
	fails bool
}

var csvColumns = []string{
	"t", "kind", "gpu", "pid", "step", "phase", "shape", "used", "total", "gpu_util", "power_w", "temperature_c",
	"allocated", "reserved", "peak_allocated", "peak_reserved", "retries", "state",
}

// Event writes a row if the event has one.
func (c *CSV) Event(e watch.Event, w *watch.Watcher, _ bool) error {
	if c.rows == nil {
		c.rows = csv.NewWriter(c.Out)
		c.put(csvColumns)
	}
	state := string(w.Now().State)
	t := strconv.FormatFloat(e.T, 'f', 3, 64)
	switch e.Kind {
	case watch.KindGPU:
		g := e.GPU
		c.put([]string{
			t, "gpu", g.Device().Number(), "", "", "", "", size(g.Used), size(g.Total), measured(g.Util), measured(g.Power), measured(g.Temperature),
			"", "", "", "", "", state,
		})
	case watch.KindStep:
		s := e.Step
		c.put([]string{
			t, "step", "", strconv.Itoa(e.PID), strconv.Itoa(s.N), string(s.Phase), shape(s.Shape), "", "", "", "", "",
			size(s.Allocated), size(s.Reserved), size(s.PeakAllocated), size(s.PeakReserved), strconv.Itoa(s.Retries), state,
		})
	}
	return nil
}

// put writes a row. If the disk is full, it warns once, and watching continues.
func (c *CSV) put(row []string) {
	_ = c.rows.Write(row)
	c.rows.Flush()
	if err := c.rows.Error(); err != nil && !c.fails {
		c.fails = true
		c.Warn(fmt.Sprintf("writing %s: %v; watching continues without it", c.Name, cause(err)))
	}
}

// Close closes the file.
func (c *CSV) Close(*watch.Watcher) error {
	if err := c.Out.Close(); err != nil {
		return fmt.Errorf("closing %s: %w", c.Name, err)
	}
	return nil
}

func size(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func measured(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'g', 6, 64)
}

func shape(dims []int) string {
	var parts []string
	for _, d := range dims {
		parts = append(parts, strconv.Itoa(d))
	}
	return strings.Join(parts, "x")
}

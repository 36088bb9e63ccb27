// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"snug/internal/units"
)

// pageText is the HTML page, with a marker that is replaced by the data. The page loads no other files.
//
//go:embed page.html
var pageText string

const pageMarker = `"DATA"`

// pageData is the data that the page draws.
type pageData struct {
	Title    string     `json:"title"`
	Why      string     `json:"why"`
	Where    string     `json:"where"`
	Numbers  [][]string `json:"numbers"`
	Holders  []pageHeld `json:"holders"`
	Growth   string     `json:"growth"`
	Fixes    []string   `json:"fixes"`
	Moment   string     `json:"moment"` // the moment shown in the flame graph and the list of holders
	Kinds    []string   `json:"kinds"`
	Bytes    [][]int64  `json:"bytes"` // by column and kind
	Reserved []uint64   `json:"reserved"`
	Seconds  float64    `json:"seconds"`
	Events   int        `json:"events"`
	Asked    uint64     `json:"asked"` // bytes of the failed request; 0 if none failed
	Flames   *Flame     `json:"flames"`
	Parts    []pagePart `json:"parts"`
	Pieces   string     `json:"pieces"`
	Changes  []pageHeld `json:"changes"`
}

type pageHeld struct {
	What   string `json:"what"`
	Where  string `json:"where"`
	Bytes  int64  `json:"bytes"`
	Count  int    `json:"count"`
	Before int64  `json:"before"`
}

// pagePart is a segment: its size, its pool, and its blocks as offset, size and 1 if in use.
type pagePart struct {
	Size   uint64      `json:"size"`
	Pool   string      `json:"pool"`
	Blocks [][3]uint64 `json:"blocks"`
}

// pageColumns is the width of the timeline, and mostParts is how many segments, the largest ones, are drawn.
const (
	pageColumns = 900
	mostParts   = 400
	mostBlocks  = 20_000
)

// WritePage writes a verdict and its snapshot as one HTML file.
func WritePage(w io.Writer, v *Verdict, r *Recorded) error {
	t := r.Timeline(pageColumns)
	p := pageData{Title: v.Code.Title(), Why: v.Why, Where: v.Where, Kinds: t.Kinds, Seconds: t.Seconds, Events: t.Events, Flames: r.Flames(), Moment: "when the recording ended"}
	switch {
	case r.OOM != nil:
		p.Asked, p.Moment = r.OOM.Size, "when the request failed"
	case r.AtPeak:
		p.Moment = "at the peak"
	}
	for _, c := range t.Columns {
		p.Bytes, p.Reserved = append(p.Bytes, c.Bytes), append(p.Reserved, c.Reserved)
	}
	for _, n := range v.Numbers() {
		p.Numbers = append(p.Numbers, []string{n.Text, units.Bytes(n.Bytes).String()})
	}
	for _, h := range v.Holders {
		p.Holders = append(p.Holders, pageHeld{What: h.What, Where: h.Place(), Bytes: int64(h.Bytes), Count: h.Count})
	}
	for _, c := range v.Changes {
		p.Changes = append(p.Changes, pageHeld{What: c.What, Where: c.Place(), Bytes: int64(c.After), Before: int64(c.Before), Count: c.Count})
	}
	if g := v.Growth; g != nil {
		p.Growth = units.Bytes(g.BytesPerStep).String() + " more after each step, kept at " + g.Where
	}
	for _, f := range v.Fixes {
		p.Fixes = append(p.Fixes, f.Text())
	}
	p.Parts, p.Pieces = pageParts(v.Pieces), v.Pieces.text()
	data, err := json.Marshal(p) // also escapes text that could end the script element
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, strings.Replace(pageText, pageMarker, string(data), 1))
	return err
}

// text describes how the reserved memory is divided.
func (p *Pieces) text() string {
	return fmt.Sprintf("%d segments, %v; %d unused pieces, %v together, the largest %v", p.Segments, units.Bytes(p.Reserved), p.Free, units.Bytes(p.Unused), units.Bytes(p.Largest))
}

// pageParts returns the segments to draw.
func pageParts(p *Pieces) (out []pagePart) {
	blocks := 0
	for _, part := range p.Parts[:min(len(p.Parts), mostParts)] {
		d := pagePart{Size: part.Size}
		switch {
		case part.Graph:
			d.Pool = "graph"
		case part.Small:
			d.Pool = "small"
		}
		for _, b := range part.Blocks {
			if blocks++; blocks > mostBlocks {
				return out
			}
			used := uint64(0)
			if b.Used {
				used = 1
			}
			d.Blocks = append(d.Blocks, [3]uint64{b.Offset, b.Size, used})
		}
		out = append(out, d)
	}
	return out
}

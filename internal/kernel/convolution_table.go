// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed cudnn_workspaces.txt
var cudnnTable string

// convTable is cudnn_workspaces.txt, indexed by convolution. Its rows are parsed on demand.
type convTable struct {
	rows    map[convShape]string // the lines of the file for each shape
	bySizes map[ConvSizes][]convShape

	mu    sync.Mutex
	found map[convCall][]ConvWorkspace // of convolutions that are not in the table: those of similar ones, scaled
}

// measuredWorkspaces returns the table, reading it on first use.
var measuredWorkspaces = sync.OnceValue(func() *convTable {
	t := &convTable{rows: map[convShape]string{}, bySizes: map[ConvSizes][]convShape{}, found: map[convCall][]ConvWorkspace{}}
	if err := t.open(cudnnTable); err != nil {
		panic("kernel: cudnn_workspaces.txt: " + err.Error())
	}
	return t
})

func (t *convTable) open(text string) error {
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		if line[0] == '#' {
			continue
		}
		shape, err := parseShape(line)
		if err != nil {
			return err
		}
		end := 0
		for end < len(text) && text[end] == ' ' {
			end += strings.IndexByte(text[end:], '\n') + 1
		}
		t.rows[shape], text = text[:end], text[end:]
		sizes := shape.sizes()
		t.bySizes[sizes] = append(t.bySizes[sizes], shape)
	}
	return nil
}

func parseShape(line string) (c convShape, err error) {
	f := strings.Fields(line)
	if len(f) != 9 {
		return c, fmt.Errorf("%q does not have nine columns", line)
	}
	number := func(i int) (n int) {
		if err == nil {
			n, err = strconv.Atoi(f[i])
		}
		return n
	}
	both := func(i int) (p Pair) {
		if err == nil {
			p, err = parsePair(f[i])
		}
		return p
	}
	c = convShape{
		last: f[0] == "nhwc", channels: number(1), size: both(2), filters: number(3),
		kernel: both(4), stride: both(5), padding: both(6), dilation: both(7), groups: number(8),
	}
	return c, err
}

// parsePair reads "3" or "1x3".
func parsePair(text string) (p Pair, err error) {
	h, w, two := strings.Cut(text, "x")
	if !two {
		w = h
	}
	if p.H, err = strconv.Atoi(h); err != nil {
		return p, err
	}
	p.W, err = strconv.Atoi(w)
	return p, err
}

// points returns the workspaces of a call by batch size, or nil if it was not measured.
func (t *convTable) points(c convCall) ConvWorkspace {
	_, row, ok := strings.Cut(t.rows[c.convShape], " "+c.kind.String()+" "+c.dtype.String()+" ")
	if !ok {
		return nil
	}
	row, _, _ = strings.Cut(row, "\n")
	points, err := parsePoints(row)
	if err != nil {
		panic("kernel: cudnn_workspaces.txt: " + err.Error())
	}
	return points
}

// workspace is points, but where float16 does not differ it returns bfloat16's.
func (t *convTable) workspace(c convCall) ConvWorkspace {
	points := t.points(c)
	if points == nil && c.dtype == Float16 {
		c.dtype = BFloat16
		points = t.points(c)
	}
	return points
}

func parsePoints(text string) (points ConvWorkspace, err error) {
	for s := range strings.FieldsSeq(text) {
		batch, bytes, _ := strings.Cut(s, ":")
		var p BatchBytes
		if p.Batch, err = strconv.Atoi(batch); err != nil {
			return nil, err
		}
		if p.Bytes, err = strconv.ParseUint(bytes, 10, 64); err != nil {
			return nil, err
		}
		points = append(points, p)
	}
	return points, nil
}

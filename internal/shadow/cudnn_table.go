// SPDX-License-Identifier: Apache-2.0

package shadow

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed cudnn_workspaces.txt
var cudnnTable string

// convTable is cudnn_workspaces.txt. Its fourteen thousand rows are read when
// they are asked for; at first only what they are about.
type convTable struct {
	rows    map[convCall]string
	bySizes map[ConvSizes][]convShape
}

// measuredWorkspaces is the table, opened at its first use.
var measuredWorkspaces = sync.OnceValue(func() *convTable {
	t := &convTable{rows: map[convCall]string{}, bySizes: map[ConvSizes][]convShape{}}
	if err := t.open(cudnnTable); err != nil {
		panic("shadow: cudnn_workspaces.txt: " + err.Error())
	}
	return t
})

func (t *convTable) open(text string) error {
	var shape convShape
	var err error
	for line := range strings.Lines(text) {
		switch line[0] {
		case '#':
		case ' ':
			kind, rest, _ := strings.Cut(line[1:], " ")
			dtype, points, _ := strings.Cut(rest, " ")
			t.rows[convCall{convKinds[kind], dtypeNamed(dtype), shape}] = points
		default:
			if shape, err = parseShape(line); err != nil {
				return err
			}
			t.bySizes[shape.sizes()] = append(t.bySizes[shape.sizes()], shape)
		}
	}
	return nil
}

func dtypeNamed(name string) DType {
	for d := range dtypes {
		if dtypes[d].name == name {
			return DType(d)
		}
	}
	return None
}

func parseShape(line string) (c convShape, err error) {
	f := strings.Fields(line)
	if len(f) != 9 {
		return c, fmt.Errorf("%q has not nine columns", line)
	}
	c.last = f[0] == "nhwc"
	for i, to := range map[int]*int{1: &c.channels, 3: &c.filters, 8: &c.groups} {
		if *to, err = strconv.Atoi(f[i]); err != nil {
			return c, err
		}
	}
	for i, to := range map[int]*pair{2: &c.size, 4: &c.kernel, 5: &c.stride, 6: &c.padding, 7: &c.dilation} {
		if *to, err = parsePair(f[i]); err != nil {
			return c, err
		}
	}
	return c, nil
}

// parsePair reads "3" or "1x3".
func parsePair(text string) (p pair, err error) {
	h, w, two := strings.Cut(text, "x")
	if !two {
		w = h
	}
	if p.h, err = strconv.Atoi(h); err != nil {
		return p, err
	}
	p.w, err = strconv.Atoi(w)
	return p, err
}

// points are the workspaces of a call by batch size, nil where it was not
// measured.
func (t *convTable) points(c convCall) ConvWorkspace {
	text, ok := t.rows[c]
	if !ok {
		return nil
	}
	points, err := parsePoints(text)
	if err != nil {
		panic("shadow: cudnn_workspaces.txt: " + err.Error())
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

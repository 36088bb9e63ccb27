// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"slices"

	"snug/internal/snapshot"
)

// Pieces is how the memory that PyTorch reserved was divided at the end of a recording.
type Pieces struct {
	Segments int    // taken from the driver
	Free     int    // pieces in no tensor
	Largest  uint64 // the largest of them
	Unused   uint64 // all of them
	Reserved uint64 // all segments
	Parts    []Part // segments in the order of their addresses
}

// Part is one segment.
type Part struct {
	Size   uint64
	Small  bool // of the pool for small tensors
	Graph  bool // of a CUDA graph's private pool
	Blocks []Block
}

// Block is a stretch of a segment that is in use, or is not.
type Block struct {
	Offset, Size uint64
	Used         bool
}

// pieces returns how a device's memory is divided.
func pieces(segments []snapshot.Segment) *Pieces {
	p := &Pieces{Segments: len(segments)}
	for _, s := range segments {
		part := Part{Size: s.Size, Small: s.Small, Graph: s.Pool != [2]int64{}}
		p.Reserved += s.Size
		for _, b := range s.Blocks {
			part.add(Block{Offset: b.Addr - s.Addr, Size: b.Size, Used: b.State != snapshot.Inactive})
			if b.State == snapshot.Inactive {
				p.Free++
				p.Unused += b.Size
				p.Largest = max(p.Largest, b.Size)
			}
		}
		p.Parts = append(p.Parts, part)
	}
	return p
}

// add appends a block, or makes the last one longer if both are in use.
func (p *Part) add(b Block) {
	if n := len(p.Blocks); n > 0 && p.Blocks[n-1].Used && b.Used {
		p.Blocks[n-1].Size += b.Size
		return
	}
	p.Blocks = append(p.Blocks, b)
}

// Map returns how much of each of n equal stretches of the reserved memory is in use, from 0 to 1.
func (p *Pieces) Map(n int) []float64 {
	out := make([]float64, n)
	if p.Reserved == 0 {
		return slices.Clip(out[:0])
	}
	cell, at := float64(p.Reserved)/float64(n), 0.0
	for _, part := range p.Parts {
		for _, b := range part.Blocks {
			if b.Used {
				spread(out, cell, at+float64(b.Offset), float64(b.Size))
			}
		}
		at += float64(part.Size)
	}
	for i := range out {
		out[i] = min(1, out[i]/cell)
	}
	return out
}

// spread adds a stretch of bytes to the cells that it touches.
func spread(cells []float64, cell, from, size float64) {
	for i := int(from / cell); i < len(cells) && float64(i)*cell < from+size; i++ {
		cells[i] += min(from+size, float64(i+1)*cell) - max(from, float64(i)*cell)
	}
}

// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"slices"

	"snug/internal/snapshot"
)

// Pieces is how the memory that PyTorch reserved was divided at the end of a recording.
type Pieces struct {
	Segments int    // number obtained from the driver
	Free     int    // number of unused pieces
	Largest  uint64 // bytes in the largest unused piece
	Unused   uint64 // bytes in all unused pieces
	Reserved uint64 // bytes in all segments
	Parts    []Part // segments in the order of their addresses
}

// Part is one segment.
type Part struct {
	Size   uint64  // bytes
	Small  bool    // in the pool for small tensors
	Graph  bool    // in a CUDA graph's private pool
	Blocks []Block // in the order of their addresses
}

// Block is a range of a segment that is either in use or free.
type Block struct {
	Offset, Size uint64 // in bytes; Offset is from the start of the segment
	Used         bool   // in use, not free
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

// add appends a block, or extends the last one if both are in use.
func (p *Part) add(b Block) {
	if n := len(p.Blocks); n > 0 && p.Blocks[n-1].Used && b.Used {
		p.Blocks[n-1].Size += b.Size
		return
	}
	p.Blocks = append(p.Blocks, b)
}

// Map returns the used fraction, from 0 to 1, of each of n equal ranges of the reserved memory.
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

// spread adds a range of bytes to the cells that it overlaps.
func spread(cells []float64, cell, from, size float64) {
	for i := int(from / cell); i < len(cells) && float64(i)*cell < from+size; i++ {
		cells[i] += min(from+size, float64(i+1)*cell) - max(from, float64(i)*cell)
	}
}

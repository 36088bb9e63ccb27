// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"snug/internal/allocator"
	"snug/internal/files"
)

// memory.snug is the file format of a program, kept with the training code.
//
// Goals: small (a step of a million events in well under a megabyte), the same bytes for the same recordings,
// readable by every later snug, and damage is detected. Non-goals: reading part of a file, or editing it.
//
//	 0  "snugmem\n"
//	 8  version, 2 bytes
//	10  0, 2 bytes
//	12  CRC-32C of everything from 16 on, 4 bytes
//	16  the body, with long repetitions removed (file_repeat.go), compressed
//	    (deflate, RFC 1951)
//
// Numbers outside the body are little endian; inside they are varints (zigzag if signed), as in encoding/binary. The
// body:
//
//	length, header      JSON: PyTorch, allocator options, quantities, card, facts,
//	                    and how steps differ (ragged_file.go)
//	count, formulas     see file_formula.go
//	count, variants     the events as each recording ran them
//
// A variant's events are five columns, each preceded by its length in bytes: the event kinds, one byte each; the
// formulas of allocations; their queues; for all other events, the allocation they refer to; and their queues. The
// columns of a loop repeat, so deflate compresses them well.
const (
	fileMagic   = "snugmem\n"
	fileVersion = 3
	oldestFile  = 2 // version 2 lacks the certainty Measured
	bodyAt      = 16
)

// checksum returns the CRC-32C. Building the tables takes as long as reading a small file, so they are not built at
// start.
func checksum(body []byte) uint32 { return crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) }

// fileHeader describes the meaning of the numbers.
type fileHeader struct {
	Torch   string            `json:"torch"`
	Options allocator.Options `json:"options"`
	Names   []string          `json:"quantities"`
	Fixed   Point             `json:"fixed,omitempty"`
	Card    string            `json:"card,omitempty"`
	Facts   Facts             `json:"facts,omitzero"`
	Ragged  *raggedHeader     `json:"ragged,omitempty"`
}

// Write writes p as a memory.snug file.
func (p *Program) Write(w io.Writer) error {
	body, err := p.body()
	if err != nil {
		return err
	}
	file, err := p.deflate(withoutRepeats(body))
	if err == nil && len(body) > bodyLimit(len(file)) { // so repetitive that Read would take it for a bomb
		file, err = p.deflate(withAllRepeats(body))
	}
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(file[12:], checksum(file[bodyAt:]))
	_, err = w.Write(file)
	return err
}

// deflate returns the file for text, without its checksum.
func (p *Program) deflate(text []byte) ([]byte, error) {
	out := bytes.NewBufferString(fileMagic)
	out.Write([]byte{p.version(), 0, 0, 0, 0, 0, 0, 0})
	z, err := flate.NewWriter(out, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	err = z.Close()
	return out.Bytes(), err
}

// Is reports whether a file that begins with head is a memory.snug file.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(fileMagic)) }

// Read reads a memory.snug file.
func Read(r io.Reader) (*Program, error) {
	file, err := files.ReadAll(r, maxFile)
	if err != nil {
		return nil, err
	}
	if !Is(file) {
		return nil, errors.New("not a snug profile: it should begin with \"snugmem\"")
	}
	if len(file) < bodyAt {
		return nil, errors.New("the profile is truncated in its first line: copy or record it again")
	}
	if v := binary.LittleEndian.Uint16(file[8:]); v < oldestFile || v > raggedVersion {
		return nil, fmt.Errorf("the profile has format %d, but this version of snug reads formats %d to %d: it was made by a different version; use that one or record it again", v, oldestFile, raggedVersion)
	}
	if checksum(file[bodyAt:]) != binary.LittleEndian.Uint32(file[12:]) {
		return nil, errors.New("the profile is damaged: its checksum differs; copy or record it again")
	}
	body, err := inflate(file)
	if err != nil {
		return nil, err
	}
	return readBody(body)
}

// inflate returns the body of a file. It refuses a body larger than bodyLimit, which could only be meant to exhaust
// memory.
func inflate(file []byte) ([]byte, error) {
	most := bodyLimit(len(file))
	text, err := files.ReadAll(flate.NewReader(bytes.NewReader(file[bodyAt:])), int64(most))
	if errors.As(err, &files.TooLargeError{}) {
		return nil, fmt.Errorf("the profile is damaged: its %d bytes expand to more than %d", len(file), most)
	}
	if err != nil {
		return nil, fmt.Errorf("the profile is damaged: %w", err)
	}
	return withRepeats(text, most)
}

func (p *Program) body() ([]byte, error) {
	if err := p.tooLong(); err != nil {
		return nil, err
	}
	header, err := json.Marshal(fileHeader{p.Torch.String(), p.Options, p.Names, p.Fixed, p.Card, p.Facts, p.ragged.header()})
	if err != nil {
		return nil, err
	}
	e := &encoder{}
	e.bytes(header)
	e.uint(uint64(len(p.formulas)))
	for i := range p.formulas {
		e.formula(&p.formulas[i])
	}
	e.uint(uint64(len(p.variants)))
	for i := range p.variants {
		e.variant(&p.variants[i])
	}
	return e.out, nil
}

func readBody(body []byte) (*Program, error) {
	d := &decoder{in: body}
	var h fileHeader
	if err := json.Unmarshal(d.bytes(), &h); err != nil && d.err == nil {
		d.fail("its header: %v", err)
	}
	version, err := allocator.ParseVersion(h.Torch)
	if err != nil && d.err == nil {
		d.fail("its header: %v", err)
	}
	if len(h.Names)+h.Ragged.names() > maxNames {
		d.fail("%d quantities", len(h.Names))
	}
	if !h.Facts.sane() {
		d.fail("its header has impossible values")
	}
	if err := h.Options.Check(); err != nil {
		d.fail("its allocator options: %v", err)
	}
	if d.err != nil {
		return nil, d.err
	}
	p := &Program{Torch: version, Options: h.Options, Names: h.Names, Fixed: h.Fixed, Card: h.Card, Facts: h.Facts, monos: monomials(len(h.Names) + h.Ragged.names())}
	formulas := d.atMost(maxFormulas, "formulas")
	p.formulas = make([]formula, 0, formulas)
	for range formulas {
		p.formulas = append(p.formulas, d.formula(p))
	}
	for range d.atMost(maxRecordings, "recordings") {
		p.variants = append(p.variants, d.variant(p))
	}
	d.checkWork(p)
	if d.err == nil {
		if p.ragged, err = h.Ragged.ragged(p); err != nil {
			d.fail("its steps: %v", err)
		}
	}
	if d.err == nil && (len(p.variants) == 0 || len(d.in) > 0) {
		d.fail("it has no recordings, or extra data at its end")
	}
	if d.err != nil {
		return nil, d.err
	}
	if p.ragged == nil {
		p.close()
	}
	return p, nil
}

// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The script language tests the allocator from outside: it has one command per line, and prints the state of memory.
//
//	total B          the card has B bytes            (before or between allocations)
//	ctx B            B bytes are used by others
//	conf STR         PYTORCH_ALLOC_CONF
//	frac X           set_per_process_memory_fraction
//	a ID BYTES [S]   allocate on stream S (0, the default, 1, 2, …)
//	f ID             free
//	rs ID S          record_stream
//	ev 0|1           events are done when they are checked, or not
//	e                empty_cache
//	pb, pe, pr       begin, end, release the private pool (0,1)
//	p [TAG]          print the statistics, under a name
//	snap             print segments and blocks
//	used             print the device's bytes in use
//
// Empty lines and lines that begin with # are skipped. An allocation that does not fit prints its message and the
// script continues; its ID remains unused. Any other mistake ends the script with an error that names the line.

// scriptTotal is the memory of the card in a script that does not set it: more than any script uses.
const scriptTotal = 1 << 40

// RunScript runs the script in r against an allocator for PyTorch v and writes its output to w.
func RunScript(r io.Reader, w io.Writer, v Version) error {
	out := bufio.NewWriter(w)
	err := runScript(r, out, v)
	return errors.Join(err, out.Flush())
}

func runScript(r io.Reader, w io.Writer, v Version) error {
	s, err := newScript(w, v)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		n++
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if err := s.run(fields[0], fields[1:]); err != nil {
			return fmt.Errorf("line %d: %s: %w", n, shown(fields[0]), err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	if n == 0 {
		return errors.New("the script is empty")
	}
	return nil
}

// shown returns a word for a message. A plain word stays as it is; anything else is quoted and shortened, because the
// file may not be a script at all.
func shown(word string) string {
	const most = 20
	if len(word) > most {
		word = word[:most]
	}
	if quoted := strconv.Quote(word); quoted != `"`+word+`"` {
		return quoted
	}
	return word
}

// scriptRun is a run in progress.
type scriptRun struct {
	w    io.Writer
	dev  *Simple
	a    *Allocator
	refs map[string]Ref
	busy bool // whether the allocator has been used; until then, conf sets start-up options
}

func newScript(w io.Writer, v Version) (*scriptRun, error) {
	dev := &Simple{Total: scriptTotal}
	a, err := New(dev, v, DefaultOptions())
	return &scriptRun{w: w, dev: dev, a: a, refs: map[string]Ref{}}, err
}

// command is one command of the language: its number of arguments, and its function.
type command struct {
	least, most int
	do          func(s *scriptRun, args []string) error
}

var graphPool = PoolID{0, 1}

var commands = map[string]command{
	"total": {1, 1, func(s *scriptRun, args []string) error { return number(args[0], &s.dev.Total) }},
	"ctx":   {1, 1, func(s *scriptRun, args []string) error { return number(args[0], &s.dev.Outside) }},
	"conf":  {0, 99, (*scriptRun).conf},
	"frac":  {1, 1, (*scriptRun).frac},
	"a":     {2, 3, (*scriptRun).alloc},
	"f":     {1, 1, (*scriptRun).free},
	"rs":    {2, 2, (*scriptRun).recordStream},
	"ev":    {1, 1, (*scriptRun).events},
	"e":     {0, 0, func(s *scriptRun, _ []string) error { return s.a.EmptyCache() }},
	"pb":    {0, 0, func(s *scriptRun, _ []string) error { return s.a.BeginPool(graphPool, PoolOptions{}) }},
	"pe":    {0, 0, func(s *scriptRun, _ []string) error { return s.a.EndPool(graphPool) }},
	"pr":    {0, 0, func(s *scriptRun, _ []string) error { return s.a.ReleasePool(graphPool) }},
	"p":     {0, 99, (*scriptRun).printStats},
	"snap":  {0, 0, (*scriptRun).printSegments},
	"used":  {0, 0, (*scriptRun).printUsed},
}

func (s *scriptRun) run(name string, args []string) error {
	c, ok := commands[name]
	if !ok {
		return errors.New("no such command; the commands are total ctx conf frac a f rs ev e pb pe pr p snap used")
	}
	if len(args) < c.least || len(args) > c.most {
		return fmt.Errorf("takes %d to %d arguments, got %d", c.least, c.most, len(args))
	}
	return c.do(s, args)
}

// number parses a number of bytes that a card could have.
func number(text string, to *uint64) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n >= absurdlyLarge {
		return fmt.Errorf("%q is not a number of bytes", text)
	}
	*to = n
	return nil
}

// streamHandle converts a stream's number to the handle that snap prints.
func streamHandle(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 14)
	if err != nil {
		return 0, fmt.Errorf("%q is not a stream number", text)
	}
	if n == 0 {
		return 0, nil
	}
	return 0x100000 + 0x1000*n, nil
}

// conf sets options. At start-up, and only then, it also sets the memory fraction.
func (s *scriptRun) conf(args []string) error {
	if err := s.a.Configure(strings.Join(args, " ")); err != nil {
		return err
	}
	if opt := s.a.Options(); opt.FractionSet && !s.busy {
		return s.a.SetMemoryFraction(opt.Fraction)
	}
	return nil
}

func (s *scriptRun) frac(args []string) error {
	x, err := strconv.ParseFloat(args[0], 64)
	if err != nil {
		return fmt.Errorf("%q is not a number", args[0])
	}
	s.busy = true
	return s.a.SetMemoryFraction(x)
}

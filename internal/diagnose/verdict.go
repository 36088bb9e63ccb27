// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/units"
)

// Code is the cause of an out-of-memory error.
type Code string

// The codes, as docs/diagnose.md lists them.
const (
	TooBig             Code = "too-big"              // the run needs more memory than it may use
	LogitsTooBig       Code = "logits"               // the logits, or what the loss computes from them, are too large
	Loading            Code = "loading"              // the model does not fit when it is loaded
	FirstOptimizerStep Code = "first-optimizer-step" // the optimizer's states do not fit
	Evaluation         Code = "evaluation"           // an evaluation needs more than training
	LongBatch          Code = "long-batch"           // a batch is larger than those before it
	Leak               Code = "leak"                 // memory is kept from step to step
	Fragmentation      Code = "fragmentation"        // enough was unused, but not in one piece
	OtherProcess       Code = "other-process"        // other processes use the card
	PrivatePool        Code = "private-pool"         // only CUDA graphs may use the unused memory
	Resume             Code = "resume"               // a checkpoint does not fit next to the run
	HostMemory         Code = "host-memory"          // the host's memory ran out
	BadDriver          Code = "driver"               // the driver refused memory that was free
	None               Code = "none"                 // no sign of an out-of-memory error
)

// Confidence is how strong the evidence is.
type Confidence string

// The levels of confidence.
const (
	Certain  Confidence = "certain"  // nothing else explains the evidence
	Likely   Confidence = "likely"   // other causes are less probable
	Possible Confidence = "possible" // another cause may be as probable
)

// Verdict is the result of a diagnosis.
type Verdict struct {
	Code       Code       // the cause
	Why        string     // one sentence
	Where      string     // the user's line; "" if none is known
	Script     string     // the user's main file, as named in the traceback; "" if unknown
	Confidence Confidence // how sure the verdict is
	Message    *Message   // the message that the verdict is based on, or nil
	Holders    []Held     // largest first
	Growth     *Growth    // nil if nothing grows
	Fixes      []Fix      // what to do, the smallest change first
	Retry      *Retry     // the run replayed with expandable segments; nil if it was not replayed
	Pieces     *Pieces    // how the snapshot's memory is divided; nil without a snapshot
	AtPeak     bool       // whether Holders are from the peak, not from the end
	Compared   bool       // whether two snapshots were given
	Changes    []Change   // from the first snapshot to the second
}

// Growth is memory that each step leaves alive.
type Growth struct {
	BytesPerStep uint64 // bytes that each step adds
	Where        string // the line that keeps or allocates them
}

// Evidence is all input to a diagnosis.
type Evidence struct {
	Log      *Log      // nil if no text was given
	Recorded *Recorded // nil if no snapshot was given
	Earlier  *Recorded // the first of two snapshots to compare; nil otherwise

	// Keeper returns the line of a source file that keeps the tensors that another line allocates. It may be nil.
	Keeper func(file string, line int) (int, bool)
}

// Judge decides between the causes. The rules are in order of the strength of their evidence: figures first, then
// the traceback, then the reported steps.
func Judge(e Evidence) *Verdict {
	c := newCase(e)
	if c == nil {
		v := &Verdict{Code: None, Confidence: Certain, Why: "no message reports an out-of-memory error"}
		if e.Recorded != nil {
			v.Why += ", and no request failed in the snapshot"
		}
		v.describe(e)
		return v
	}
	v := c.decide()
	v.Message, v.Script = c.message, c.script()
	if e.Recorded != nil {
		v.Growth = c.growth()
	}
	v.describe(e)
	if v.Where == "" {
		v.Where = c.where()
	}
	v.Fixes = c.fixes(v)
	return v
}

// describe adds facts from the snapshots that do not depend on the verdict.
func (v *Verdict) describe(e Evidence) {
	if e.Recorded == nil {
		return
	}
	v.Holders, v.AtPeak = e.Recorded.Held, e.Recorded.AtPeak
	v.Pieces = pieces(e.Recorded.device.Final)
	if e.Earlier != nil {
		v.Compared, v.Changes = true, Compare(e.Earlier, e.Recorded)
	}
}

// rule is one way to recognize a cause; ok is false if the evidence is missing.
type rule func(*failure) (v Verdict, ok bool)

var rules = []rule{
	(*failure).onHost, (*failure).impossible, (*failure).byOthers, (*failure).inPools, (*failure).apart, (*failure).grows, (*failure).between,
	(*failure).restoring, (*failure).loading, (*failure).firstStep, (*failure).evaluating, (*failure).lengthens, (*failure).grewInLog, (*failure).inLogits,
}

// failure is the failed request, with all evidence about it.
type failure struct {
	Evidence
	message *Message
	frames  []Frame
	steps   []StepLine // steps that finished before the failure
	tried   uint64
	room    uint64 // memory that the process may use: the card's, or its cap
}

// newCase picks the request that the verdict is about: the first that failed, unless the program caught that failure
// and failed again.
func newCase(e Evidence) *failure {
	c := &failure{Evidence: e}
	if e.Log != nil && len(e.Log.Messages) > 0 {
		at := deciding(e.Log.Messages)
		c.message, c.frames = &e.Log.Messages[at].Message, e.Log.Messages[at].Frames
		c.tried, c.room = c.message.Tried, c.message.Total
		if l := c.message.Limit; l > 0 && (l < c.room || c.room == 0) {
			c.room = l
		}
		for _, s := range e.Log.Steps {
			if s.line < c.message.Line && s.line > e.Log.Resumed {
				c.steps = append(c.steps, s)
			}
		}
	}
	if r := e.Recorded; r != nil && r.OOM != nil {
		if len(c.frames) == 0 {
			c.frames = r.Frames
		}
		if c.message == nil {
			c.message = &Message{Form: Torch, GPU: -1, Tried: r.OOM.Size, Allocated: r.Allocated, Unallocated: r.Reserved - r.Allocated - r.Private, Private: r.Private}
		}
		c.tried = max(c.tried, r.OOM.Size)
		if c.room == 0 {
			c.room = r.room()
		}
	}
	if c.message == nil && (e.Recorded == nil || !c.leaks()) {
		if _, ok := c.between(); !ok {
			return nil
		}
	}
	if c.message == nil {
		c.message = &Message{Form: Torch, GPU: -1}
	}
	return c
}

// deciding returns the index of the message that a verdict is about. Messages about the card take precedence over
// those about the host, because a launcher kills the other ranks once one has failed.
func deciding(all []Found) int {
	first := -1
	for i := range all {
		if all[i].onCard() && (first < 0 || all[i].supersedes(&all[first])) {
			first = i
		}
	}
	if first < 0 {
		return mostTelling(all)
	}
	return first
}

// supersedes reports whether a message has more information than another about the same failure: it repeats the
// text with a traceback, or it is the text below a heading.
func (f *Found) supersedes(of *Found) bool {
	after := f.Line - of.Line
	if of.figures() == 0 && len(of.Frames) == 0 {
		return after <= near && f.figures() > 0 || after < apart && len(f.Frames) > 0
	}
	return f.Prefix == of.Prefix && after < apart && len(f.Frames) > 0 && of.figures() <= f.figures()
}

// The most lines between two messages about one failure: between a heading and its text, and between a text and the
// traceback that repeats it.
const (
	near  = 5
	apart = 400
)

// mostTelling returns the position of the most informative message, the first of equals.
func mostTelling(all []Found) (best int) {
	for i := range all {
		if slices.Compare(all[i].weight(), all[best].weight()) > 0 {
			best = i
		}
	}
	return best
}

// weight returns how informative a message is, the most important aspect first: how many figures it has, whether it
// names what ran out instead of only a process that ended, and whether it has a traceback.
func (f *Found) weight() []int {
	out := []int{f.figures(), 1, min(len(f.Frames), 1)}
	if f.Form == Worker || f.Form == Killed {
		out[1] = 0
	}
	return out
}

func (m *Message) onCard() bool {
	switch m.Form {
	case Host, Worker, Killed, Shared:
		return false
	}
	return true
}

// decide applies the rules in order.
func (c *failure) decide() *Verdict {
	for _, r := range rules {
		if v, ok := r(c); ok {
			return &v
		}
	}
	v := Verdict{Code: TooBig, Confidence: Likely, Why: "the run needs more memory than the card has: " + c.request()}
	if c.capped() {
		v.Why = "the run needs more memory than it may use: " + c.request()
	}
	if c.alone() {
		v.Confidence = Certain
		v.Why = "a single tensor is larger than all the memory there is: " + c.request()
	} else if c.enoughInPieces() {
		v.Why = fmt.Sprintf("the run needs nearly all of the card: %v was requested in one piece; %v free and %v reserved but unused would have been enough together, but not in one piece",
			units.Bytes(c.message.Tried), units.Bytes(c.message.Free), units.Bytes(c.message.Unallocated))
	}
	if c.message.figures() == 0 {
		v.Confidence = Possible
	}
	if c.noFigures() {
		v.Why = "the run probably needs more memory than the card has; the message does not say how much was requested"
	}
	if c.wentOn() {
		v.Confidence = Possible
		v.Why += "; the program caught this and took further steps"
	}
	return &v
}

// enoughInPieces reports whether the free memory on the card and PyTorch's unused memory together would have been
// enough for the request, so that the figures do not prove that the run is larger than the card.
func (c *failure) enoughInPieces() bool {
	m := c.message
	return m.Tried > m.Free && m.Free > 0 && m.Unallocated > 0 && m.Free+m.Unallocated >= m.Tried
}

// wentOn reports whether the log shows steps after a message without a traceback, which means that the program
// caught the error.
func (c *failure) wentOn() bool {
	if c.Log == nil || len(c.frames) > 0 || len(c.Log.Messages) == 0 {
		return false
	}
	last := c.Log.Messages[len(c.Log.Messages)-1]
	return slices.ContainsFunc(c.Log.Steps, func(s StepLine) bool { return s.line > last.Line })
}

// request describes what could not be allocated, with the known figures.
func (c *failure) request() string {
	m := c.message
	var parts []string
	if m.Tried > 0 {
		parts = append(parts, fmt.Sprintf("%v more was requested", units.Bytes(m.Tried)))
	}
	if m.Allocated > 0 {
		parts = append(parts, fmt.Sprintf("%v was in tensors", units.Bytes(m.Allocated)))
	}
	if c.room > 0 {
		room := fmt.Sprintf("the card has %v", units.Bytes(c.room))
		if c.capped() {
			room = fmt.Sprintf("%v is allowed", units.Bytes(c.room))
		}
		parts = append(parts, room)
	}
	if len(parts) == 0 {
		return "the message has no figures"
	}
	return strings.Join(parts, ", ")
}

// noFigures reports whether request has nothing to show.
func (c *failure) noFigures() bool {
	return c.message.Tried == 0 && c.message.Allocated == 0 && c.room == 0
}

// capped reports whether the run is limited by a cap on the process, not by the card's memory.
func (c *failure) capped() bool {
	if c.message.Limit > 0 {
		return c.message.Limit == c.room
	}
	return c.Recorded != nil && c.Recorded.capped() && c.room == c.Recorded.room()
}

// where returns the user's line where the request failed.
func (c *failure) where() string {
	f, ok := innermost(c.frames, Frame.users)
	if !ok {
		return ""
	}
	return f.Where()
}

// script returns the outermost of the user's files in the traceback.
func (c *failure) script() string {
	for _, f := range c.frames {
		if f.users() && strings.HasSuffix(f.File, ".py") {
			return f.File
		}
	}
	return ""
}

// share returns bytes as a fraction of the available memory; 0 if that is unknown.
func (c *failure) share(bytes uint64) float64 {
	if c.room == 0 {
		return 0
	}
	return float64(bytes) / float64(c.room)
}

// room returns how much memory the process could use. If the request failed although the card had enough memory
// left, a cap must apply, and the reserved memory is close to it.
func (r *Recorded) room() uint64 {
	if r.capped() {
		return r.Reserved + r.OOM.Size
	}
	return r.Reserved + uint64(max(0, r.OOM.DeviceFree))
}

// capped reports whether the request failed although the card had enough memory left.
func (r *Recorded) capped() bool {
	return r.OOM != nil && uint64(max(0, r.OOM.DeviceFree)) > r.OOM.Size+slack
}

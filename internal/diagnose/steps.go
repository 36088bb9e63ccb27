// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"snug/internal/pattern"
	"strconv"
	"strings"

	"snug/internal/units"
)

// StepLine is a line of the log that tells of a finished step.
type StepLine struct {
	Step      int    // its number as printed, or -1
	Memory    uint64 // bytes that it says are allocated or in use; 0 if it does not
	Shape     []int  // the batch's shape or length, if it is printed
	Evaluates bool   // whether it tells of an evaluation
	Ongoing   bool   // whether it is a progress bar that has not reached its end
	line      int
}

var (
	stepWord  = pattern.New(`(?i)\b(?:global[ _]?)?(?:step|iter|iteration|batch)\b["']?[ =:#]*\[?\s*(\d+)`, "step", "Step", "STEP", "iter", "Iter", "ITER", "batch", "Batch", "BATCH")
	bracketed = pattern.New(`^\W*\[\s*(\d+)\s*(?:/\s*\d+)?\]`)
	progress  = pattern.New(`(?:^|[\s|])([1-9]\d*)/(\d+)\b`, "/")
	// chores are progress bars of other work than steps.
	chores    = pattern.New(`(?i)\b(?:(?:down|up|pre)?load\w*|fetch\w*|map|mapping|token\w*|filter\w*|group\w*|(?:pre)?process\w*|prepar\w*|compil\w*|captur\w*|shards?|cach\w*|unpack\w*|extract\w*|convert\w*|quantiz\w*|generating|running|sav\w*|pack\w*|truncat\w*|files)\b`)
	trainers  = pattern.New(`'loss': '?[\d.]`, "'loss'")
	memory    = pattern.New(`(?i)\b(?:mem\w*|alloc\w*|reserved|vram|gpu)\b[^\d\n]{0,12}(\d+(?:\.\d+)?) ?(GiB|GB|MiB|MB|G\b|M\b)`, "mem", "Mem", "MEM", "alloc", "Alloc", "ALLOC", "eserved", "RESERVED", "vram", "VRAM", "gpu", "GPU")
	shapeOf   = pattern.New(`(?i)\b(?:shape|size|lengths?|len|seq_?len|tokens|longest)\b\w*["']?[ =:]*(?:torch\.Size)?[(\[]*((?:\d+)(?:[, x×]+\d+)*)`, "shape", "Shape", "size", "Size", "len", "Len", "LEN", "tokens", "Tokens", "longest", "Longest")
	evalWords = pattern.New(`(?i)\b(?:eval|evaluat\w+|validat\w+|val|valid|test)(?:[ _]?(?:loss|acc\w*|step|batch|set|epoch))?\b`, "eval", "Eval", "EVAL", "val", "Val", "VAL", "test", "Test", "TEST")
	lossWord  = pattern.New(`(?i)\bloss\b`, "loss", "Loss", "LOSS")
)

// stepLine reads a line that tells of a step: a number of it, a loss, or a progress bar.
func stepLine(text string) (StepLine, bool) {
	s := StepLine{Step: -1}
	for _, p := range []*pattern.Pattern{stepWord, bracketed, progress} {
		at := p.Index(text)
		if at == nil || p == progress && chore(text, at[0]) {
			continue
		}
		s.Step = atoi(text[at[2]:at[3]])
		s.Ongoing = p == progress && s.Step < atoi(text[at[4]:at[5]])
		break
	}
	if s.Step < 0 && !trainers.In(text) && !lossWord.In(text) {
		return s, false
	}
	s.Memory, s.Shape = memoryIn(text), shapeIn(text)
	s.Evaluates = evalWords.In(withoutFigures(text))
	return s, true
}

// withoutFigures cuts the figures off a progress bar: they may name the loss of the last evaluation.
func withoutFigures(text string) string {
	if bar := strings.Index(text, "%|"); bar >= 0 {
		return text[:bar]
	}
	return text
}

// chore reports whether a progress bar is about other work than steps: by its title, which stands before the
// count, or by its unit.
func chore(text string, count int) bool {
	title := text[:count]
	if bar := strings.Index(title, "%|"); bar >= 0 {
		title = title[:bar]
	}
	return strings.Contains(text, "examples/s") || chores.In(title)
}

// memoryIn returns the amount of memory that a line prints, the first if there are several.
func memoryIn(text string) uint64 {
	m := memory.Find(text)
	if m == nil {
		return 0
	}
	unit := strings.ToUpper(m[2][:1])
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0
	}
	return uint64(v * map[string]float64{"G": units.GiB, "M": units.MiB}[unit])
}

// shapeIn returns the shape or length that a line prints.
func shapeIn(text string) (out []int) {
	m := shapeOf.Find(text)
	if m == nil {
		return nil
	}
	for _, d := range strings.FieldsFunc(m[1], func(r rune) bool { return r < '0' || r > '9' }) {
		out = append(out, atoi(d))
	}
	return out
}

// atoi reads a number that a pattern has matched; one that is too large is the largest.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 1<<31 - 1
	}
	return n
}

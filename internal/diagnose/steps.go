// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"snug/internal/pattern"
	"strconv"
	"strings"

	"snug/internal/units"
)

// StepLine is a line in the log that reports a finished step.
type StepLine struct {
	Step      int    // the step's number as printed, or -1
	Memory    uint64 // bytes allocated or in use; 0 if not reported. If no unit is printed, only the ratio between lines is known
	Shape     []int  // the batch's shape or length, if printed
	Evaluates bool   // whether the line reports an evaluation
	Ongoing   bool   // whether the line is a progress bar that has not reached its end
	line      int
}

var (
	stepWord  = pattern.New(`(?i)\b(?:global[ _]?)?(?:step|iter|iteration|batch)\b["']?[ =:#]*\[?\s*(\d+)`, "step", "Step", "STEP", "iter", "Iter", "ITER", "batch", "Batch", "BATCH")
	bracketed = pattern.New(`^\W*\[\s*(\d+)\s*(?:/\s*\d+)?\]`)
	progress  = pattern.New(`(?:^|[\s|])([1-9]\d*)/(\d+)\b`, "/")
	// chores matches progress bars for work other than steps.
	chores   = pattern.New(`(?i)\b(?:(?:down|up|pre)?load\w*|fetch\w*|map|mapping|token\w*|filter\w*|group\w*|(?:pre)?process\w*|prepar\w*|compil\w*|captur\w*|shards?|cach\w*|unpack\w*|extract\w*|convert\w*|quantiz\w*|generating|running|sav\w*|pack\w*|truncat\w*|files)\b`)
	trainers = pattern.New(`'loss': '?[\d.]`, "'loss'")
	memory   = pattern.New(`(?i)\b(?:mem\w*|alloc\w*|reserved|vram|gpu)\b[^\d\n]{0,12}(\d+(?:\.\d+)?) ?(GiB|GB|MiB|MB|G\b|M\b)`, "mem", "Mem", "MEM", "alloc", "Alloc", "ALLOC", "eserved", "RESERVED", "vram", "VRAM", "gpu", "GPU")
	// bareMemory matches amounts of memory without a unit: mem 4.1, allocated=8123.
	bareMemory = pattern.New(`(?i)\b(?:mem(?:ory)?(?:[ _](?:used|alloc|allocated|reserved))?|alloc(?:ated)?|reserved|vram)\b["']?[ =:]{1,3}(\d+(?:\.\d+)?)\b`, "mem", "Mem", "MEM", "alloc", "Alloc", "ALLOC", "eserved", "RESERVED", "vram", "VRAM")
	shapeOf    = pattern.New(`(?i)\b(?:shape|size|lengths?|len|seq_?len|tokens|longest)\b\w*["']?[ =:]*(?:torch\.Size)?[(\[]*((?:\d+)(?:[, x×]+\d+)*)`, "shape", "Shape", "size", "Size", "len", "Len", "LEN", "tokens", "Tokens", "longest", "Longest")
	evalWords  = pattern.New(`(?i)\b(?:eval|evaluat\w+|validat\w+|val|valid|test)(?:[ _]?(?:loss|acc\w*|step|batch|set|epoch))?\b`, "eval", "Eval", "EVAL", "val", "Val", "VAL", "test", "Test", "TEST")
	lossWord   = pattern.New(`(?i)\bloss\b`, "loss", "Loss", "LOSS")
)

// stepLine parses a line that reports a step: a step number, a loss, or a progress bar.
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

// withoutFigures cuts the figures off a progress bar, because they may include the loss of the last evaluation.
func withoutFigures(text string) string {
	if bar := strings.Index(text, "%|"); bar >= 0 {
		return text[:bar]
	}
	return text
}

// chore reports whether a progress bar is for work other than steps, judging by its title, before the count, or by
// its unit.
func chore(text string, count int) bool {
	title := text[:count]
	if bar := strings.Index(title, "%|"); bar >= 0 {
		title = title[:bar]
	}
	return strings.Contains(text, "examples/s") || chores.In(title)
}

// memoryIn returns the first amount of memory in a line. An amount without a unit is read as MiB; only its ratio to
// other lines' amounts is used.
func memoryIn(text string) uint64 {
	m, unit := memory.Find(text), "M"
	if m == nil {
		m = bareMemory.Find(text)
	} else {
		unit = strings.ToUpper(m[2][:1])
	}
	if m == nil {
		return 0
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0
	}
	return uint64(v * map[string]float64{"G": units.GiB, "M": units.MiB}[unit])
}

// shapeIn returns the shape or length in a line.
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

// atoi parses a number that a pattern has matched; one that is too large becomes the largest int.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 1<<31 - 1
	}
	return n
}

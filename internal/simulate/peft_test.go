// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/stream"
)

// rows is the number of tokens per batch in the recordings.
const rows = 3 * 100

// peftEvent is an allocation or a free, and the index of its op.
type peftEvent struct {
	op    int
	id    int
	size  uint64
	freed bool
}

// peftLog is a run in the format of peft_ops.py.
type peftLog struct {
	ops    []string
	events []peftEvent

	params, trained int
}

// TestPEFT compares a simulated run with the ops that PEFT dispatched on meta tensors
// (testdata/measured/peft_ops.py): each result with its own memory, in order, and the results freed since the
// previous one. The recordings contain no kernel workspaces, so these are omitted here too. Everything before the
// first block is omitted as well, because masks are made differently while tracing.
func TestPEFT(t *testing.T) { testDispatched(t, "testdata/peft") }

// TestWeights does what TestPEFT does, for steps with 16-bit weights under autocast, all of them trained
// (testdata/measured/weights_ops.py).
func TestWeights(t *testing.T) { testDispatched(t, "testdata/weights") }

// TestTRL does what TestPEFT does, for the loss of TRL's SFTTrainer, on real tensors (testdata/measured/trl_ops.py).
func TestTRL(t *testing.T) { testDispatched(t, "testdata/trl") }

// TestLiger does what TestPEFT does, for Liger's kernels (testdata/measured/liger_ops.py).
func TestLiger(t *testing.T) { testDispatched(t, "testdata/liger") }

// TestQLoRA does what TestPEFT does, for bitsandbytes' 4-bit weights with PEFT's adapters
// (testdata/measured/qlora_ops.py).
func TestQLoRA(t *testing.T) { testDispatched(t, "testdata/qlora") }

// TestNanoGPT does what TestPEFT does, for nanoGPT's own model, with and without biases
// (testdata/measured/nanogpt_ops.py).
func TestNanoGPT(t *testing.T) { testDispatched(t, "testdata/nanogpt") }

func testDispatched(t *testing.T, folder string) {
	files, _ := filepath.Glob(filepath.Join(folder, "*.txt.gz"))
	if len(files) == 0 {
		t.Fatal("no recordings found")
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt.gz"), func(t *testing.T) {
			c, recorded := readPEFT(t, f)
			s := caseSetup(c)
			s.Steps = 1
			want := recorded.blocks()
			if len(want) < 50 {
				t.Fatalf("only %d allocations are recorded", len(want))
			}
			played := play(t, s, Options{Undivided: true, OutOfPlace: true, Local: true, Card: caseCard(c)})
			if played.params != recorded.params || played.trained != recorded.trained {
				t.Errorf("%d parameters, %d trained; want %d, %d", played.params, played.trained, recorded.params, recorded.trained)
			}
			got := played.blocks()
			if c["device"] == "cuda" { // only the forward pass was recorded
				got = got[:min(len(got), len(want))]
			}
			compare(t, got, want)
		})
	}
}

func readPEFT(t *testing.T, path string) (c map[string]any, log peftLog) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	for sc := bufio.NewScanner(z); sc.Scan(); {
		l := sc.Text()
		id, _ := strconv.Atoi(l[strings.LastIndexByte(l, '#')+1:])
		switch {
		case c == nil:
			if err := json.Unmarshal([]byte(l[2:]), &c); err != nil {
				t.Fatal(err)
			}
		case strings.HasPrefix(l, "# torch "):
			if _, err := fmt.Sscanf(l[strings.Index(l, "; "):], "; %d parameters, %d trained", &log.params, &log.trained); err != nil {
				t.Fatal(err)
			}
		case strings.HasPrefix(l, "    + "):
			size, _ := strconv.ParseUint(strings.Fields(l)[1], 10, 64)
			if size == 2*rows && strings.Contains(log.ops[len(log.ops)-1], "native_layer_norm") {
				size = 4 * rows // the norm's statistics, which the GPU keeps in float32 for every input type
			}
			if size == 0 || strings.Contains(log.ops[len(log.ops)-1], "eq.Scalar") { // a comparison of labels is simulated as part of the op that uses it
				continue
			}
			at := len(log.events)
			if last := len(log.ops) - 1; at > 0 && log.events[at-1].op == last && strings.Contains(log.ops[last], "native_dropout") {
				at-- // the kernel allocates the mask first, although it is the second result
			}
			log.events = slices.Insert(log.events, at, peftEvent{op: len(log.ops) - 1, id: id, size: size})
		case strings.HasPrefix(l, "    - "):
			log.events = append(log.events, peftEvent{op: len(log.ops) - 1, id: id, freed: true})
		default:
			log.ops = append(log.ops, l)
		}
	}
	return c, log
}

// caseCard returns the card of a recording, or none if it is the reference card.
func caseCard(c map[string]any) gpu.Card {
	card := gpu.Reference
	if v, ok := c["capability"].(float64); ok {
		card.Capability = int(v)
	}
	return card
}

// play returns the log of a simulated run, without workspaces.
func play(t *testing.T, s *setup.Setup, o Options) (log peftLog) {
	t.Helper()
	var at []int // index of each op's first event
	o.Log = func(w *shadow.World, op string) {
		log.ops, at = append(log.ops, op), append(at, len(w.Trace.Events))
	}
	r, err := Run(s, o)
	if err != nil {
		t.Fatal(err)
	}
	log.params, log.trained = r.Params, r.Trainable
	op := -1
	for i, e := range r.World.Trace.Events {
		for op+1 < len(at) && at[op+1] <= i {
			op++
		}
		if e.Kind == stream.Mark || r.World.Tags[e.ID].Component == shadow.Workspace {
			continue
		}
		log.events = append(log.events, peftEvent{op: op, id: int(e.ID), size: e.Size, freed: e.Kind == stream.Free})
	}
	return log
}

// blocks returns the events from the first norm to the end of backward, except for tensors that live only within
// their op.
func (l peftLog) blocks() (out []moment) {
	forward := l.find(0, "# forward")
	from := min(l.find(forward, "native_layer_norm"), l.find(forward, "pow"), l.find(forward, "rms_norm"))
	to := l.find(forward, "# backward done")
	born, brief := map[int]peftEvent{}, map[int]bool{}
	for _, e := range l.events {
		if e.freed {
			brief[e.id] = born[e.id].op == e.op
		} else {
			born[e.id] = e
		}
	}
	var freed []uint64
	for _, e := range l.events {
		old := born[e.id]
		switch {
		case old.op < from || e.op >= to || brief[e.id]:
		case old.size == 2: // a number to fill masks with, on the host
		case old.size == 8: // a random generator counter, which attention on the CPU does not use
		case e.freed:
			freed = append(freed, old.size)
		default:
			out = append(out, moment{op: l.ops[e.op], size: e.size, freed: sorted(freed)})
			freed = nil
		}
	}
	return out
}

// find returns the index of the first op at or after from that contains the text, or the end.
func (l peftLog) find(from int, text string) int {
	for i := from; i < len(l.ops); i++ {
		if strings.Contains(l.ops[i], text) {
			return i
		}
	}
	return len(l.ops)
}

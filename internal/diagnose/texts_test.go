// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestTexts reads the texts in testdata/texts: all figures must be right, unlisted ones must be 0, and the verdict
// and the line must match.
func TestTexts(t *testing.T) {
	books, err := filepath.Glob("testdata/texts/*.txtar")
	if err != nil || len(books) == 0 {
		t.Fatalf("%d books, %v", len(books), err)
	}
	n := 0
	for _, book := range books {
		a, err := txtar.ParseFile(book)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(a.Files); i += 2 {
			n++
			t.Run(strings.TrimSuffix(a.Files[i].Name, ".log"), func(t *testing.T) {
				checkText(t, string(a.Files[i].Data), string(a.Files[i+1].Data))
			})
		}
	}
	if n < 60 {
		t.Errorf("%d texts, want at least 60", n)
	}
}

// wanted is the content of a .want file.
type wanted struct {
	message        Message
	verdict, where string
	messages       int // 0 for any number
}

func checkText(t *testing.T, text, wantText string) {
	t.Helper()
	want := readWanted(t, wantText)
	log, err := ReadLog(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(log.Messages) == 0 || want.messages > 0 && len(log.Messages) != want.messages {
		t.Fatalf("%d messages, want %d", len(log.Messages), want.messages)
	}
	v := Judge(Evidence{Log: log})
	if diff := cmp.Diff(want.message, *v.Message, cmpopts.IgnoreFields(Message{}, "Line", "Prefix"), cmpopts.IgnoreUnexported(Message{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if want.verdict != "any" && string(v.Code) != want.verdict {
		t.Errorf("verdict %s (%s), want %s", v.Code, v.Why, want.verdict)
	}
	if v.Where != want.where {
		t.Errorf("at %q, want %q", v.Where, want.where)
	}
}

func readWanted(t *testing.T, text string) wanted {
	t.Helper()
	w := wanted{message: Message{Form: Torch, Device: "CUDA", GPU: -1}}
	m := &w.message
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "form":
			m.Form, m.Device = Form(value), ""
		case "device":
			m.Device = value
		case "gpu":
			m.GPU, _ = strconv.Atoi(value)
		case "impossible":
			m.Impossible = true
		case "verdict":
			w.verdict = value
		case "where":
			w.where = value
		case "messages":
			w.messages, _ = strconv.Atoi(value)
		case "reserved":
			m.Unallocated = sizeOf(t, value) - m.Allocated
		default:
			figure := map[string]*uint64{"tried": &m.Tried, "total": &m.Total, "free": &m.Free, "process": &m.Process, "others": &m.Others,
				"allocated": &m.Allocated, "unallocated": &m.Unallocated, "private": &m.Private, "limit": &m.Limit}[key]
			if figure == nil {
				t.Fatalf("no figure is called %q", key)
			}
			*figure = sizeOf(t, value)
		}
	}
	return w
}

// sizeOf parses "20.00 MiB" independently of the code under test; sizes joined with a plus are added.
func sizeOf(t *testing.T, text string) uint64 {
	t.Helper()
	if first, rest, ok := strings.Cut(text, " + "); ok {
		return sizeOf(t, first) + sizeOf(t, rest)
	}
	number, unit, _ := strings.Cut(text, " ")
	v, err := strconv.ParseFloat(number, 64)
	scale := map[string]float64{"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]
	if err != nil || scale == 0 {
		t.Fatalf("%q is not a size", text)
	}
	return uint64(v * scale)
}

// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/setup"
)

// TestNewSnugFile checks that the new snug.yaml can be read and changes nothing: the same setup, and the
// same edits for the same settings.
func TestNewSnugFile(t *testing.T) {
	names, err := filepath.Glob("testdata/adapters/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			c := parseCase(ar)
			if c.files[projects.SnugFile] != nil {
				t.Skip("has one of its own")
			}
			before := c.run(t)
			p, err := Open(c.files, ".", c.main...)
			if err != nil {
				t.Fatal(err)
			}
			text := NewSnugFile(p)
			for line := range strings.Lines(string(text)) {
				line = strings.TrimSuffix(line, "\n")
				if n := utf8.RuneCountInString(line); n > pageWidth && (strings.Contains(line, "  # ") || !strings.Contains(line, "#")) {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			with := *c
			with.main = nil
			with.files = maps.Clone(c.files)
			with.files[projects.SnugFile] = &fstest.MapFile{Data: text}
			after := with.run(t)
			for _, part := range []string{"setup", "error"} {
				if diff := cmp.Diff(before[part], after[part]); diff != "" {
					t.Errorf("%s: -without +with:\n%s\n%s", part, diff, text)
				}
			}
			if diff := cmp.Diff(sortedLines(before["diff"]), sortedLines(after["diff"])); diff != "" {
				t.Errorf("diff: -without +with:\n%s\n%s", diff, text)
			}
		})
	}
}

func sortedLines(text string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(text) {
		out[line] = true
	}
	return out
}

func TestEmptySnugFile(t *testing.T) {
	own, err := projects.ParseSnugFile(NewSnugFile(nil))
	if err != nil || len(own.Bind) != 0 || own.Model != nil {
		t.Errorf("%+v %v", own, err)
	}
}

func TestWriteComments(t *testing.T) {
	long := "  accumulation: training/configs/pretrain_512m_low_memory.yaml#gradient_accumulation_steps"
	var b bytes.Buffer
	writeComments(&b, []bindingLine{
		{"  batch: a.yaml#batch", "2", "hf"},
		{"  precision:", "", ""},
		{"    - a.yaml#precision", "\"sechzehn größer\"", ""},
		{"  model: conf/model/encoder/kernel/fast.yaml#model", strings.Repeat("m", 40), "hf"},
		{"  workers: conf/model/encoder/kernel/fast.yaml#dataloader_workers", "4", "llama-factory"},
		{long, "32", "hf"},
	})
	want := `  batch: a.yaml#batch                               # 2 (hf)
  precision:
    - a.yaml#precision                              # "sechzehn größer"
  model: conf/model/encoder/kernel/fast.yaml#model  # mmmmmmmmmmmmmmmmmmmmmm ...
  workers: conf/model/encoder/kernel/fast.yaml#dataloader_workers  # 4
  # now: 32 (hf)
` + long + "\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSnugFileAlone checks that every setting works in a snug.yaml that describes the run by itself.
func TestSnugFileAlone(t *testing.T) {
	if p, err := Open(fstest.MapFS{projects.SnugFile: {Data: []byte("command: python train.py\n")}}, "."); err == nil {
		t.Errorf("a command alone describes a run: %v", p.Fields())
	}
	for _, s := range systems.Settings() {
		value := map[systems.Kind]string{
			systems.Whole: fmt.Sprint(max(s.Least, 4)), systems.Number: "0.5", systems.Switch: "true", systems.Name: "gpt2", systems.Names: "[q_proj]",
		}[s.Kind]
		if s.Kind == systems.Word {
			value = s.Words[len(s.Words)-1]
		}
		text := fmt.Sprintf("model: {name: gpt2}\nset: {%s: %s}\n", s.Name, value)
		p, err := Open(fstest.MapFS{projects.SnugFile: {Data: []byte(text)}}, ".")
		if err != nil {
			t.Errorf("%s%v", text, err)
			continue
		}
		if got := p.Origin(); got != projects.SnugFile {
			t.Errorf("the settings are reported to be from %q", got)
		}
		p.Missing()
		p.Warnings(p.Fields())
		p.Locks()
		_, err = p.Change(setup.Values{{Setting: "batch", Value: 7}})
		if err == nil || !strings.Contains(err.Error(), "batch") {
			t.Errorf("with %s the batch can be changed, but there is no file to change: %v", s.Name, err)
		}
	}
}

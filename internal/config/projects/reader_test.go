// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// allocated returns how many bytes f allocates, whether freed or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// bounded runs f and checks that it ends and allocates at most this many bytes.
func bounded(t *testing.T, most int, f func()) {
	t.Helper()
	watch := time.AfterFunc(30*time.Second, func() { panic("takes forever") }) // usually takes a thousandth of that
	defer watch.Stop()
	if took := allocated(f); took > uint64(most) {
		t.Errorf("takes %d MiB, at most %d", took>>20, most>>20)
	}
}

// text returns a file of this many bytes without any settings.
func text(head string, size int) string {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "key_%d: value %d\n", i, i)
	}
	return b.String()
}

func mapFS(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// In a folder with many large files, the small ones are read, and a note reports how many were not.
func TestSearchHasAnEnd(t *testing.T) {
	files := map[string]string{"conf/train.yaml": "batch_size: 4\nlr: 0.1\n"}
	for i := range 100 {
		files[fmt.Sprintf("conf/a%03d.yaml", i)] = text("", 220_000)
	}
	bounded(t, 1500<<20, func() {
		p, err := Find(mapFS(files), ".")
		if err != nil {
			t.Fatal(err)
		}
		if main, _ := p.Main(); main != "conf/train.yaml" || p.BindingsOf("batch")[0].Value != 4 {
			t.Errorf("the main file is %s, with a batch of %v", main, p.BindingsOf("batch")[0].Value)
		}
		const want = "the 62 largest of the 101 possible configs here were not read: snug reads at most 8 MiB or 200000 values; if you need one of them, name it: --config-path FILE"
		if len(p.Notes) != 1 || p.Notes[0] != want {
			t.Errorf("notes are %q", p.Notes)
		}
		if p.Unsearched != want {
			t.Errorf("the note on unread files is %q", p.Unsearched)
		}
	})
}

// Values that may belong to the run are kept up to a limit; files beyond it are reported.
func TestSearchKeepsSoMuch(t *testing.T) {
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("c%02d.yaml", i)] = text("batch_size: 4\n", 200_000)
	}
	_, err := Find(mapFS(files), ".")
	if err == nil || !strings.Contains(err.Error(), "there are several configs here") || !strings.Contains(err.Error(), "of the 40 possible configs here were not read") {
		t.Errorf("got %v", err)
	}
}

func TestLargeFiles(t *testing.T) {
	files := mapFS(map[string]string{
		"large.yaml": text("batch_size: 4\n", largestNamed+1),
		"dense.json": `{"batch_size": 4, "x": [` + strings.Repeat("1,", 250_000) + "1]}",
		"run.yaml":   "per_device_train_batch_size: 4\nlearning_rate: 1e-4\noutput_dir: out\ndeepspeed: ds.json\n",
		"ds.json":    `{"x": "` + strings.Repeat("x", largestFile) + `"}`,
	})
	for name, want := range map[string]string{
		"large.yaml": "reading large.yaml: larger than 4 MiB",
		"dense.json": "reading dense.json: more than 200000 lines and commas",
		"run.yaml":   "reading ds.json: larger than 1 MiB",
	} {
		bounded(t, 64<<20, func() {
			if _, err := Find(files, ".", name); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		})
	}
}

// Many candidates for one setting take no longer to read than named keys.
func TestManyCandidates(t *testing.T) {
	var b strings.Builder
	for i := range 8_000 {
		fmt.Fprintf(&b, "k%d:\n  batch_size: 1\n  precision: bf16\n", i)
	}
	bounded(t, 1<<30, func() {
		_, err := Find(mapFS(map[string]string{"config.yaml": b.String()}), ".")
		if err == nil || !strings.Contains(err.Error(), "this could be k0.batch_size or k1.batch_size (line 5)") || len(err.Error()) > 500 {
			t.Errorf("got %v", err)
		}
	})
}

// A file that is too large to be read is reported with the limit.
func TestLargeFilesFound(t *testing.T) {
	large := text("batch_size: 4\n", largestFile+1)
	const why = ": larger than 1 MiB, too large for a config; if it is one, name it: --config-path FILE"
	_, err := Find(mapFS(map[string]string{"data.yaml": large, "train.yaml": large, "samples.json": large, "package.json": large, "notes.txt": large}), ".")
	if want := "no training config found in .; skipped: train.yaml, data.yaml" + why; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	p, err := Find(mapFS(map[string]string{"a.yaml": large, "b.yaml": "batch_size: 2\n", "data/c.yaml": large}), ".")
	if err != nil {
		t.Fatal(err)
	}
	if want := "skipped: a.yaml" + why; !slices.Contains(p.Notes, want) {
		t.Errorf("notes are %q, without %q", p.Notes, want)
	}
}

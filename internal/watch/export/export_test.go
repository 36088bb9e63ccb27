// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/watch"
)

// play sends a recording of a real run to sinks, up to a time.
func play(t *testing.T, name string, until float64, sinks ...Sink) *watch.Watcher {
	t.Helper()
	f, err := os.Open(filepath.Join("../../../testdata/watch", name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := watch.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	w := watch.New(watch.Options{})
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) || e.T > until {
			return w
		}
		if err != nil {
			t.Fatal(err)
		}
		_, changed := w.Add(e)
		for _, s := range sinks {
			if err := s.Event(e, w, changed); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// file is an in-memory file whose disk is full for a while.
type file struct {
	bytes.Buffer
	writes, fullFrom, fullTo int // writes that fail
	part                     int // bytes written by the first write that fails
}

func (f *file) Write(p []byte) (int, error) {
	f.writes++
	if f.writes >= f.fullFrom && f.writes < f.fullTo {
		n := min(f.part, len(p))
		f.Buffer.Write(p[:n])
		f.part = 0
		return n, syscall.ENOSPC
	}
	return f.Buffer.Write(p)
}

func (f *file) Close() error { return nil }

// TestRecordOnAFullDisk runs out of room for some lines, the first of which is partly written: there is one warning,
// and the rest of the recording can be read.
func TestRecordOnAFullDisk(t *testing.T) {
	for _, part := range []int{0, 7} {
		var said []string
		f := &file{fullFrom: 20, fullTo: 30, part: part}
		play(t, "good", 6, &Record{Out: f, Name: "run.jsonl", Warn: func(s string) { said = append(said, s) }})
		want := []string{"writing run.jsonl: no space left on device; watching continues, and missing lines are counted", "run.jsonl can be written again"}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Error(diff)
		}
		lines := strings.Split(strings.TrimSpace(f.String()), "\n")
		broken, noted := 0, false
		for _, l := range lines {
			var e watch.Event
			if json.Unmarshal([]byte(l), &e) != nil {
				broken++
			}
			noted = noted || e.Message == "10 lines could not be written"
		}
		if broken > 1 || broken == 1 && part == 0 || !noted {
			t.Errorf("%d broken lines, noted: %v", broken, noted)
		}
	}
}

// TestRecordIsWhatWasRead checks that recording the events of a recording writes the same lines.
func TestRecordIsWhatWasRead(t *testing.T) {
	f := &file{}
	play(t, "evaluates", 8, &Record{Out: f, Warn: func(s string) { t.Error(s) }})
	for line := range strings.Lines(f.String()) {
		var e watch.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if string(again)+"\n" != line {
			t.Fatalf("%s became %s", line, again)
		}
	}
}

// TestEventFileOnAFullDisk checks that nothing follows a record that was partly written, because it could not be read.
func TestEventFileOnAFullDisk(t *testing.T) {
	said := 0
	f := &file{fullFrom: 20, fullTo: 30, part: 7}
	play(t, "good", 6, &TensorBoard{Out: f, Start: 1.7e9, Warn: func(string) { said++ }})
	if said != 1 || f.writes != 20 {
		t.Errorf("%d warnings, %d records written or tried", said, f.writes)
	}
}

// TestEventFile reads the frames of a TensorBoard file back. CI also uses TensorBoard's own reader.
func TestEventFile(t *testing.T) {
	f := &file{}
	play(t, "leak_slow", 8, &TensorBoard{Out: f, Start: 1.7e9, Warn: func(s string) { t.Error(s) }})
	rest := f.Bytes()
	records, scalars := 0, 0
	for len(rest) > 0 {
		length := binary.LittleEndian.Uint64(rest)
		if got, want := binary.LittleEndian.Uint32(rest[8:]), unmasked(rest[:8]); got != want {
			t.Fatalf("record %d: the length's checksum is %x, want %x", records, got, want)
		}
		data := rest[12 : 12+length]
		if got, want := binary.LittleEndian.Uint32(rest[12+length:]), unmasked(data); got != want {
			t.Fatalf("record %d: the data's checksum is %x, want %x", records, got, want)
		}
		if wall := math.Float64frombits(binary.LittleEndian.Uint64(data[1:])); data[0] != 1<<3|1 || wall < 1.7e9 || wall > 1.7e9+8 {
			t.Errorf("record %d: written at %g", records, wall)
		}
		scalars += bytes.Count(data, []byte("snug/"))
		rest = rest[16+length:]
		records++
	}
	if records < 300 || scalars < 2000 {
		t.Errorf("%d records, %d scalars", records, scalars)
	}
}

// unmasked computes the masked CRC as TensorFlow's documentation describes it.
func unmasked(data []byte) uint32 {
	crc := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return ((crc >> 15) | (crc << 17)) + 0xa282ead8
}

func TestPrometheus(t *testing.T) {
	p := &Prometheus{Addr: "localhost:0"}
	if err := p.Listen(); err != nil {
		t.Fatal(err)
	}
	w := play(t, "leak_slow", 15, p)
	defer func() {
		if err := p.Close(w); err != nil {
			t.Error(err)
		}
	}()
	p.view = w.View()
	answer, err := http.Get("http://" + p.Address() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`snug_gpu_memory_used_bytes{gpu="0",name="",uuid=""} `,
		`snug_gpu_utilization_ratio{gpu="0",name="",uuid=""} 1`,
		`snug_state{pid="866",state="leaking"} 1`,
		`snug_state{pid="866",state="good"} 0`,
		`snug_training_steps_total{pid="866"} 9`,
		`snug_oom_forecast_steps{bound="middle",pid="866"} 9`,
		`# TYPE snug_training_steps_total counter`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// TestProcessMetrics checks what is exported about processes on a card.
func TestProcessMetrics(t *testing.T) {
	w, own := watch.New(watch.Options{}), 35.0
	w.Add(watch.Event{Kind: watch.KindGPU, GPU: watch.GPU{Index: 1, Used: 9 << 30, Total: 80 << 30, Procs: []watch.Process{{PID: 7, Used: 1024, Name: "python3", Util: &own}, {PID: 8, Used: 2048}}}})
	p := &Prometheus{Addr: "localhost:0", view: w.View()}
	if err := p.Listen(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close(w) }()
	answer, err := http.Get("http://" + p.Address() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "snug_process_") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{
		`snug_process_gpu_memory_bytes{gpu="1",pid="7",process="python3"} 1024`, `snug_process_gpu_memory_bytes{gpu="1",pid="8",process=""} 2048`,
		`snug_process_gpu_utilization_ratio{gpu="1",pid="7",process="python3"} 0.35`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPrometheusAddressInUse(t *testing.T) {
	p := &Prometheus{Addr: "localhost:0"}
	if err := p.Listen(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.server.Close() }()
	err := (&Prometheus{Addr: p.Address()}).Listen()
	if err == nil || !strings.Contains(err.Error(), "choose another address") {
		t.Errorf("got %v", err)
	}
}

func TestSpans(t *testing.T) {
	for seconds, want := range map[float64]string{0: "0 s", 119: "119 s", 600: "10 min", 7200: "2.0 h", 86400 * 3: "3.0 days"} {
		if got := Span(seconds); got != want {
			t.Errorf("Span(%g) = %s, want %s", seconds, got, want)
		}
	}
	for seconds, want := range map[float64]string{0: "0:00", 61: "1:01", 3723: "1:02:03", -5: "0:00"} {
		if got := Clock(seconds); got != want {
			t.Errorf("Clock(%g) = %s, want %s", seconds, got, want)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package config

import (
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
)

// large lists one-file projects, each a line repeated many times after the text in before.
var large = []struct{ name, file, before, line string }{
	{"names", "train.py", "batch_size = 8\n", "name_%d = 1\n"},
	{"functions", "train.py", "batch_size = 8\n", "def f_%d(a):\n    x = 1\n    y = dict(a=1, b='c')\n"},
	{"a batch in each function", "train.py", "micro_batch_size = 8\n", "def f_%d(a):\n    batch_size = 8\n"},
	{"an optimizer in each function", "train.py", "batch_size = 8\n", "def f_%d(a):\n    optimizer = 'adamw'\n"},
	{"a switch in each call", "train.py", "batch_size = 8\n", "a_%d = f(bf16=True)\n"},
	{"uses of one batch", "train.py", "n = 8\n", "def f_%d(a):\n    batch_size = n\n"},
	{"arguments", "train.py", "args = TrainingArguments(per_device_train_batch_size=4)\n", "a_%d = TrainingArguments(optim='sgd', bf16=x)\n"},
	{"models", "train.py", "args = TrainingArguments(per_device_train_batch_size=4)\n", "m = PeftModel.from_pretrained(name)\n"},
	{"options", "train.py", "batch_size = 8\n", "p.add_argument('--a%d', default=1)\n"},
	{"flags", "train.sh", "python train.py --batch_size 8 \\\n", "  --flag_%d 1 \\\n"},
	{"a switch in each command", "train.sh", "python train.py --batch_size 8\n", "python a_%d.py --bf16 true --optim sgd\n"},
	{"uses of one variable", "train.sh", "A=1\npython train.py --batch_size 8 \\\n", "  --flag_%d $A \\\n"},
	{"keys of TOML", "train.toml", "batch_size = 8\n", "key_%d = 1\n"},
	{"tables of TOML", "train.toml", "batch_size = 8\n", "[t_%d]\nprecision = 'bf16'\n"},
	{"keys that are misspelled", "train.yaml", "per_device_train_batch_size: 8\noutput_dir: x\n", "gradient_acumulation_steps_%d: 1\n"},
	{"keys of JSON", "ds.json", "{\"train_micro_batch_size_per_gpu\": 8, \"zero_optimization\": {\"stage\": 2},\n", "\"key_%d\": [1, {\"a\": 2}],\n"},
}

// TestReadingAProjectIsLinear checks that reading sixteen times as many lines takes at most 36 times the
// bytes and 60 times the time; a quadratic reader would take 256 times. It tries a few times, in case the
// machine is busy.
func TestReadingAProjectIsLinear(t *testing.T) {
	const few, many = 200, 3200
	for _, c := range large {
		t.Run(c.name, func(t *testing.T) {
			end := ""
			if c.file == "ds.json" {
				end = "}"
			}
			var small, large work
			for range 3 {
				small = workOf(t, c.file, c.before+repeated(c.line, few)+end)
				large = workOf(t, c.file, c.before+repeated(c.line, many)+end)
				if large.bytes <= 36*small.bytes && large.time <= 60*small.time {
					return
				}
			}
			t.Errorf("%d lines take %d bytes and %v, %d of them %d bytes and %v", few, small.bytes, small.time, many, large.bytes, large.time)
		})
	}
}

// work is the cost of reading a project.
type work struct {
	bytes uint64
	time  time.Duration
}

// workOf returns the lowest cost of a few tries.
func workOf(t *testing.T, file, text string) work {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	files := fstest.MapFS{file: &fstest.MapFile{Data: []byte(text)}}
	least := work{1 << 62, 1 << 62}
	for range 2 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		begin := used(t)
		p, err := Open(files, ".", file)
		if err != nil {
			t.Fatal(err)
		}
		p.Missing()
		p.Warnings(p.Fields())
		took := used(t) - begin
		runtime.ReadMemStats(&after)
		least = work{min(least.bytes, after.TotalAlloc-before.TotalAlloc), min(least.time, took)}
	}
	return least
}

// used returns the processor time of this process, which hardly depends on other processes.
func used(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

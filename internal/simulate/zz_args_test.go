package simulate

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestArgs(t *testing.T) {
	for _, line := range strings.Split(os.Getenv("ARGS"), ";") {
		p := program{ID: "x", Program: "trainer/train.py"}
		if s := os.Getenv("PROGRAM"); s != "" {
			p.Program = s
		}
		base := "--config_name models/gpt2-2l --block_size 256 --per_device_train_batch_size 2 --output_dir out --report_to none --save_strategy no --max_steps 6 --logging_steps 2 "
		if strings.Contains(line, "--config_name") {
			base = ""
		}
		for _, a := range strings.Fields(base + line) {
			p.Args = append(p.Args, a)
		}
		s := p.setup(t)
		start := time.Now()
		res, err := Run(s, Options{})
		if err != nil {
			fmt.Println(line, err)
			continue
		}
		took := time.Since(start)
		r := played(t, res)
		fmt.Println(line, "allocated", r.PeakAllocated, "reserved", r.PeakReserved, "events", len(res.World.Trace.Events), took.Round(time.Millisecond), strings.Join(s.Script.Notes(), "\n   "))
	}
}

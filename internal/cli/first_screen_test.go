// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cli

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFirstScreen checks that the verdict is still visible on a terminal of 24 rows when the prompt returns,
// and that omitted sections are mentioned.
func TestFirstScreen(t *testing.T) {
	for _, command := range []string{
		"snug estimate llama-3.2-1b --batch 4 --seq 2048 --precision amp-bf16 --gpu H200",
		"snug estimate llama-3.1-8b --batch 1 --seq 4096 --precision bf16 --lora-rank 16 --gpu RTX-4090",
		"snug estimate gpt2 --batch 8 --seq 1024",
		"snug estimate gpt2 --batch 8 --gpu L4 --lengths uniform:64-256 --steps 40",
		"snug optimize gpt2 --batch 8 --seq 1024 --gpu RTX-3090",
		"snug optimize gpt2 --batch 4 --seq 64 --gpu all",
		"snug optimize llama-3.1-8b --batch 1 --seq 4096 --precision bf16 --lora-rank 16 --gpu RTX-4090",
	} {
		c := newConsole(t, "")
		if err := unix.IoctlSetWinsize(int(c.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
			t.Fatal(err)
		}
		c.types(command + "\n")
		c.sees(command)
		c.sees("--explain shows the")
		c.sees("\r\n$ ")
		_, answer, _ := strings.Cut(c.screen(), command+"\r\n")
		if rows := strings.Count(answer, "\n") + 1; rows > 24 {
			t.Errorf("%s: %d rows\n%s", command, rows, answer)
		}
	}
}

// TestRestIsNotShown checks that the line about omitted sections does not name the ladder if the ladder is shown.
func TestRestIsNotShown(t *testing.T) {
	command := "snug optimize gpt2 --batch 8 --seq 1024 --gpu RTX-3090"
	c := newConsole(t, "")
	if err := unix.IoctlSetWinsize(int(c.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 34, Col: 80}); err != nil {
		t.Fatal(err)
	}
	c.types(command + "\n")
	c.sees(command)
	c.sees("  ladder ")
	c.sees("--explain shows the rest")
	c.sees("\r\n$ ")
	if _, rest, _ := strings.Cut(c.screen(), "shows the rest"); strings.Contains(rest, "ladder") {
		t.Errorf("the rest has a ladder: %q", rest)
	}
}

// screen returns the terminal's output.
func (c *console) screen() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown.String()[:c.seen]
}

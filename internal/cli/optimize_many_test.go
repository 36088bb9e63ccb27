// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
)

// manyLines is a file of setups that are generated as they are read. It also counts the answers written, to
// show how far ahead the file is read.
type manyLines struct {
	n              int
	limit          string
	read, answered atomic.Int64
	most           int64
	rest           []byte
	out            bytes.Buffer
}

func (m *manyLines) Read(p []byte) (int, error) {
	if len(m.rest) == 0 {
		i := m.read.Load()
		if int(i) == m.n {
			return 0, io.EOF
		}
		m.rest = fmt.Appendf(nil, `{"id":"s%d","model":{"name":"gpt2"},"batch":2,"seq":64%s}`+"\n", i, m.limit)
		m.most = max(m.most, m.read.Add(1)-m.answered.Load())
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func (m *manyLines) Write(p []byte) (int, error) {
	m.answered.Add(int64(bytes.Count(p, []byte("\n"))))
	return m.out.Write(p)
}

// Setups are planned in order as they are read, whether or not a card is named. To find out whether every
// setup has a limit, the file must be read first.
func TestOptimizeAsItReads(t *testing.T) {
	const n = 5000
	for _, x := range []struct {
		args, limit string
		ahead       int64
	}{
		{"--gpu A100-80GB", "", 200},
		{"--gpu A100-80GB", `,"limit":"3GiB"`, 200},
		{"", `,"limit":"3GiB"`, n},
	} {
		m := &manyLines{n: n, limit: x.limit}
		env := Env{Stdin: m, Stdout: m, Stderr: io.Discard, Getenv: func(string) string { return "" }}
		args := strings.Fields("optimize --setup - --json --lock nosuch " + x.args) // refused immediately
		if code := Run(context.Background(), env, args); code != 1 {
			t.Errorf("%s: exit %d", x.args, code)
		}
		lines := strings.Split(strings.TrimSpace(m.out.String()), "\n")
		for i, line := range lines {
			if !strings.HasPrefix(line, fmt.Sprintf(`{"id":"s%d",`, i)) {
				t.Fatalf("%s: answer %d is %s", x.args, i, line)
			}
		}
		if len(lines) != n || m.most > x.ahead {
			t.Errorf("%s: %d answers, and %d setups read ahead of them, want at most %d", x.args, len(lines), m.most, x.ahead)
		}
	}
}

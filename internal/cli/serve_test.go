// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// served starts snug serve and returns the address that it prints.
func served(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	done := make(chan int)
	env := Env{
		Stdout: in, Stderr: io.Discard, Getenv: func(string) string { return "" },
		Listen: func(string) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
	}
	go func() { done <- Run(ctx, env, append([]string{"serve"}, args...)) }()
	t.Cleanup(func() {
		stop()
		if code := <-done; code != exitDone {
			t.Errorf("snug serve ended with %d", code)
		}
	})
	text := make([]byte, 4096)
	n, err := out.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	first, _, _ := strings.Cut(string(text[:n]), "\n")
	return first
}

func TestServe(t *testing.T) {
	plain, open, named := served(t), served(t, "--address", ":0"), served(t, "--address", "0.0.0.0:0", "--token", "mine")
	for name, c := range map[string]struct {
		address string
		status  int
	}{
		"on this machine":             {plain, http.StatusOK},
		"with a token of its own":     {open, http.StatusOK},
		"without it":                  {strings.Split(open, "?")[0], http.StatusUnauthorized},
		"with the token of the flag":  {named, http.StatusOK},
		"with another, which is none": {strings.Replace(named, "mine", "yours", 1), http.StatusUnauthorized},
	} {
		answer, err := http.Get(c.address)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status {
			t.Errorf("%s, %s: status %d, want %d", name, c.address, answer.StatusCode, c.status)
		}
	}
	if !strings.HasSuffix(named, "?token=mine") {
		t.Errorf("the address is %s", named)
	}
}

func TestServeRefuses(t *testing.T) {
	for _, c := range []struct{ address, says string }{{"7684", "write host:port"}, {"127.0.0.1:1", "choose another port"}} {
		var said strings.Builder
		env := Env{Stdout: io.Discard, Stderr: &said, Getenv: func(string) string { return "" }, Listen: func(string) (net.Listener, error) { return nil, errors.New("in use") }}
		if code := Run(context.Background(), env, []string{"serve", "--address", c.address}); code != exitFailed || !strings.Contains(said.String(), c.says) {
			t.Errorf("--address %s: exit %d, %s", c.address, code, said.String())
		}
	}
}

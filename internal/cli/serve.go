// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"snug/internal/gpu"
	"snug/internal/store"
	"snug/internal/watch"
	"snug/internal/watch/live"
	"snug/internal/web"
)

type serveOptions struct {
	address string
	token   string
	watch   []string
}

const serveLong = `Serve a web page on this machine: the planner with a control for every setting,
one step over time, memory against batch size, all cards compared, a viewer for
memory snapshots, and live views of snug watch and snug tune. The page is built
into snug and works offline. The same answers are available as JSON;
/api/v1/openapi.json describes the API.

Only this machine can connect, unless --address names another interface. Then
every request needs a token: the one given with --token, or a new one, which is
part of the printed address. --watch names a recording to show live while snug
watch --record writes it. Requests cannot read other files; uploads stay in
memory.`

func newServe(env Env) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Serve the planner and the snapshot viewer as a local page",
		Long:    serveLong,
		Example: "  snug serve\n  snug serve --address :8080 --token \"$SECRET\"\n  snug serve --watch run.jsonl",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), env, o) },
	}
	cmd.Flags().StringVar(&o.address, "address", "127.0.0.1:7684", "`host:port` to listen on; port 0 is any free port")
	cmd.Flags().StringVar(&o.token, "token", "", "`token` that every request must have")
	cmd.Flags().StringArrayVar(&o.watch, "watch", nil, "show this `recording` live, even while snug watch --record writes it; may be repeated")
	return cmd
}

// runServe serves until the context ends or a signal arrives.
func runServe(ctx context.Context, env Env, o serveOptions) error {
	host, _, err := net.SplitHostPort(o.address)
	if err != nil {
		return fmt.Errorf("--address %q is not an address; write host:port, such as 127.0.0.1:7684", o.address)
	}
	if env.Listen == nil {
		return errors.New("this build of snug cannot open ports")
	}
	listener, err := env.Listen(o.address)
	if err != nil {
		return fmt.Errorf("--address %s: %w; choose another port, or 0 for any free one", o.address, err)
	}
	if !isLoopback(host) && o.token == "" {
		o.token = rand.Text()
	}
	server := &http.Server{
		Handler: web.New(web.Options{
			Version: env.Build.Version, Here: env.cardHere(ctx), Hosts: hostsOf(host), Token: o.token, Work: env.CPUs,
			Live: env.live(o.watch), Replay: live.Replay, Tunes: env.tunes,
		}),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if env.OnLongRun != nil {
		env.OnLongRun()
	}
	fmt.Fprintf(env.Stdout, "%s\nPress Ctrl-C to stop.\n", address(listener, host, o.token))
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// address returns the URL to open in a browser.
func address(l net.Listener, host, token string) string {
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return l.Addr().String()
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	out := "http://" + net.JoinHostPort(host, port) + "/"
	if token != "" {
		out += "?token=" + token
	}
	return out
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// hostsOf returns the host names that requests to the server may use. A server that listens on every interface has
// the names and addresses of this machine.
func hostsOf(host string) []string {
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return []string{strings.ToLower(host)}
	}
	var out []string
	if name, err := os.Hostname(); err == nil {
		out = append(out, strings.ToLower(name))
	}
	addresses, _ := net.InterfaceAddrs() // on error, only the host name is used
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok {
			out = append(out, n.IP.String())
		}
	}
	return out
}

// cardHere returns the card of this machine; nil if there is none.
func (e Env) cardHere(ctx context.Context) *gpu.Card {
	visible := e.machine(ctx).Visible()
	if len(visible) == 0 {
		return nil
	}
	return &visible[0].Card
}

// live lists what the page can watch: the --watch recordings, then this machine's GPUs.
func (e Env) live(recordings []string) []web.Live {
	var out []web.Live
	for i, path := range recordings {
		out = append(out, web.Live{ID: fmt.Sprintf("file-%d", i+1), Name: path, Run: func(ctx context.Context, _ float64, emit func(watch.Event)) error {
			err := live.Follow(ctx, func() (io.ReadCloser, error) { return e.Open(path) }, emit)
			switch {
			case errors.Is(err, live.ErrReplaced):
				return web.ErrAgain
			case err != nil:
				return fmt.Errorf("reading %s: %w", path, reason(err))
			}
			return nil
		}})
	}
	if len(e.Samplers) > 0 {
		out = append(out, web.Live{ID: "gpus", Name: "this machine's GPUs", Run: func(ctx context.Context, _ float64, emit func(watch.Event)) error {
			return live.Run(ctx, live.Config{Sources: e.Samplers, Interval: time.Second}, emit)
		}})
	}
	return out
}

// tunes returns the snug tune reports in this machine's store.
func (e Env) tunes() ([]web.Tune, error) {
	list, err := fromStore(e, (*store.Store).Tunes)
	var out []web.Tune
	for _, t := range list {
		out = append(out, web.Tune(t))
	}
	return out, err
}

// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"runtime"

	"snug/internal/setup"
)

// reply is the result of one request.
type reply[A any] struct {
	request
	answer A
	failed error // why this request has no answer
	broken error // why there are no further requests
}

// answer answers each setup with ask, several at a time, and prints the answers with show, in order. Until an
// answer is ready, a terminal shows the status. A failed setup does not stop the others; failed is the number of
// failed setups.
func answer[A any](env Env, json bool, status func() string, rs requests, ask func(*setup.Setup) (A, error), show func(A) error) (failed int, err error) {
	q := newQueue[A]()
	defer close(q.stop)
	go q.fill(rs, ask)
	var last error
	asked := 0
	for coming, ok := q.next(); ok; coming, ok = q.next() {
		got := waitFor(env, status, coming)
		switch {
		case got.broken != nil:
			return failed, got.broken
		case got.failed != nil:
			failed++
			last = errors.New(got.from.located(got.failed))
			got.complain(env, json, got.failed, asked > 0 || q.more())
		default:
			if err := show(got.answer); err != nil {
				return failed, err
			}
		}
		if asked++; asked == many && env.OnLongRun != nil {
			env.OnLongRun()
		}
	}
	return failed, verdict(failed, asked, last, json)
}

// waitFor waits for a reply, showing the status on a terminal meanwhile.
func waitFor[A any](env Env, status func() string, coming chan reply[A]) reply[A] {
	defer env.progress(status)()
	return <-coming
}

// simulating is the status of a command that answers by simulating.
func simulating() string { return "simulating" }

// many is the number of answers that shows that a command will take a long time.
const many = 100

// queue contains the pending replies, in the order of their requests. Its length is bounded, so a setup file
// is not read further ahead than needed.
type queue[A any] struct {
	coming chan chan reply[A]
	ahead  chan reply[A] // the next reply, if it was requested early
	stop   chan struct{} // closed when no more replies are wanted
}

func newQueue[A any]() *queue[A] {
	return &queue[A]{coming: make(chan chan reply[A], atOnce()), stop: make(chan struct{})}
}

// atOnce returns how many setups are answered at a time. Each takes a few megabytes.
func atOnce() int { return min(runtime.GOMAXPROCS(0), 16) }

// next returns the channel for the next reply, and false at the end.
func (q *queue[A]) next() (chan reply[A], bool) {
	if r := q.ahead; r != nil {
		q.ahead = nil
		return r, true
	}
	r, ok := <-q.coming
	return r, ok
}

// more reports whether there is another reply.
func (q *queue[A]) more() bool {
	r, ok := q.next()
	q.ahead = r
	return ok
}

// fill requests the replies, several at once.
func (q *queue[A]) fill(rs requests, ask func(*setup.Setup) (A, error)) {
	defer close(q.coming)
	slots := make(chan struct{}, atOnce())
	for r, err := range rs {
		to := make(chan reply[A], 1)
		select {
		case q.coming <- to:
		case <-q.stop:
			return
		}
		if err != nil {
			to <- reply[A]{broken: err}
			return
		}
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			out := reply[A]{request: r, failed: r.err}
			if r.err == nil {
				out.answer, out.failed = ask(r.setup)
			}
			to <- out
		}()
	}
}

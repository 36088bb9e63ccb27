// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"snug/internal/watch"
)

// Prometheus serves the latest state at /metrics, for a Prometheus server to scrape.
type Prometheus struct {
	Addr string // address to listen on: localhost:9835, or :9835 for all interfaces

	mu       sync.Mutex
	view     watch.View
	newest   time.Time
	events   float64
	server   *http.Server
	listener net.Listener
}

// Listen starts serving.
func (p *Prometheus) Listen() error {
	listener, err := net.Listen("tcp", p.Addr)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return fmt.Errorf("--prometheus %s: %w; choose another address", p.Addr, err)
	}
	p.listener = listener
	registry := prometheus.NewRegistry()
	registry.MustRegister(p)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "snug watch: see /metrics\n")
	})
	p.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.server.Serve(listener) }()
	return nil
}

// Address returns the endpoint's address.
func (p *Prometheus) Address() string { return p.listener.Addr().String() }

// minInterval is the shortest time between updates of the state: scrapes are seconds apart.
const minInterval = 200 * time.Millisecond

// Event updates the state that is served.
func (p *Prometheus) Event(_ watch.Event, w *watch.Watcher, changed bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events++
	if now := time.Now(); changed || now.Sub(p.newest) > minInterval {
		p.view, p.newest = w.View(), now
	}
	return nil
}

// Close stops the server.
func (p *Prometheus) Close(*watch.Watcher) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return p.server.Shutdown(ctx)
}

// metric is one metric with its labels.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func gauge(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("snug_"+name, help, labels, nil), prometheus.GaugeValue}
}

func counter(name, help string, labels ...string) metric {
	m := gauge(name, help, labels...)
	m.kind = prometheus.CounterValue
	return m
}

// metrics is the only table of exported metrics. Units are base units and part of the name.
var metrics = struct {
	used, total, util, power, powerLimit, temperature, throttled metric
	process, processUtil                                         metric
	allocated, reserved, peakAllocated, peakReserved, capacity   metric
	steps, stepSeconds, retries                                  metric
	state, stepsLeft, secondsLeft                                metric
	events                                                       metric
}{
	used:          gauge("gpu_memory_used_bytes", "Memory in use on the GPU.", "gpu", "uuid", "name"),
	total:         gauge("gpu_memory_total_bytes", "Total memory of the GPU, including the driver's own share.", "gpu", "uuid", "name"),
	util:          gauge("gpu_utilization_ratio", "Fraction of time during which a kernel was running, 0 to 1.", "gpu", "uuid", "name"),
	power:         gauge("gpu_power_watts", "Current power draw of the GPU.", "gpu", "uuid", "name"),
	powerLimit:    gauge("gpu_power_limit_watts", "Power limit of the GPU.", "gpu", "uuid", "name"),
	temperature:   gauge("gpu_temperature_celsius", "Temperature of the GPU.", "gpu", "uuid", "name"),
	throttled:     gauge("gpu_throttled", "1 while the GPU's clocks are lowered, by reason.", "gpu", "uuid", "reason"),
	process:       gauge("process_gpu_memory_bytes", "Memory that a process holds on the GPU, according to the driver.", "gpu", "pid", "process"),
	processUtil:   gauge("process_gpu_utilization_ratio", "Fraction of time during which a kernel of the process was running, 0 to 1.", "gpu", "pid", "process"),
	allocated:     gauge("training_allocated_bytes", "Memory in tensors at the end of the latest step.", "pid"),
	reserved:      gauge("training_reserved_bytes", "Memory that PyTorch has reserved.", "pid"),
	peakAllocated: gauge("training_peak_allocated_bytes", "Peak memory in tensors during the latest step.", "pid"),
	peakReserved:  gauge("training_peak_reserved_bytes", "Peak reserved memory during the latest step.", "pid"),
	capacity:      gauge("training_capacity_bytes", "Memory that PyTorch could reserve in this process.", "pid"),
	steps:         counter("training_steps_total", "Optimizer steps so far.", "pid"),
	stepSeconds:   gauge("training_step_seconds", "Typical time of a recent step.", "pid"),
	retries:       counter("training_alloc_retries_total", "Times the allocator flushed its cache to make room.", "pid"),
	state:         gauge("state", "1 for the state that a process is in, 0 for the others.", "pid", "state"),
	stepsLeft:     gauge("oom_forecast_steps", "Steps until memory runs out, if it is growing.", "pid", "bound"),
	secondsLeft:   gauge("oom_forecast_seconds", "Seconds until memory runs out, if it is growing.", "pid", "bound"),
	events:        counter("watch_events_total", "Samples and steps taken so far."),
}

// Describe lists the metrics.
func (p *Prometheus) Describe(to chan<- *prometheus.Desc) {
	m := metrics
	for _, x := range []metric{
		m.used, m.total, m.util, m.power, m.powerLimit, m.temperature, m.throttled, m.process, m.processUtil, m.allocated, m.reserved, m.peakAllocated,
		m.peakReserved, m.capacity, m.steps, m.stepSeconds, m.retries, m.state, m.stepsLeft, m.secondsLeft, m.events,
	} {
		to <- x.desc
	}
}

// Collect sends the latest values.
func (p *Prometheus) Collect(to chan<- prometheus.Metric) {
	p.mu.Lock()
	view, events := p.view, p.events
	p.mu.Unlock()
	put := func(m metric, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, value, labels...)
	}
	put(metrics.events, events)
	for _, c := range view.Cards {
		collectCard(c, put)
	}
	for _, x := range view.Processes {
		collectProcess(x, put)
	}
}

type putMetric func(m metric, value float64, labels ...string)

func collectCard(c watch.CardView, put putMetric) {
	if c.Silent {
		return // an old value must not look current
	}
	labels := []string{c.Device().Number(), c.UUID, c.Name}
	put(metrics.used, float64(c.Used), labels...)
	put(metrics.total, float64(c.Total), labels...)
	for _, x := range []struct {
		metric metric
		value  *float64
		scale  float64
	}{
		{metrics.util, c.Util, 0.01}, {metrics.power, c.Power, 1}, {metrics.powerLimit, c.PowerLimit, 1}, {metrics.temperature, c.Temperature, 1},
	} {
		if x.value != nil {
			put(x.metric, *x.value*x.scale, labels...)
		}
	}
	for _, reason := range c.Throttle {
		put(metrics.throttled, 1, c.Device().Number(), c.UUID, reason)
	}
}

func collectProcess(x watch.ProcessView, put putMetric) {
	pid := strconv.Itoa(x.PID)
	if x.Used > 0 && !x.Gone {
		put(metrics.process, float64(x.Used), x.GPU.Number(), pid, x.Name)
	}
	if x.Util != nil && !x.Gone {
		put(metrics.processUtil, *x.Util/100, x.GPU.Number(), pid, x.Name)
	}
	if !x.Watched {
		return
	}
	for _, s := range watch.States {
		value := 0.0
		if s == x.State {
			value = 1
		}
		put(metrics.state, value, pid, string(s))
	}
	if x.Trained > 0 {
		put(metrics.allocated, float64(x.Step.Allocated), pid)
		put(metrics.reserved, float64(x.Step.Reserved), pid)
		put(metrics.peakAllocated, float64(x.Step.PeakAllocated), pid)
		put(metrics.peakReserved, float64(x.Step.PeakReserved), pid)
		put(metrics.capacity, x.Capacity, pid)
		put(metrics.steps, float64(x.Step.N), pid)
		put(metrics.stepSeconds, x.Seconds, pid)
		put(metrics.retries, float64(x.Step.Retries), pid)
	}
	for i, bound := range []string{"low", "middle", "high"} {
		if left := x.Reading.StepsToOOM; left != nil {
			put(metrics.stepsLeft, float64(left[i]), pid, bound)
		}
		if left := x.Reading.SecondsToOOM; left != nil {
			put(metrics.secondsLeft, left[i], pid, bound)
		}
	}
}

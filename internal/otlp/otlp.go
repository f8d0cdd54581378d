package otlp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Limits of an Exporter.
const (
	// MaxQueue is how many traces wait to be sent.
	MaxQueue = 256
	// maxBatch and maxBatchSpans bound one request, maxSpans the spans of one trace; flushEvery is how long a trace waits for others.
	maxBatch      = 64
	maxBatchSpans = 10_000
	maxSpans      = 1000
	flushEvery    = 2 * time.Second
	// sendTimeout bounds an attempt to send, maxAttempts how many there are, maxPause the wait between two of them.
	sendTimeout = 10 * time.Second
	maxAttempts = 3
	maxPause    = 10 * time.Second
	// closeTimeout bounds what is still sent when the node stops.
	closeTimeout = 2 * time.Second
	// maxAnswer bounds what is read of an answer.
	maxAnswer = 64 << 10
	// tellEvery is how often the log tells of failures.
	tellEvery = time.Minute
)

// Options say where traces go.
type Options struct {
	// Target returns the URL of the collector, "" if there is none, and the share of statements that are sent. It is called for
	// each statement.
	Target func() (url string, share float64)
	// Resource describes the node, by the names of OpenTelemetry.
	Resource func() map[string]string
	// Headers are sent with each request, as a collector wants them that asks who sends.
	Headers map[string]string
	Logger  *slog.Logger
	// Pause is the first wait before another attempt; 0: a second.
	Pause time.Duration
}

// Exporter sends traces. It is safe for concurrent use.
type Exporter struct {
	o      Options
	client http.Client
	queue  chan trace.Statement
	start  sync.Once
	stop   chan struct{} // closed by Close
	over   sync.Once
	ctx    context.Context // ends a while after that
	cancel context.CancelFunc
	done   sync.WaitGroup
	told   time.Time // when the log was told of a failure

	exported, dropped, failed atomic.Int64
}

var _ trace.Exporter = (*Exporter)(nil)

// New returns an exporter, which begins to send with the first trace that it gets.
func New(o Options) *Exporter {
	e := &Exporter{o: o, queue: make(chan trace.Statement, MaxQueue), stop: make(chan struct{})}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return e
}

// Counts are of traces.
type Counts struct {
	Exported int64
	Dropped  int64 // because the queue was full
	Failed   int64 // because the collector did not take them
}

// Counts returns what has become of traces so far.
func (e *Exporter) Counts() Counts {
	return Counts{Exported: e.exported.Load(), Dropped: e.dropped.Load(), Failed: e.failed.Load()}
}

// Sample implements trace.Exporter.
func (e *Exporter) Sample() bool {
	url, share := e.o.Target()
	return url != "" && share > 0 && rand.Float64() < share
}

// Export implements trace.Exporter.
func (e *Exporter) Export(s trace.Statement) {
	e.start.Do(func() { e.done.Go(e.run) })
	select {
	case e.queue <- s:
	default:
		e.dropped.Add(1)
	}
}

// Close sends what waits, if the collector takes it soon, and ends the exporter. What is exported later is lost.
func (e *Exporter) Close() {
	e.start.Do(func() {})
	e.over.Do(func() { close(e.stop) })
	limit := time.AfterFunc(closeTimeout, e.cancel)
	defer limit.Stop()
	e.done.Wait()
	e.cancel()
	e.client.CloseIdleConnections()
}

// run sends batch after batch, until Close and the queue is empty.
func (e *Exporter) run() {
	for {
		batch, more := e.collect()
		if len(batch) > 0 {
			e.deliver(batch)
		}
		if !more {
			return
		}
	}
}

// collect returns the next batch; more says that there may be others.
func (e *Exporter) collect() (batch []trace.Statement, more bool) {
	flush := time.NewTimer(flushEvery)
	defer flush.Stop()
	for spans := 0; len(batch) < maxBatch && spans < maxBatchSpans; {
		select {
		case s := <-e.queue:
			if batch = append(batch, s); len(batch) == 1 {
				flush.Reset(flushEvery)
			}
			spans += spansOf(&s)
		case <-flush.C:
			if len(batch) > 0 {
				return batch, true
			}
		case <-e.stop:
			for {
				select {
				case s := <-e.queue:
					batch = append(batch, s)
				default:
					return batch, false
				}
			}
		}
	}
	return batch, true
}

// deliver sends a batch, or gives it up.
func (e *Exporter) deliver(batch []trace.Statement) {
	url, _ := e.o.Target()
	if url == "" { // it was switched off meanwhile
		e.dropped.Add(int64(len(batch)))
		return
	}
	body, err := proto.Marshal(request(batch, e.o.Resource()))
	if err == nil {
		err = e.send(url, body)
	}
	if err == nil {
		e.exported.Add(int64(len(batch)))
		return
	}
	e.failed.Add(int64(len(batch)))
	if now := time.Now(); now.Sub(e.told) >= tellEvery {
		e.told = now
		e.o.Logger.Warn("traces could not be sent to the collector of OpenTelemetry", "collector", url, "traces", len(batch), "err", err)
	}
}

// send sends a request, again while the collector says that it is busy or does not answer.
func (e *Exporter) send(url string, body []byte) error {
	pause := cmp.Or(e.o.Pause, time.Second)
	for attempt := 1; ; attempt++ {
		again, after, err := e.post(url, body)
		if err == nil || !again || attempt == maxAttempts {
			return err
		}
		if sleep.For(e.ctx, min(max(pause, after), maxPause)) != nil {
			return err
		}
		pause *= 2
	}
}

// post makes one attempt. again says that another may succeed, and after for how long the collector wants to be left alone.
func (e *Exporter) post(url string, body []byte) (again bool, after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(e.ctx, sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "lichen")
	for name, value := range e.o.Headers {
		req.Header.Set(name, value)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return true, 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted:
		return false, 0, errors.Join(err, refused(text))
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return true, time.Duration(max(seconds, 0)) * time.Second, fmt.Errorf("it answers %s", resp.Status)
	}
	return false, 0, fmt.Errorf("it answers %s", resp.Status)
}

// refused returns what a collector has said against spans that it did not take.
func refused(answer []byte) error {
	var a collector.ExportTraceServiceResponse
	if proto.Unmarshal(answer, &a) != nil {
		return nil // an answer in another form says nothing against them
	}
	if p := a.GetPartialSuccess(); p.GetRejectedSpans() > 0 {
		return fmt.Errorf("it refused %d spans: %s", p.GetRejectedSpans(), p.GetErrorMessage())
	}
	return nil
}

package observe

import (
	"log/slog"
	"strings"
	"sync"
	"time"
)

// remindEvery is how often the log is told that something still cannot be sent:
// a collector may be away for hours, and is nobody's request.
const remindEvery = 10 * time.Minute

// shortestSecret is the length, in bytes, of a header's value that is taken for a
// secret. A shorter one keeps nobody out, and would be taken out of addresses and
// numbers of an error: the 1 of X-Scope-OrgID, say.
const shortestSecret = 8

// maxReason bounds what the log repeats of a collector's answer, in bytes.
const maxReason = 300

// exportLog tells the log what became of sending, once in a while, and counts
// each time. It is safe for concurrent use.
type exportLog struct {
	log *slog.Logger
	now func() time.Time
	// secrets are never told, wherever they come from.
	secrets []string
	count   func(signal, outcome string)

	mu      sync.Mutex
	failing map[string]*outage // by signal; nil where it was sent last
}

// secretsOf are the values of headers that are taken for secrets.
func secretsOf(all ...map[string]string) (secrets []string) {
	for _, headers := range all {
		for _, value := range headers {
			if len(value) >= shortestSecret {
				secrets = append(secrets, value)
			}
		}
	}
	return secrets
}

// outage is what cannot be sent at the moment.
type outage struct {
	times int
	told  time.Time
}

// ended tells that a signal was sent, or why it was not.
func (l *exportLog) ended(signal string, err error) {
	outcome := "ok"
	if err != nil {
		outcome = "failed"
	}
	l.count(signal, outcome)
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.failing[signal]
	switch {
	case err == nil && f != nil:
		delete(l.failing, signal)
		l.log.Info("telemetry is sent again", "signal", signal, "failures", f.times)
	case err == nil:
	case f == nil:
		l.failing[signal] = &outage{times: 1, told: l.now()}
		l.log.Warn("telemetry could not be sent; what is lost is lost, and it is tried again", "signal", signal, "error", l.reason(err))
	default:
		f.times++
		if at := l.now(); at.Sub(f.told) >= remindEvery {
			f.told = at
			l.log.Warn("telemetry still cannot be sent", "signal", signal, "failures", f.times, "error", l.reason(err))
		}
	}
}

// reason is the text of an error as the log may hold it.
func (l *exportLog) reason(err error) string {
	text := err.Error()
	for _, secret := range l.secrets {
		text = strings.ReplaceAll(text, secret, "...")
	}
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "..."
	}
	return text
}

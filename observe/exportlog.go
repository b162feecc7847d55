package observe

import (
	"log/slog"
	"strings"
	"sync"
	"time"
)

// remindEvery is how often the log repeats that telemetry still cannot be sent. A collector may be
// down for hours.
const remindEvery = 10 * time.Minute

// shortestSecret is the length in bytes from which a header's value counts as a secret. Removing
// shorter values from errors would damage addresses and numbers, such as the 1 of X-Scope-OrgID.
const shortestSecret = 8

// maxReason limits how many bytes of a collector's answer are logged.
const maxReason = 300

// exportLog counts all failures of sending, and logs some of them. It is safe for concurrent use.
type exportLog struct {
	log *slog.Logger
	now func() time.Time
	// secrets are never logged, wherever they appear.
	secrets []string
	count   func(signal, outcome string)

	mu      sync.Mutex
	failing map[string]*outage // by signal; nil if it was last sent successfully
}

// secretsOf returns the values of headers that count as secrets.
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

// outage is the time during which a signal cannot be sent.
type outage struct {
	times  int
	logged time.Time
}

// ended records that a batch of a signal was sent, or the error if it was not.
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
		l.failing[signal] = &outage{times: 1, logged: l.now()}
		l.log.Warn("telemetry could not be sent and is lost; later telemetry will be sent", "signal", signal, "error", l.reason(err))
	default:
		f.times++
		if at := l.now(); at.Sub(f.logged) >= remindEvery {
			f.logged = at
			l.log.Warn("telemetry still cannot be sent", "signal", signal, "failures", f.times, "error", l.reason(err))
		}
	}
}

// reason returns the text of an error as it may be logged.
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

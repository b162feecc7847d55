package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"carrel/principal"
)

// A subscriberTransport is the transport of subscribers.
type subscriberTransport struct {
	name string
	// sharing is the number of subscriptions over one socket. If it is 0, each uses
	// server-sent events on a connection of its own.
	sharing int
}

func subscriberTransports() []subscriberTransport {
	return []subscriberTransport{{"a websocket each", 1}, {"20 over each websocket", 20}, {"server-sent events", 0}}
}

// A subscriber is one subscription to a library.
type subscriber struct {
	token   string
	library principal.ID
}

const subscribed = `subscription($id: ID!) { libraryChanged(principalId: $id) {
	... on LibraryEntryPlaced { edge { cursor role node { id title createdBy { id displayName } } } }
	... on LibraryEntryRemoved { contentId } } }`

// An audience is many open subscriptions of this process.
type audience struct {
	served  *served
	ctx     context.Context
	cancel  context.CancelFunc
	onEvent func(event []byte)
	events  http.Transport
	open    sync.WaitGroup
	lost    chan error // an error of a subscription that has ended by itself
}

// gather opens subscriptions on the transport w, and returns when the gateway counts all of them.
// onEvent receives each event, from many goroutines.
func gather(ctx context.Context, s *served, w subscriberTransport, all []subscriber, onEvent func(event []byte)) (*audience, error) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur < uint64(len(all))+100 {
		return nil, fmt.Errorf("%d connections need as many open files, and %d may be open here (ulimit -n): %w", len(all), files.Cur, err)
	}
	a := &audience{served: s, onEvent: onEvent, events: http.Transport{DisableKeepAlives: true, DisableCompression: true}, lost: make(chan error, 1)}
	a.ctx, a.cancel = context.WithCancel(ctx)
	each := max(1, w.sharing)
	err := parallel(len(all)/each, func(n int) error {
		if w.sharing == 0 {
			return a.byEvents(all[n])
		}
		return a.bySocket(all[n*each : (n+1)*each])
	})
	for err == nil {
		var followers int64
		if followers, err = s.metric(ctx, "carrel_followers"); err == nil && followers == int64(len(all)) {
			return a, nil
		}
		select {
		case err = <-a.lost:
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	a.leave()
	return nil, err
}

// leave ends all subscriptions.
func (a *audience) leave() {
	a.cancel()
	a.open.Wait()
}

// handle handles an event. Any other message of the protocol ends the subscription.
func (a *audience) handle(event []byte) error {
	if !bytes.Contains(event, []byte(`"libraryChanged"`)) {
		return fmt.Errorf("a subscriber received %.300s", event)
	}
	a.onEvent(event)
	return nil
}

// listen reads a connection until it ends.
func (a *audience) listen(read func() error) {
	a.open.Go(func() {
		err := read()
		if a.ctx.Err() != nil {
			return
		}
		select {
		case a.lost <- fmt.Errorf("a subscription has ended: %v", err):
		default: // another error was first
		}
	})
}

func (sub *subscriber) request() []byte {
	return body(subscribed, map[string]any{"id": sub.library})
}

// byEvents opens one subscription by server-sent events.
func (a *audience) byEvents(sub subscriber) error {
	r, err := http.NewRequestWithContext(a.ctx, http.MethodPost, "http://"+a.served.address+"/graphql", bytes.NewReader(sub.request()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer "+sub.token)
	answer, err := a.events.RoundTrip(r)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("a subscription by events is answered with %s", answer.Status), answer.Body.Close())
	}
	lines := bufio.NewScanner(answer.Body)
	a.listen(func() error {
		defer answer.Body.Close()
		for lines.Scan() {
			data, is := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			if !is {
				continue
			}
			if err := a.handle(data); err != nil {
				return err
			}
		}
		return lines.Err()
	})
	return nil
}

// bySocket opens some subscriptions over one socket, with the token of the first. The request has
// the token too, because the number of unauthenticated sockets of an address is limited, and more
// than that are opened here at once.
func (a *audience) bySocket(subs []subscriber) error {
	conn, _, err := websocket.Dial(a.ctx, "ws://"+a.served.address+"/graphql", &websocket.DialOptions{
		Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: http.Header{"Authorization": {"Bearer " + subs[0].token}},
	})
	if err != nil {
		return err
	}
	start, err := json.Marshal(map[string]any{"type": "connection_init", "payload": map[string]string{"authorization": "Bearer " + subs[0].token}})
	if err == nil {
		err = exchange(a.ctx, conn, message{text: string(start), answer: "connection_ack"})
	}
	for n := 0; n < len(subs) && err == nil; n++ {
		text := fmt.Sprintf(`{"type":"subscribe","id":"%d","payload":%s}`, n, subs[n].request())
		err = conn.Write(a.ctx, websocket.MessageText, []byte(text))
	}
	if err != nil {
		return errors.Join(err, conn.CloseNow())
	}
	a.listen(func() error {
		defer conn.CloseNow()
		for {
			_, text, err := conn.Read(a.ctx)
			if err == nil {
				err = a.handle(text)
			}
			if err != nil {
				return err
			}
		}
	})
	return nil
}

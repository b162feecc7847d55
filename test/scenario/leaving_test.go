package scenario

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestDisconnect_LogsNoWarning checks that clients may disconnect at any time: the log contains no
// warning and no error about it.
func TestDisconnect_LogsNoWarning(t *testing.T) {
	g := serveWith(t, "--rate-limit", "0")
	ann := g.user("acme", "ann", "PUBLIC")
	g.must(ann, createGrp, vars{"in": vars{"tenant": "acme", "name": "team", "displayName": "Team"}})
	var members []vars
	for n := range 30 {
		name := fmt.Sprint("m", n)
		g.user("acme", name, "PUBLIC")
		members = append(members, vars{"principalId": "u:acme:" + name, "role": "VIEWER"})
	}
	for n := range 8 {
		g.must(ann, createItem, vars{"in": vars{"name": fmt.Sprint("x", n), "kind": "NOTE", "title": "0", "visibility": "PUBLIC",
			"members": members}})
	}
	asks := []func(worker, n int) (string, vars){
		func(w, n int) (string, vars) {
			return updateItem, vars{"in": vars{"id": fmt.Sprint("c:acme:x", w), "title": fmt.Sprint(n)}}
		},
		func(w, n int) (string, vars) {
			return createItem, vars{"in": vars{"name": fmt.Sprint("new", w, "-", n), "kind": "NOTE", "title": "t", "members": members}}
		},
		func(w, n int) (string, vars) {
			return shareItem, vars{"in": vars{"contentId": fmt.Sprint("c:acme:new", w, "-", n/2),
				"principalIds": []string{"g:acme:team", "u:acme:m1", "u:acme:m2"}, "role": []string{"VIEWER", "EDITOR"}[n%2]}}
		},
		func(_, n int) (string, vars) {
			return setMembers, vars{"in": vars{"groupId": "g:acme:team",
				"members": []vars{{"principalId": fmt.Sprint("u:acme:m", n%30), "role": "MEMBER"}}}}
		},
		func(w, n int) (string, vars) {
			return removeItem, vars{"in": vars{"principalId": fmt.Sprint("u:acme:m", n%30), "contentId": fmt.Sprint("c:acme:new", w, "-", n/2)}}
		},
		func(_, n int) (string, vars) { return pageItems, vars{"id": fmt.Sprint("u:acme:m", n%30)} },
	}
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() {
			for n := range 30 {
				query, variables := asks[(w+n)%len(asks)](w, n)
				body := string(mustJSON(vars{"query": query, "variables": variables}))
				head := fmt.Sprintf("POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: "+
					"Bearer %s\r\nContent-Length: %d\r\n", ann, len(body))
				if n%5 == 0 {
					head += "Accept: text/event-stream\r\n"
				}
				request := head + "\r\n" + body
				if n%7 == 0 {
					request = request[:len(request)-5]
				}
				c := g.dial(request)
				// Some disconnect before the request is read, some while it runs.
				<-time.After(time.Duration(n%12) * 500 * time.Microsecond)
				_ = c.Close()
			}
		})
	}
	workers.Wait()
	for w := range 8 { // wait until all requests have ended
		in := vars{"in": vars{"id": fmt.Sprint("c:acme:x", w), "title": "end"}}
		g.eventually("the item can be changed", func() bool {
			a := g.ask(ann, updateItem, in)
			return len(a.Errors) == 0 && len(a.userErrors("updateContent")) == 0
		})
	}
	g.stop()
	for line := range strings.Lines(g.log.String()) {
		if strings.Contains(line, `"level":"WARN"`) || strings.Contains(line, `"level":"ERROR"`) {
			t.Errorf("logged: %s", line)
		}
	}
}

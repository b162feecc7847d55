package demo

import (
	"fmt"
	"time"

	"carrel/core/clock"
	"carrel/exchange"
	"carrel/paste"
)

// demoPaste is a paste, with its age.
type demoPaste struct {
	age         time.Duration
	title, body string
	author      string // empty: an anonymous caller
	private     bool
}

// demoPastes returns the pastes of the demo, newest first. Nobody has their secrets.
func demoPastes() []demoPaste {
	return []demoPaste{
		{age: 20 * time.Minute, title: "A panic in the worker", author: ann, body: `panic: runtime error: index out of range [3] with length 3

goroutine 7 [running]:
main.work(0xc000012345)
	/srv/app/worker.go:42 +0x1d
exit status 2
`},
		{age: 3 * time.Hour, title: "Longest lines of a file", body: `awk '{ print length, NR }' access.log | sort -rn | head
`},
		{age: 26 * time.Hour, title: "config.json", author: ben, body: `{
  "listen": "127.0.0.1:8080",
  "store": "pebble:data/store",
  "limits": {"pastes-per-minute": 10}
}
`},
		{age: 27 * time.Hour, title: "Notes to self", author: ann, private: true,
			body: "This paste is private: only people with its link can read it.\n"},
		{age: 9 * 24 * time.Hour, title: "Reverse a slice", body: `package main

import (
	"fmt"
	"slices"
)

func main() {
	s := []int{1, 2, 3}
	slices.Reverse(s)
	fmt.Println(s)
}
`},
	}
}

// pastes writes the pastes.
func (s *story) pastes() {
	for i, p := range demoPastes() {
		created := clock.Of(s.base.Add(-p.age))
		in := paste.Import{ID: fmt.Sprintf("p:%032x", shuffled(p.title)+uint64(i)), Title: &p.title, Body: p.body,
			IsPrivate: p.private, CreatedAt: &created, ModifiedAt: &created}
		if p.author != "" {
			in.Author = &p.author
		}
		s.write(exchange.Line{Type: exchange.TypePaste, Paste: &in})
	}
}

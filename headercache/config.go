package headercache

import "time"

// Config configures a header cache.
type Config struct {
	// Bytes is how much memory the headers may take, approximately. With 0 every header is read.
	Bytes int
	// The rest is for stores that other processes write too, and for tests: AlwaysOn serves headers however few of
	// those on pages are in the cache; MaxAge is the age until which a header is served (0: MaxAge); one in SampleEvery
	// headers that were served is compared with the stored one (0: one in 100, at most 20 a second).
	AlwaysOn    bool
	MaxAge      time.Duration
	SampleEvery int
}

// Stats describes a header cache, for operators.
type Stats struct {
	Headers, Bytes int
	InFlight       int  // items and principals in the set of changes that was read last
	InUse          bool // whether headers are served
}

func (c *cache) stats() Stats {
	headers, bytes := c.Size()
	return Stats{Headers: headers, Bytes: bytes, InUse: true}
}

package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// busyFor is how long an operation is repeated to measure it once.
const busyFor = 2 * time.Second

// measureClusterScale measures the inputs of docs/scale.md.
func measureClusterScale(ctx context.Context, o *options, t *table) error {
	if !o.node.Owned() {
		return errNotOurNode
	}
	for _, measure := range []func(context.Context, *options, *table) error{
		measureInFlightPartition, measureClusterBytes, measureWidePartitions, measureRoundTrips,
	} {
		if err := measure(ctx, o, t); err != nil {
			return err
		}
	}
	return nil
}

// A nodeCost is the cost of an operation, with some number of clients.
type nodeCost struct {
	rate    float64       // a second
	each    time.Duration // latency for its client
	cpu     time.Duration // of the node
	process time.Duration // CPU of this process
}

func (c nodeCost) String() string {
	return fmt.Sprintf("%.0f/s, %s; %s, %s", c.rate, micros(c.each), micros(c.cpu), micros(c.process))
}

// costOnNode repeats an operation for a round.
func (o *options) costOnNode(clients int, once func(n int) error) (c nodeCost, err error) {
	pid, err := o.node.PID(0)
	if err != nil {
		return c, err
	}
	before, err := cpuOf(pid)
	if err != nil {
		return c, err
	}
	var n atomic.Int64
	begin, own := time.Now(), processCPU()
	err = parallelTasks(clients, func(int) error {
		for time.Since(begin) < busyFor {
			if err := once(int(n.Add(1))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return c, err
	}
	took, ops := time.Since(begin), time.Duration(n.Load())
	after, err := cpuOf(pid)
	return nodeCost{
		rate: float64(ops) / took.Seconds(), each: took * time.Duration(clients) / ops,
		cpu: (after - before) / ops, process: (processCPU() - own) / ops,
	}, err
}

// leastOnNode returns the cheapest of some rounds.
func (o *options) leastOnNode(clients int, once func(n int) error) (least nodeCost, err error) {
	for round := range 4 {
		c, err := o.costOnNode(clients, once)
		if err != nil {
			return least, err
		}
		if round == 1 || round > 1 && c.cpu < least.cpu { // round 0 warms up
			least = c
		}
	}
	return least, nil
}

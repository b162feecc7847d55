package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// How long and how often each operation is measured. The subjects of a comparison take
// turns, so that other load on the machine affects all of them alike. A round is long
// enough for several garbage collections. The median of the rounds counts, and how far the
// furthest is from it.
const (
	rounds   = 5
	roundFor = 400 * time.Millisecond
)

// A cost is the cost of one operation.
type cost struct {
	cpu  time.Duration // of the process, garbage collection included
	wall time.Duration
	// p50 and p99 are how long clients wait for the answer, where that is measured.
	p50, p99 time.Duration
	// allocs and bytes are what the process allocates for it.
	allocs, bytes int64
}

// A subject is an operation that is compared with others.
type subject struct {
	name string
	once func() error
}

// cpu returns the CPU time, which is what counts in one process.
func cpu(c cost) time.Duration { return c.cpu }

// wall returns the wall time, which is what counts on a cluster: most work is not done by this process.
func wall(c cost) time.Duration { return c.wall }

// compare measures the subjects in turns and returns the costs of each in all rounds.
func compare(subjects ...subject) ([]series, error) {
	return inTurns(rounds, len(subjects), func(i int) (cost, error) {
		runtime.GC()
		c, err := repeat(subjects[i].once)
		if err != nil {
			return cost{}, fmt.Errorf("%s: %w", subjects[i].name, err)
		}
		return c, nil
	})
}

// repeat calls the function once repeatedly, for a round.
func repeat(once func() error) (cost, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, begin, n := processCPU(), time.Now(), 0
	for time.Since(begin) < roundFor {
		for range 20 {
			if err := once(); err != nil {
				return cost{}, err
			}
			n++
		}
	}
	c := cost{cpu: (processCPU() - cpu) / time.Duration(n), wall: time.Since(begin) / time.Duration(n)}
	runtime.ReadMemStats(&after)
	c.allocs = int64(after.Mallocs-before.Mallocs) / int64(n)
	c.bytes = int64(after.TotalAlloc-before.TotalAlloc) / int64(n)
	return c, nil
}

// processCPU returns the CPU time that this process has used so far.
func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it fails only for a wrong argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// costOf returns what each of some operations costs a process. do waits for them and counts them.
func costOf(pid int, do func() (int64, error)) (cost, error) {
	before, err := cpuOf(pid)
	if err != nil {
		return cost{}, err
	}
	begin := time.Now()
	n, err := do()
	if err != nil {
		return cost{}, err
	}
	took := time.Since(begin)
	after, err := cpuOf(pid)
	return cost{cpu: (after - before) / time.Duration(n), wall: took / time.Duration(n)}, err
}

// clockTick is the unit of /proc/PID/stat, the same on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// cpuOf returns the CPU time that another process and those that it started have used so far.
func cpuOf(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range threads {
		children, _ := os.ReadFile(name) // the thread may have ended since
		for child := range strings.FieldsSeq(string(children)) {
			n, _ := strconv.Atoi(child) // always a number
			used, _ := cpuOf(n)         // the process may have ended since
			sum += used
		}
	}
	// The name of the program, in parentheses, may contain blanks.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var ticks time.Duration
	for _, f := range fields[11:13] { // user and system time
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, err
		}
		ticks += time.Duration(n)
	}
	return sum + ticks*clockTick, err
}

// residentOf returns the resident memory of a process, now and at its peak, in bytes.
func residentOf(pid int) (now, peak int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		if name != "VmRSS" && name != "VmHWM" {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil {
			return 0, 0, err
		}
		if name == "VmRSS" {
			now = kib << 10
		} else {
			peak = kib << 10
		}
	}
	return now, peak, nil
}

// mebibytes formats a number of bytes.
func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

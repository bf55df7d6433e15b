package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/warmpool/warmpool/bench/trace"
	"github.com/warmpool/warmpool/predictor/backtest"
)

// service is one recorded series as the need of a service by tick, with what the predictor orders at each.
type service struct {
	name             string
	demand, foreseen []float64
	seed             uint64
}

const (
	// span is the end of a recording that is played; what is before it is known to the predictor.
	span = 6 * 24 * time.Hour
)

var ratePattern = regexp.MustCompile(`_(10s|15s|1m|5m|10m|30m)\.csv(\.gz)?$`)

// loadServices reads every rate series of at least six days, each scaled to a mean need of so many replicas.
func loadServices(dir string, replicas float64) ([]service, error) {
	var out []service
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !ratePattern.MatchString(path) {
			return err
		}
		s, ok, err := loadService(path, replicas)
		if ok {
			out = append(out, s)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read series: %w", err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no rate series of at least six days in %s: want files such as web_5m.csv", dir)
	}
	slices.SortFunc(out, func(a, b service) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

func loadService(path string, replicas float64) (service, bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return service{}, false, err
	}
	defer file.Close()
	var in io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(file); err != nil {
			return service{}, false, fmt.Errorf("%s: %w", path, err)
		}
	}
	text := bufio.NewReader(in)
	if head, _ := text.Peek(18); !bytes.Equal(head, []byte("timestamp,requests")) {
		return service{}, false, nil
	}
	name := strings.TrimPrefix(ratePattern.ReplaceAllString(filepath.Base(path), ""), "servegen_")
	raw, err := backtest.ReadCSV(text, name)
	if err != nil {
		return service{}, false, err
	}
	grid, err := raw.Grid()
	if err != nil {
		return service{}, false, err
	}
	if time.Duration(len(grid.Values))*grid.Step < span {
		return service{}, false, nil
	}
	need := needs(grid, replicas)
	played := ticksOf(span)
	foreseen, err := foresee(name, grid.At(0), need, played)
	if err != nil {
		return service{}, false, err
	}
	hash := fnv.New64a()
	hash.Write([]byte(name))
	return service{name: name, demand: need[len(need)-played:], foreseen: foreseen, seed: hash.Sum64()}, true, nil
}

// needs turns a series into replicas needed by tick: straight lines between the middles of its intervals, a gap as what
// was before it, scaled to the mean of the part that is played.
func needs(s backtest.Series, mean float64) []float64 {
	values := slices.Clone(s.Values)
	last := 0.0
	for i, v := range values {
		if math.IsNaN(v) {
			values[i] = last
		}
		last = values[i]
	}
	per := int(s.Step / tick)
	out := make([]float64, len(values)*per)
	for i := range out {
		at := float64(i)/float64(per) - 0.5
		low := max(0, int(math.Floor(at)))
		high := min(len(values)-1, low+1)
		part := min(max(at-float64(low), 0), 1)
		out[i] = values[low]*(1-part) + values[high]*part
	}
	sum := 0.0
	for _, v := range out[len(out)-ticksOf(span):] {
		sum += v
	}
	for i := range out {
		out[i] *= mean * float64(ticksOf(span)) / sum
	}
	return out
}

// loadRooms reads how many nodes can run at each tick, by the name of the recording.
func loadRooms(dir string) (map[string][]int, error) {
	rooms := map[string][]int{}
	all, err := trace.Read(filepath.Join(dir, "spot", "aws_spot_availability_2022_us-west-2a.csv"), trace.ReadAvailability)
	if err != nil {
		return nil, err
	}
	const plenty = 1 << 20
	for _, a := range all {
		per := int(a.Step / tick)
		room := make([]int, 0, len(a.Available)*per)
		for _, free := range a.Available {
			for range per {
				if free {
					room = append(room, plenty)
				} else {
					room = append(room, 0)
				}
			}
		}
		rooms[strings.TrimPrefix(a.Name, "us-west-2a_")] = room
	}
	counts, err := trace.Read(filepath.Join(dir, "spot", "bamboo_gcloud_a100x1-east1b.txt"), trace.ReadNodeCounts)
	if err != nil {
		return nil, err
	}
	var room []int
	for i, c := range counts {
		end := c.At
		if i+1 < len(counts) {
			end = counts[i+1].At
		}
		for at := c.At; at < end; at += tick {
			room = append(room, int(c.Nodes))
		}
	}
	rooms["a100"] = room
	counts, err = trace.Read(filepath.Join(dir, "spot", "bamboo_g4dn-trace.csv"), trace.ReadNodeEvents)
	if err != nil {
		return nil, err
	}
	room = nil
	for i := 0; i+1 < len(counts); i++ {
		if counts[i].At < time.Hour { // the group was still being filled
			continue
		}
		for at := counts[i].At; at < counts[i+1].At; at += tick {
			room = append(room, int(counts[i].Nodes))
		}
	}
	rooms["g4dn"] = room
	return rooms, nil
}

// shifted begins a recording elsewhere, so that every series meets its own part of it.
func shifted(rooms map[string][]int, seed uint64) map[string][]int {
	out := make(map[string][]int, len(rooms))
	for name, room := range rooms {
		from := int(seed % uint64(len(room)))
		out[name] = append(slices.Clone(room[from:]), room[:from]...)
	}
	return out
}

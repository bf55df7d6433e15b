package decisions

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	fileQueue       = 1024
	defaultMaxBytes = 64 << 20
	defaultKeep     = 4
	// reopenAfter is the pause after a failed write. Records that come in between are lost and counted.
	reopenAfter = time.Second
	closeWithin = 5 * time.Second
)

// file appends records as JSON lines. One goroutine writes; offering never waits. Every line is one write, so that
// a killed process leaves whole lines, and at most the last one torn.
type file struct {
	path     string
	maxBytes int64
	keep     int
	logger   *slog.Logger

	queue chan Record
	stop  chan struct{}
	once  sync.Once
	done  chan struct{}

	out      *os.File // owned by the writing goroutine; nil after a failure
	size     int64
	failedAt time.Time

	lost, failures atomic.Uint64
}

// passing are failures that may be over later: a disk that is full, or read-only after an error.
var passing = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EROFS}

func openFile(o Options) (*file, error) {
	f := &file{
		path: o.File, maxBytes: cmp.Or(o.MaxBytes, defaultMaxBytes), keep: cmp.Or(o.Keep, defaultKeep),
		logger: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		queue:  make(chan Record, fileQueue), stop: make(chan struct{}), done: make(chan struct{}),
	}
	switch err := f.open(); {
	case err == nil:
	case slices.ContainsFunc(passing, func(one error) bool { return errors.Is(err, one) }):
		f.fail(err) // deciding does not depend on it
	default:
		return nil, err
	}
	go f.run()
	return f, nil
}

// open appends to the file. A torn last line of a killed process gets its line end first.
func (f *file) open() error {
	out, err := os.OpenFile(f.path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	info, err := out.Stat()
	if err != nil {
		return errors.Join(err, out.Close())
	}
	f.out, f.size = out, info.Size()
	if f.size == 0 {
		return nil
	}
	last := make([]byte, 1)
	if _, err := out.ReadAt(last, f.size-1); err != nil || last[0] == '\n' {
		return nil // a file that cannot be read can still be appended to
	}
	return f.append([]byte{'\n'})
}

// offer hands a record to the writer, or counts it as lost.
func (f *file) offer(r Record) {
	select {
	case f.queue <- r:
	default:
		f.lost.Add(1)
	}
}

func (f *file) run() {
	defer close(f.done)
	for {
		select {
		case r := <-f.queue:
			f.record(r)
		case <-f.stop:
			f.drain()
			return
		}
	}
}

func (f *file) drain() {
	for {
		select {
		case r := <-f.queue:
			f.record(r)
		default:
			if f.out != nil {
				if err := f.out.Close(); err != nil {
					f.fail(err)
				}
			}
			return
		}
	}
}

func (f *file) record(r Record) {
	line, err := json.Marshal(r)
	if err == nil {
		err = f.write(append(line, '\n'))
	}
	if err != nil {
		f.lost.Add(1)
		f.fail(err)
	}
}

var errWaiting = errors.New("waiting to open the file again")

func (f *file) write(line []byte) error {
	if f.out == nil {
		if time.Since(f.failedAt) < reopenAfter {
			return errWaiting
		}
		if err := f.open(); err != nil {
			return err
		}
		f.logger.Info("decision log file is written again", "file", f.path, "lost", f.lost.Load())
	}
	if f.size > 0 && f.size+int64(len(line)) > f.maxBytes {
		if err := f.rotate(); err != nil {
			return err
		}
	}
	return f.append(line)
}

func (f *file) append(line []byte) error {
	n, err := f.out.Write(line)
	f.size += int64(n)
	return err
}

// rotate renames file to file.1, file.1 to file.2 and so on; the last one is overwritten.
func (f *file) rotate() error {
	if err := f.out.Close(); err != nil {
		return err
	}
	f.out = nil
	for i := f.keep; i >= 1; i-- {
		if err := os.Rename(rotated(f.path, i-1), rotated(f.path, i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return f.open()
}

func rotated(path string, i int) string {
	if i == 0 {
		return path
	}
	return fmt.Sprintf("%s.%d", path, i)
}

// fail closes the file, to be opened again later. It logs the first failure of a row only.
func (f *file) fail(err error) {
	if errors.Is(err, errWaiting) {
		return
	}
	f.failures.Add(1)
	if f.failedAt.IsZero() || f.out != nil {
		f.logger.Error("decision log file cannot be written, decisions stay in memory only", "file", f.path, "error", err)
	}
	f.failedAt = time.Now()
	if f.out != nil {
		_ = f.out.Close() // the first error is the one that matters
		f.out = nil
	}
}

func (f *file) close() error {
	f.once.Do(func() { close(f.stop) })
	select {
	case <-f.done:
		return nil
	case <-time.After(closeWithin):
		return fmt.Errorf("decision log: %s could not be written within %v", f.path, closeWithin)
	}
}

// ReadFiles reads a log file with its rotated predecessors, oldest record first. Lines that are not whole records,
// such as the last one of a killed process, are skipped. A file that does not exist is empty.
func ReadFiles(path string, yield func(Record)) error {
	oldest := 0
	for ; ; oldest++ {
		if _, err := os.Stat(rotated(path, oldest+1)); err != nil {
			break
		}
	}
	for i := oldest; i >= 0; i-- {
		if err := readFile(rotated(path, i), yield); err != nil {
			return err
		}
	}
	return nil
}

func readFile(path string, yield func(Record)) error {
	in, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	if err := Read(in, yield); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// Read reads JSON lines in the form of the log file. Lines of a kind that this version does not know are skipped, as they
// may be of a later one.
func Read(in io.Reader, yield func(Record)) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var r Record
			if json.Unmarshal(line, &r) == nil && r.whole() {
				yield(r)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

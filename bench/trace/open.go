package trace

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Traffic is recorded or synthetic traffic: a rate series, or single requests with token counts. Exactly one is set.
type Traffic struct {
	Series   *Series
	Requests *Requests
}

// Name is the name of the file without its directory.
func (t Traffic) Name() string {
	if t.Series != nil {
		return t.Series.Name
	}
	return t.Requests.Name
}

// plain is a file that may have been compressed.
type plain struct {
	io.Reader
	file *os.File
}

func (p plain) Close() error { return p.file.Close() }

// Open opens a file, uncompressing it if its name ends with .gz.
func Open(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open trace: %w", err)
	}
	if !strings.HasSuffix(path, ".gz") {
		return plain{bufio.NewReader(f), f}, nil
	}
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("open trace %s: %w", path, err)
	}
	return plain{z, f}, nil
}

// Read reads one file of any kind with one of the Read functions of this package.
func Read[T any](path string, read func(string, io.Reader) (T, error)) (T, error) {
	var none T
	r, err := Open(path)
	if err != nil {
		return none, err
	}
	defer r.Close()
	return read(filepath.Base(path), r)
}

// ReadTraffic reads traffic in any of the known formats, told apart by the first line: an interval series, the requests
// of Azure, BurstGPT or Mooncake, a client of ServeGen, or an answer of Prometheus' query_range.
func ReadTraffic(path string) (Traffic, error) {
	r, err := Open(path)
	if err != nil {
		return Traffic{}, err
	}
	defer r.Close()
	return readTraffic(filepath.Base(path), r)
}

func readTraffic(file string, r io.Reader) (Traffic, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	head, err := br.Peek(4096)
	if len(head) == 0 {
		return Traffic{}, fmt.Errorf("read %s: the file is empty: %w", file, err)
	}
	line, _, _ := strings.Cut(string(head), "\n")
	line = strings.TrimRight(line, "\r")
	var t Traffic
	switch {
	case strings.HasPrefix(line, "TIMESTAMP,"):
		t.Requests, err = ReadAzure(file, br)
	case strings.HasPrefix(line, "Timestamp,"):
		t.Requests, err = ReadBurstGPT(file, br)
	case strings.HasPrefix(line, "{") && strings.Contains(line, `"input_length"`):
		t.Requests, err = ReadMooncake(file, br)
	case strings.HasPrefix(line, "{"):
		t.Series, err = ReadQueryRange(file, br)
	case line[:min(1, len(line))] >= "0" && line[:min(1, len(line))] <= "9" && strings.Count(line, ",") == 5:
		t.Series, err = ReadServeGenRates(file, br)
	case strings.Count(line, ",") == 1:
		t.Series, err = ReadIntervals(file, br)
	default:
		err = &FormatError{File: file, Line: 1, Column: 1, Problem: fmt.Sprintf(
			"%.60q begins no known traffic format: timestamp,requests | Azure LLM | BurstGPT | Mooncake | ServeGen client | query_range", line)}
	}
	if err != nil {
		return Traffic{}, err
	}
	return t, nil
}

package engine

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"go.etcd.io/bbolt"
)

// What is stored says its version. A program that finds an older one migrates it, or learns anew and says so; one that
// finds a newer one, as after a roll-back, leaves it as it is under another name and learns anew: a version that cannot be
// gone back from would be worse than a forecast that starts in shadow.

// errNewer is content of a later version than this program knows.
var errNewer = errors.New("it was written by a newer version of warmpool")

// storeFormat is the version of everything in the store: of its buckets, and of what is in them. It grows when a program
// with the number before would read something wrongly; migrations then says how the store gets from there to here.
const storeFormat = 1

// migrations has for each older format how the next one is made of it.
var migrations = map[int]func(*bbolt.Tx) error{
	// Before the first release nothing said its version; the buckets are the same.
	0: func(*bbolt.Tx) error { return nil },
}

const (
	metaBucket = "meta"
	formatKey  = "format"
)

// migrate brings a store to the format that this program writes, in the transaction that it is given.
func migrate(tx *bbolt.Tx, steps map[int]func(*bbolt.Tx) error, to int) (from int, err error) {
	meta, err := tx.CreateBucketIfNotExists([]byte(metaBucket))
	if err != nil {
		return 0, err
	}
	if text := meta.Get([]byte(formatKey)); text != nil {
		if from, err = strconv.Atoi(string(text)); err != nil || from < 0 {
			return 0, fmt.Errorf("%w: its format is %.20q", errCorrupt, text)
		}
	}
	if from > to {
		return from, fmt.Errorf("%w: format %d, and this one knows %d", errNewer, from, to)
	}
	for at := from; at < to; at++ {
		step, ok := steps[at]
		if !ok {
			return from, fmt.Errorf("%w: format %d is older than what this version can migrate", errCorrupt, from)
		}
		if err := step(tx); err != nil {
			return from, fmt.Errorf("migrate from format %d to %d: %w", at, at+1, err)
		}
	}
	return from, meta.Put([]byte(formatKey), strconv.AppendInt(nil, int64(to), 10))
}

// putAside renames a file that cannot be used, for people to look at or for a later version to take back. One of a newer
// version never replaces another one.
func putAside(path string, cause error) (aside string, err error) {
	if !errors.Is(cause, errNewer) {
		aside = path + ".damaged"
		return aside, os.Rename(path, aside)
	}
	aside = path + ".newer"
	for i := 1; i < 100; i++ {
		if _, err := os.Stat(aside); err != nil {
			break
		}
		aside = fmt.Sprintf("%s.newer.%d", path, i)
	}
	return aside, os.Rename(path, aside)
}

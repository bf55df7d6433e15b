package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/warmpool/warmpool/scaler"
)

// Store keeps what scaler and predictor have learnt in one file of the data directory, one bucket for each service. A
// nil Store keeps nothing.
type Store struct {
	db  *bbolt.DB
	log *slog.Logger
}

const (
	storeFile = "warmpool.db"
	// root is the bucket of the services; another layout gets another name.
	root = "services-1"
	// shared is the bucket, beside it, of what is not of one service.
	shared = "shared-1"
	// The keys in the bucket of a service.
	stateKey    = "state"
	forecastKey = "forecast"
	// storeLock is how long to wait for another process that has the file.
	storeLock = 2 * time.Second
	// forgetStored is how long the record of a service that nobody knows any more is kept.
	forgetStored = 14 * 24 * time.Hour
)

// OpenStore opens or makes the file in a directory, which must exist. A damaged file, or one of a newer version, is put
// aside and a new one made: everything in it can be learnt again from the metric store. On a disk that is full or
// read-only a store that is there is read; without one the result is nil.
func OpenStore(dir string, log *slog.Logger) (*Store, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	path := filepath.Join(dir, storeFile)
	db, from, err := openDB(path)
	unusable := errors.Is(err, errCorrupt) || errors.Is(err, errNewer)
	if err == nil || unusable {
		sweep(dir) // the file is locked, so nobody else writes here
	}
	switch {
	case err == nil:
		if from > 0 && from < storeFormat {
			log.Info("the store was migrated", "from_format", from, "to_format", storeFormat)
		}
		return &Store{db: db, log: log}, nil
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("open %s: another process uses it; give each instance its own --data-dir", path)
	case unwritable(err):
		if db, reading := openForReading(path); reading == nil {
			log.Error("the data directory cannot be written to: what was stored is used, and what is learnt from now on is not stored until a restart that can", "error", err)
			return &Store{db: db, log: log}, nil
		}
		nothingIsStored(log, err)
		return nil, nil //nolint:nilnil // a nil store keeps nothing
	}
	if !unusable {
		return nil, fmt.Errorf("open %s: %w; --data-dir must be a writable directory", path, err)
	}
	aside, moved := putAside(path, err)
	if moved != nil {
		return nil, fmt.Errorf("open %s: %w; move it away: %w", path, err, moved)
	}
	log.Error("the store cannot be used; what was learnt is rebuilt from the metric store", "error", err, "kept", aside)
	if db, _, err = openDB(path); unwritable(err) {
		nothingIsStored(log, err)
		return nil, nil //nolint:nilnil // a nil store keeps nothing
	} else if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return &Store{db: db, log: log}, nil
}

// nothingIsStored says so: learning anew after a restart is better than not starting.
func nothingIsStored(log *slog.Logger, err error) {
	log.Error("the data directory cannot be written to: nothing that is learnt is stored until a restart that can", "error", err)
}

// unwritable tells a disk that is full or read-only from other failures.
func unwritable(err error) bool {
	for _, one := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EFBIG} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// openForReading opens a file that is there and whole. Saving to it fails, and is counted like every such failure.
func openForReading(path string) (db *bbolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, fmt.Errorf("%w: %v", errCorrupt, p)
		}
	}()
	if db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: storeLock, ReadOnly: true}); err != nil {
		return nil, err
	}
	if err = inspect(db); err == nil {
		err = db.View(func(tx *bbolt.Tx) error {
			if tx.Bucket([]byte(root)) == nil || tx.Bucket([]byte(shared)) == nil {
				return errors.New("it is of another layout")
			}
			return nil
		})
	}
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// openDB also tells the format that the file had; 0 is a new one.
func openDB(path string) (db *bbolt.DB, from int, err error) {
	_, missing := os.Stat(path)
	// Damaged pages make the library panic or touch memory beyond the end of the file.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			db, from, err = nil, 0, fmt.Errorf("%w: %v", errCorrupt, p)
		}
	}()
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: storeLock})
	if err != nil {
		if missing == nil && (errors.Is(err, bolterrors.ErrInvalid) || errors.Is(err, bolterrors.ErrChecksum) ||
			errors.Is(err, bolterrors.ErrVersionMismatch)) {
			return nil, 0, fmt.Errorf("%w: %w", errCorrupt, err)
		}
		return nil, 0, err
	}
	if from, err = examine(db); err != nil {
		_ = db.Close()
		return nil, 0, err
	}
	return db, from, nil
}

// examine looks at every page once, so that damage is found at the start and not in the middle of the night. It tells
// the format that the file had.
func examine(db *bbolt.DB) (format int, err error) {
	if err := inspect(db); err != nil {
		return 0, err
	}
	err = db.Update(func(tx *bbolt.Tx) (err error) {
		if format, err = migrate(tx, migrations, storeFormat); err != nil {
			return err
		}
		if _, err = tx.CreateBucketIfNotExists([]byte(root)); err == nil {
			_, err = tx.CreateBucketIfNotExists([]byte(shared))
		}
		return err
	})
	return format, err
}

// inspect finds damage.
func inspect(db *bbolt.DB) error {
	return db.View(func(tx *bbolt.Tx) error {
		info, err := os.Stat(db.Path())
		if err != nil {
			return err
		}
		if info.Size() < tx.Size() {
			return fmt.Errorf("%w: the file has %d bytes and should have %d", errCorrupt, info.Size(), tx.Size())
		}
		for problem := range tx.Check() {
			err = fmt.Errorf("%w: %w", errCorrupt, problem)
		}
		return err
	})
}

// Close ends the use of the file.
func (s *Store) Close() error {
	if s == nil {
		return nil
	}
	return s.db.Close()
}

// saved is what is stored of one service; a nil part is left as it is.
type saved struct {
	state    *scaler.State
	forecast []byte
}

// save writes services in one transaction.
func (s *Store) save(all map[string]saved, now time.Time) error {
	if s == nil || len(all) == 0 {
		return nil
	}
	return s.db.Update(func(tx *bbolt.Tx) error {
		for id, one := range all {
			bucket, err := tx.Bucket([]byte(root)).CreateBucketIfNotExists([]byte(id))
			if err != nil {
				return err
			}
			if one.state != nil {
				text, err := json.Marshal(one.state)
				if err != nil {
					return fmt.Errorf("state of %s: %w", id, err)
				}
				if err := bucket.Put([]byte(stateKey), seal(text, now)); err != nil {
					return err
				}
			}
			if one.forecast != nil {
				if err := bucket.Put([]byte(forecastKey), seal(one.forecast, now)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// prune removes the services that were last saved long ago.
func (s *Store) prune(now time.Time) error {
	if s == nil {
		return nil
	}
	return s.db.Update(func(tx *bbolt.Tx) error {
		var old [][]byte
		all := tx.Bucket([]byte(root))
		err := all.ForEachBucket(func(id []byte) error {
			newest := time.Time{}
			for _, key := range []string{stateKey, forecastKey} {
				if _, at, err := unseal(all.Bucket(id).Get([]byte(key))); err == nil && at.After(newest) {
					newest = at
				}
			}
			if now.Sub(newest) > forgetStored {
				old = append(old, id)
			}
			return nil
		})
		for _, id := range old {
			err = errors.Join(err, all.DeleteBucket(id))
		}
		return err
	})
}

// state returns the stored state of a service.
func (s *Store) state(id string) (scaler.State, bool) {
	var state scaler.State
	found := s.get(id, stateKey, func(text []byte, _ time.Time) error { return json.Unmarshal(text, &state) })
	return state, found
}

// get hands a stored value of a service to use. One that is damaged or refused is as good as none.
func (s *Store) get(id, key string, use func(value []byte, at time.Time) error) bool {
	return s.read(func(tx *bbolt.Tx) *bbolt.Bucket { return tx.Bucket([]byte(root)).Bucket([]byte(id)) }, id, key, use)
}

// getShared does the same for a value that is not of one service.
func (s *Store) getShared(key string, use func(value []byte, at time.Time) error) bool {
	return s.read(func(tx *bbolt.Tx) *bbolt.Bucket { return tx.Bucket([]byte(shared)) }, "", key, use)
}

// read hands a stored value of a bucket, which may be missing, to use.
func (s *Store) read(bucket func(*bbolt.Tx) *bbolt.Bucket, id, key string, use func(value []byte, at time.Time) error) bool {
	if s == nil {
		return false
	}
	found := false
	err := s.db.View(func(tx *bbolt.Tx) error {
		b := bucket(tx)
		if b == nil {
			return nil
		}
		sealed := b.Get([]byte(key))
		if sealed == nil {
			return nil
		}
		value, at, err := unseal(sealed)
		if err == nil {
			err = use(value, at)
		}
		found = err == nil
		return err
	})
	if err != nil {
		s.log.Warn("a stored value cannot be used and is learnt again", "service", id, "value", key, "error", err)
	}
	return found
}

// putShared stores a value that is not of one service.
func (s *Store) putShared(key string, value []byte, now time.Time) error {
	if s == nil {
		return nil
	}
	return s.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte(shared)).Put([]byte(key), seal(value, now)) })
}

// sealSize is version, checksum and time before the value.
const (
	sealVersion = 1
	sealSize    = 1 + 4 + 8
)

func seal(value []byte, at time.Time) []byte {
	out := make([]byte, sealSize, sealSize+len(value))
	out[0] = sealVersion
	binary.BigEndian.PutUint64(out[5:], uint64(at.Unix()))
	out = append(out, value...)
	binary.BigEndian.PutUint32(out[1:], crc32.ChecksumIEEE(out[5:]))
	return out
}

func unseal(sealed []byte) ([]byte, time.Time, error) {
	switch {
	case len(sealed) < sealSize || sealed[0] != sealVersion:
		return nil, time.Time{}, errors.New("another version, or cut off")
	case crc32.ChecksumIEEE(sealed[5:]) != binary.BigEndian.Uint32(sealed[1:]):
		return nil, time.Time{}, errors.New("wrong checksum")
	}
	return sealed[sealSize:], time.Unix(int64(binary.BigEndian.Uint64(sealed[5:])), 0), nil
}

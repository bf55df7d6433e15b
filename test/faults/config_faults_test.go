package faults

import (
	"os"
	"path/filepath"
	"strings"
)

// written puts a text in the place of the configuration file, waits until it was taken or refused, and puts the old one
// back at the end.
func written(text string, taken bool) func(w *world) func() {
	return func(w *world) func() {
		w.replaceConfig(func() { w.writeConfig(text) }, taken)
		return func() { w.replaceConfig(func() { w.writeConfig(configuration) }, true) }
	}
}

// replaceConfig waits until the watcher has looked.
func (w *world) replaceConfig(write func(), taken bool) {
	w.t.Helper()
	before := w.watcher.Status()
	write()
	w.eventually("the configuration is looked at", func() bool {
		now := w.watcher.Status()
		if taken {
			return now.Err == nil && now.LastSuccess.After(before.LastSuccess)
		}
		return now.Failures > before.Failures
	})
}

// mounted makes the configuration a link as in a mounted ConfigMap: warmpool.yaml -> ..data/warmpool.yaml, ..data ->
// a directory that is replaced as a whole.
func mounted(text string, taken bool) func(w *world) func() {
	return func(w *world) func() {
		put := func(version, text string) {
			dir := filepath.Join(w.dir, version)
			w.must(os.Mkdir(dir, 0o750))
			w.write(filepath.Join(dir, "warmpool.yaml"), []byte(w.filled(text)))
			w.must(os.Symlink(version, filepath.Join(w.dir, "..data_tmp")))
			w.must(os.Rename(filepath.Join(w.dir, "..data_tmp"), filepath.Join(w.dir, "..data")))
		}
		put("..1", configuration)
		w.must(os.Remove(w.configPath))
		w.must(os.Symlink(filepath.Join("..data", "warmpool.yaml"), w.configPath))
		w.replaceConfig(func() { put("..2", text) }, taken)
		return func() { w.replaceConfig(func() { put("..3", configuration) }, true) }
	}
}

var (
	brokenConfig = strings.Replace(configuration, "{min: 0, max: 50}", "{min: 9, max: 5}", 1)
	cutConfig    = configuration[:strings.LastIndex(configuration, "perReplica")+20]
	shortConfig  = configuration[:strings.Index(configuration, "  - name: qwen")]
	// otherConfig has other limits that change no target.
	otherConfig = strings.ReplaceAll(configuration, "max: 50", "max: 60")
)

var lastGood = claim{"as ever, by the last good configuration; the failure is logged and counted", asEver.check}

// configFile has one content at a time.
const configFile = "configuration file"

var configFaults = []*fault{
	{
		part: "Configuration", takes: configFile, name: "is broken", clients: []claim{follows, chooses}, decided: []claim{lastGood}, recovers: atOnce,
		inject: written(brokenConfig, false),
	},
	{
		part: "Configuration", takes: configFile, name: "is half-written, in the middle of an entry", clients: []claim{follows, chooses}, decided: []claim{lastGood}, recovers: atOnce,
		inject: written(cutConfig, false),
	},
	{
		part: "Configuration", takes: configFile, name: "is half-written, at the end of an entry, and stays so", clients: []claim{halfUnknown, chooses}, decided: []claim{halfForgotten}, recovers: atOnce,
		inject: written(shortConfig, true),
	},
	{
		part: "Configuration", takes: configFile, name: "is gone", clients: []claim{follows, chooses}, decided: []claim{lastGood}, recovers: atOnce,
		inject: func(w *world) func() {
			w.replaceConfig(func() { w.must(os.Remove(w.configPath)) }, false)
			return func() { w.replaceConfig(func() { w.writeConfig(configuration) }, true) }
		},
	},
	{
		part: "Configuration", takes: configFile, name: "is swapped by a symbolic link, to a broken one", clients: []claim{follows, chooses}, decided: []claim{lastGood}, recovers: atOnce,
		inject: mounted(brokenConfig, false),
	},
	{
		part: "Configuration", takes: configFile, name: "is swapped by a symbolic link, to a good one", clients: []claim{follows, chooses}, decided: []claim{asEver}, recovers: atOnce,
		inject: mounted(otherConfig, true),
	},
}

var halfForgotten = claim{"services in the file as ever; nothing for the others", func(r *record) error {
	for _, o := range r.during {
		if d := o.board[first[0]]; d.Unavailable != "" {
			return errFor(o, first[0], d)
		}
	}
	return nil
}}

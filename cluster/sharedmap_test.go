package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ktesting "k8s.io/client-go/testing"

	"github.com/warmpool/warmpool/expander"
)

const wordsName = "words"

// words is the plainest content: an instance adds its words to those that are there.
type words struct {
	shared *sharedMap

	mu      sync.Mutex
	stored  map[string]string
	waiting map[string]string
	merges  int
	refuse  error
	told    []string
}

// words starts one instance.
func (s *shared) words() *words {
	w := &words{waiting: map[string]string{}}
	w.shared = newSharedMap(&Clients{Kubernetes: s.client, Namespace: "warmpool"}, wordsName, w)
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan struct{})
	go func() {
		w.shared.run(ctx)
		close(ended)
	}()
	s.end = append(s.end, func() {
		cancel()
		<-ended
	})
	synctest.Wait()
	return w
}

func (w *words) say(word string) {
	w.mu.Lock()
	w.waiting[word] = ""
	w.mu.Unlock()
	w.shared.soon()
	time.Sleep(writeEvery)
	synctest.Wait()
}

func (w *words) take(stored *corev1.ConfigMap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stored = nil
	if stored != nil {
		w.stored = stored.Data
	}
}

func (w *words) merge(into *corev1.ConfigMap) (func(), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		return nil, errNothingWaits
	}
	w.merges++
	if into.Data == nil {
		into.Data = map[string]string{}
	}
	maps.Copy(into.Data, w.waiting)
	return func() {
		w.take(into)
		clear(w.waiting)
	}, w.refuse
}

func (w *words) tell(problem error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if problem == nil {
		w.told = append(w.told, "mended")
	} else {
		w.told = append(w.told, "broken")
	}
}

// wantTold checks what was told, and that nothing is wrong now.
func (w *words) wantTold(t *testing.T, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if diff := cmp.Diff(want, w.told); diff != "" || w.shared.failure() != nil {
		t.Errorf("failure %v, told:\n%s", w.shared.failure(), diff)
	}
}

func (s *shared) wantWords(words ...string) {
	s.t.Helper()
	m, err := s.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("configmaps"), "warmpool", wordsName)
	if err != nil {
		s.t.Fatal(err)
	}
	want := map[string]string{}
	for _, word := range words {
		want[word] = ""
	}
	if diff := cmp.Diff(want, m.(*corev1.ConfigMap).Data); diff != "" {
		s.t.Errorf("stored:\n%s", diff)
	}
}

// refuse asks for each call of a verb (*: any) on ConfigMaps whether to refuse it; calls counts them.
func (s *shared) refuse(verb string, answer func(call int) error) (calls func() int) {
	var mu sync.Mutex
	n := 0
	react(&s.client.Fake, verb, "configmaps", func(ktesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		n++
		call := n
		mu.Unlock()
		err := answer(call)
		return err != nil, nil, err
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

var configMaps = schema.GroupResource{Resource: "configmaps"}

func forbidden() error { return apierrors.NewForbidden(configMaps, wordsName, errors.New("no role")) }

// Of two that create the ConfigMap at once one is told that it exists, of two that change it one that it changed: both
// words are there, and the slower instance knows the faster one's without waiting for the next look.
func TestSharedMapConflicts(t *testing.T) {
	withStores(t, nil, func(s *shared) {
		a, b := s.words(), s.words()
		a.say("first")
		b.say("second")
		s.wantWords("first", "second")
		a.say("third")
		s.wantWords("first", "second", "third")
		a.wantTold(t)
		b.wantTold(t)
		a.mu.Lock()
		defer a.mu.Unlock()
		if _, ok := a.stored["second"]; !ok || a.merges != 3 {
			t.Errorf("%d merges, want one for the first word and two for the other; knows %v", a.merges, a.stored)
		}
	})
}

// An instance that is always slower gives up after a while, says so, keeps its words, and writes them at a later look.
func TestSharedMapGivesUpForNow(t *testing.T) {
	withStores(t, nil, func(s *shared) {
		a := s.words()
		a.say("first")
		calls := s.refuse("update", func(call int) error {
			if call <= mostConflicts {
				return apierrors.NewConflict(configMaps, wordsName, errors.New("changed meanwhile"))
			}
			return nil
		})
		a.say("second")
		if n := calls(); n != mostConflicts {
			t.Errorf("%d attempts, want %d", n, mostConflicts)
		}
		s.wantWords("first")
		if err := a.shared.failure(); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "write ConfigMap warmpool/words") {
			t.Errorf("failure %v", err)
		}
		time.Sleep(sharedPoll)
		synctest.Wait()
		s.wantWords("first", "second")
		a.wantTold(t, "broken", "mended")
	})
}

// Each permission may be missing and come back. However often an attempt fails, the beginning and the end are told,
// each once; what was read stays, and what waits is written in the end.
func TestSharedMapForbidden(t *testing.T) {
	for _, verb := range []string{"get", "create", "update", "*"} {
		t.Run(verb, func(t *testing.T) {
			withStores(t, nil, func(s *shared) {
				a := s.words()
				want := []string{"second"}
				if verb != "create" {
					a.say("first")
					want = []string{"first", "second"}
				}
				refused := true
				var mu sync.Mutex
				s.refuse(verb, func(int) error {
					mu.Lock()
					defer mu.Unlock()
					if refused {
						return forbidden()
					}
					return nil
				})
				time.Sleep(2 * sharedPoll)
				a.say("second")
				time.Sleep(2 * sharedPoll)
				synctest.Wait()
				if err := a.shared.failure(); !apierrors.IsForbidden(err) {
					t.Errorf("failure %v", err)
				}
				a.mu.Lock()
				if _, ok := a.stored["first"]; ok != (verb != "create") {
					t.Errorf("knows %v", a.stored)
				}
				a.mu.Unlock()
				mu.Lock()
				refused = false
				mu.Unlock()
				time.Sleep(2 * sharedPoll)
				synctest.Wait()
				s.wantWords(want...)
				a.wantTold(t, "broken", "mended")
			})
		})
	}
}

// A ConfigMap that somebody deletes is made anew, with what waits and without what is gone, whether the deletion was seen
// at a look or only by the write.
func TestSharedMapDeleted(t *testing.T) {
	for _, wait := range []time.Duration{0, sharedPoll} {
		t.Run(fmt.Sprint(wait), func(t *testing.T) {
			withStores(t, nil, func(s *shared) {
				a := s.words()
				a.say("first")
				if err := s.client.CoreV1().ConfigMaps("warmpool").Delete(t.Context(), wordsName, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(wait)
				synctest.Wait()
				a.say("second")
				s.wantWords("second")
				a.wantTold(t)
			})
		})
	}
}

// Until the ConfigMap was read nothing is written, so that nothing is overwritten unseen.
func TestSharedMapReadsFirst(t *testing.T) {
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "warmpool", Name: wordsName, ResourceVersion: "v0"}, Data: map[string]string{"old": ""},
	}
	withStores(t, []runtime.Object{object}, func(s *shared) {
		s.refuse("get", func(call int) error {
			if call == 1 {
				return errors.New("connection refused")
			}
			return nil
		})
		a := s.words()
		a.say("new")
		s.wantWords("old")
		if err := a.shared.failure(); err == nil || !strings.Contains(err.Error(), "read ConfigMap warmpool/words: connection refused") {
			t.Errorf("failure %v", err)
		}
		time.Sleep(sharedPoll)
		synctest.Wait()
		s.wantWords("old", "new")
	})
}

// What the content itself refuses, as it is damaged or too large, is not written and not tried again at once.
func TestSharedMapRefusedByItsContent(t *testing.T) {
	withStores(t, nil, func(s *shared) {
		a := s.words()
		a.say("first")
		a.mu.Lock()
		a.refuse, a.merges = errors.New("too large"), 0
		a.mu.Unlock()
		a.say("second")
		s.wantWords("first")
		a.mu.Lock()
		if a.merges != 1 {
			t.Errorf("%d attempts", a.merges)
		}
		a.refuse = nil
		a.mu.Unlock()
		time.Sleep(sharedPoll)
		synctest.Wait()
		s.wantWords("first", "second")
		a.wantTold(t, "broken", "mended")
	})
}

// What others put into the ConfigMap besides the content stays: labels, annotations, and keys that nobody knows.
func TestSharedMapLeavesTheRest(t *testing.T) {
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "warmpool", Name: wordsName, ResourceVersion: "v0", Annotations: map[string]string{"team": "ai"}},
		BinaryData: map[string][]byte{"other": {1}},
	}
	withStores(t, []runtime.Object{object}, func(s *shared) {
		s.words().say("first")
		s.wantWords("first")
		m, err := s.client.CoreV1().ConfigMaps("warmpool").Get(t.Context(), wordsName, metav1.GetOptions{})
		if err != nil || m.Annotations["team"] != "ai" || !bytes.Equal(m.BinaryData["other"], []byte{1}) {
			t.Errorf("%v, %+v", err, m)
		}
	})
}

// During an upgrade a later version may be faster: what it wrote is left alone also where it is seen only by the
// conflict.
func TestHistoryOfALaterVersionThatWasFaster(t *testing.T) {
	text := fmt.Sprintf(`{"version": %d}`, expander.HistoryVersion+1)
	withStores(t, []runtime.Object{mapOf(nil)}, func(s *shared) {
		h, _ := s.instance()
		later := mapOf(map[string]string{historyKey: text})
		if _, err := s.client.CoreV1().ConfigMaps("warmpool").Update(t.Context(), later, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		_, _ = h.Save(t.Context(), failureOf("two", time.Now()))
		time.Sleep(2 * sharedPoll)
		synctest.Wait()
		if got := s.content().Data[historyKey]; got != text {
			t.Errorf("overwritten by %s", got)
		}
	})
}

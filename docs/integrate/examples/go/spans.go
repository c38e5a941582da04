package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// History has the fields that this program reads. Times are in milliseconds since 1970.
type History struct {
	Cluster   string       `avro:"cluster"`
	Group     string       `avro:"group"`
	Kind      string       `avro:"kind"`
	Namespace string       `avro:"namespace"`
	Name      string       `avro:"name"`
	UID       string       `avro:"uid"`
	Change    string       `avro:"change"`
	Partition int64        `avro:"partition"`
	Position  int64        `avro:"position"`
	At        int64        `avro:"at"`
	Object    *KnownObject `avro:"object"`
}

type KnownObject struct {
	Phase  *string          `avro:"phase"`
	Owners []OwnerReference `avro:"owners"`
}

type OwnerReference struct {
	Kind string `avro:"kind"`
	Name string `avro:"name"`
	UID  string `avro:"uid"`
}

// spans has when each object existed, and when it referenced which owner: a line for each such span, once it has ended.
// An entry without `object` changes none of it, nor does one that comes again. What an object was before its first
// entry, if that is not `created`, is not known (`?`).
type spans struct {
	decoder *decoder[History]
	objects map[string]*known
}

type known struct {
	last History
	// open has the beginnings of its open spans: by the text of the owner, or "" for its existence.
	open map[string]string
}

func newSpans(schemas, registry string) (view, error) {
	decoder, err := newDecoder[History](schemas, registry, "history")
	return &spans{decoder: decoder, objects: map[string]*known{}}, err
}

// take answers the spans that have ended.
func (s *spans) take(ctx context.Context, record *kgo.Record) (ended []string, err error) {
	if record.Value == nil {
		return nil, nil
	}
	entry, err := s.decoder.decode(ctx, record.Value)
	if err != nil || entry.Object == nil {
		return nil, err
	}
	key := entry.Cluster + "/" + entry.UID
	at := strconv.FormatInt(entry.At, 10)
	begin := at
	object := s.objects[key]
	if object == nil {
		object = &known{open: map[string]string{}}
		s.objects[key] = object
		if entry.Change != "created" {
			begin = "?"
		}
	} else if object.last.Partition == entry.Partition && entry.Position < object.last.Position {
		return nil, nil
	}
	object.last = entry
	now := map[string]bool{}
	if entry.Object.Phase != nil {
		now[""] = true
		for _, owner := range entry.Object.Owners {
			now[fmt.Sprintf("%s/%s (%s)", owner.Kind, owner.Name, owner.UID)] = true
		}
	}
	for owner, began := range object.open {
		if !now[owner] {
			delete(object.open, owner)
			ended = append(ended, entry.span(began, at, owner))
		}
	}
	for owner := range now {
		if _, isOpen := object.open[owner]; !isOpen {
			object.open[owner] = begin
		}
	}
	return ended, nil
}

// atEnd answers those that have not ended.
func (s *spans) atEnd() (lines []string) {
	for _, object := range s.objects {
		for owner, began := range object.open {
			lines = append(lines, object.last.span(began, "", owner))
		}
	}
	slices.Sort(lines)
	return lines
}

func (h History) span(from, to, owner string) string {
	fields := []string{h.Cluster, kindOf(h.Kind, h.Group), h.Namespace, h.Name, h.UID, from, to}
	if owner != "" {
		fields = append(fields, owner)
	}
	return lineOf(fields...)
}

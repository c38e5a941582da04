package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Lineage has the fields that this program reads: Avro finds them in what any version wrote.
type Lineage struct {
	ClusterName string         `avro:"clusterName"`
	Group       string         `avro:"group"`
	Kind        string         `avro:"kind"`
	Namespace   string         `avro:"namespace"`
	Name        string         `avro:"name"`
	UID         string         `avro:"uid"`
	Phase       string         `avro:"phase"`
	Owners      []LineageOwner `avro:"owners"`
	MoreOwners  int64          `avro:"moreOwners"`
}

type LineageOwner struct {
	Kind     string `avro:"kind"`
	Name     string `avro:"name"`
	Standing string `avro:"standing"`
}

// table has the existing objects. Of each key the last entry counts; `gone` and a null value end it.
type table struct {
	decoder *decoder[Lineage]
	objects map[string]Lineage
	isShown bool
}

func newTable(schemas, registry string) (view, error) {
	decoder, err := newDecoder[Lineage](schemas, registry, "lineage")
	return &table{decoder: decoder, objects: map[string]Lineage{}}, err
}

func (t *table) take(ctx context.Context, record *kgo.Record) ([]string, error) {
	key := string(record.Key)
	changed, isChanged := t.objects[key]
	delete(t.objects, key)
	changed.Phase = "gone"
	if record.Value != nil {
		lineage, err := t.decoder.decode(ctx, record.Value)
		if err != nil {
			return nil, err
		}
		changed, isChanged = lineage, true
		if lineage.Phase != "gone" {
			t.objects[key] = lineage
		}
	}
	if !t.isShown || !isChanged {
		return nil, nil
	}
	return []string{changed.line()}, nil
}

func (t *table) atEnd() []string {
	t.isShown = true
	lines := make([]string, 0, len(t.objects))
	for _, object := range t.objects {
		lines = append(lines, object.line())
	}
	slices.Sort(lines)
	return lines
}

func (l Lineage) line() string {
	fields := []string{l.ClusterName, kindOf(l.Kind, l.Group), l.Namespace, l.Name, l.UID, l.Phase}
	for _, owner := range l.Owners {
		fields = append(fields, fmt.Sprintf("%s/%s (%s)", owner.Kind, owner.Name, owner.Standing))
	}
	if l.MoreOwners > 0 {
		fields = append(fields, fmt.Sprintf("and %d more", l.MoreOwners))
	}
	return lineOf(fields...)
}

func kindOf(kind, group string) string {
	if group == "" {
		return kind
	}
	return kind + "." + group
}

// lineOf has fields between tabs. What is not printable ASCII is written as \u{…}, so no name can break the line or the
// terminal.
func lineOf(fields ...string) string {
	for index, field := range fields {
		fields[index] = escaped(field)
	}
	return strings.Join(fields, "\t")
}

func escaped(text string) string {
	var line strings.Builder
	for _, char := range text {
		if char < ' ' || char > '~' || char == '\\' {
			fmt.Fprintf(&line, `\u{%x}`, char)
		} else {
			line.WriteRune(char)
		}
	}
	return line.String()
}

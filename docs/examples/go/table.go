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
}

type LineageOwner struct {
	Kind     string `avro:"kind"`
	Name     string `avro:"name"`
	Standing string `avro:"standing"`
}

// take answers what is to be said of the change.
func take(ctx context.Context, table map[string]Lineage, decoder *decoder, record *kgo.Record) (*Lineage, error) {
	key := string(record.Key)
	if record.Value == nil {
		before, isKnown := table[key]
		delete(table, key)
		if !isKnown {
			return nil, nil
		}
		before.Phase = "gone"
		return &before, nil
	}
	lineage, err := decoder.decode(ctx, record.Value)
	if err != nil {
		return nil, err
	}
	if lineage.Phase == "gone" {
		delete(table, key)
	} else {
		table[key] = lineage
	}
	return &lineage, nil
}

// show prints sorted lines of fields between tabs. What is not printable ASCII is written as \u{…}, so no name can
// break the line or the terminal.
func show(rows ...Lineage) {
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		kind := row.Kind
		if row.Group != "" {
			kind += "." + row.Group
		}
		fields := []string{row.ClusterName, kind, row.Namespace, row.Name, row.UID, row.Phase}
		for _, owner := range row.Owners {
			fields = append(fields, fmt.Sprintf("%s/%s (%s)", owner.Kind, owner.Name, owner.Standing))
		}
		for index, field := range fields {
			fields[index] = escaped(field)
		}
		lines = append(lines, strings.Join(fields, "\t"))
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
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

// Command lineage-table reads `lineage` from its beginning, prints a table of the existing objects, a line each, and
// with --follow a line for every change after that. It needs go.mod and the folder schemas/.
//
// What must stay true: of each key the last entry counts; `gone` and a null value end it. An entry whose schema is not
// known ends the program, with a sentence: skipping it would leave the table wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kadm"
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

func main() {
	log.SetFlags(0)
	brokers := flag.String("brokers", "localhost:9092", "host:port, separated by commas")
	application := flag.String("application", "kinfold", "the prefix of the topics")
	schemas := flag.String("schemas", "../../../schemas", "the folder schemas of Kinfold")
	registry := flag.String("registry", "", "URL of the schema registry, where Kinfold has one")
	follow := flag.Bool("follow", false, "go on, and print changes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	decoder, err := newDecoder(*schemas, *registry)
	check(err)
	topic := *application + ".lineage"
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(*brokers, ",")...),
		// Where the brokers want it: kgo.DialTLSConfig(…), kgo.SASL(…)
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // What is committed may end with one.
	)
	check(err)
	defer client.Close()
	unread, err := endsOf(ctx, client, topic)
	check(err)

	table := map[string]Lineage{}
	for isShown := false; ; {
		if !isShown && len(unread) == 0 {
			isShown = true
			lines := slices.Collect(maps.Values(table))
			show(lines...)
		}
		if isShown && !*follow {
			return
		}
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		check(fetches.Err())
		fetches.EachRecord(func(record *kgo.Record) {
			if !record.Attrs.IsControl() {
				changed, err := take(ctx, table, decoder, record)
				if err != nil {
					log.Fatalf("%s[%d]@%d: %v", topic, record.Partition, record.Offset, err)
				}
				if isShown && changed != nil {
					show(*changed)
				}
			}
			if end, isUnread := unread[record.Partition]; isUnread && record.Offset+1 >= end {
				delete(unread, record.Partition)
			}
		})
	}
}

// endsOf answers the end of what is committed, of each partition that has entries.
func endsOf(ctx context.Context, client *kgo.Client, topic string) (map[int32]int64, error) {
	admin := kadm.NewClient(client)
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	listed, err := admin.ListCommittedOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	ends := map[int32]int64{}
	listed.Each(func(end kadm.ListedOffset) {
		if start, _ := starts.Lookup(topic, end.Partition); start.Offset < end.Offset {
			ends[end.Partition] = end.Offset
		}
	})
	return ends, errors.Join(starts.Error(), listed.Error())
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

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Command lineage-table reads `lineage` from its beginning, prints a table of the existing objects, a line each, and
// with --follow a line for every change after that; with --spans it reads `history` and prints when each object existed
// and referenced which owner. It needs go.mod and the folder schemas/.
//
// What must stay true: an entry whose schema is not known ends the program, with a sentence: skipping it would leave the
// table wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// view is what is printed of a topic.
type view interface {
	// take answers the lines of a change.
	take(ctx context.Context, record *kgo.Record) ([]string, error)
	atEnd() []string
}

func main() {
	log.SetFlags(0)
	brokers := flag.String("brokers", "localhost:9092", "host:port, separated by commas")
	application := flag.String("application", "kinfold", "the prefix of the topics")
	schemas := flag.String("schemas", "../../../../schemas", "the folder schemas of Kinfold")
	registry := flag.String("registry", "", "URL of the schema registry, where Kinfold has one")
	follow := flag.Bool("follow", false, "go on, and print changes")
	spans := flag.Bool("spans", false, "print spans of history")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	open, topic := newTable, *application+".lineage"
	if *spans {
		open, topic = newSpans, *application+".history"
	}
	shown, err := open(*schemas, *registry)
	check(err)
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

	for isShown := false; ; {
		if !isShown && len(unread) == 0 {
			isShown = true
			show(shown.atEnd())
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
				lines, err := shown.take(ctx, record)
				if err != nil {
					log.Fatalf("%s[%d]@%d: %v", topic, record.Partition, record.Offset, err)
				}
				show(lines)
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

func show(lines []string) {
	for _, line := range lines {
		fmt.Println(line)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

package kinfold.bench;

import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * What a fold of Kinfold's writes, written by Kafka Streams: for each event so many changes of a state store, with its changelog, and so many records to
 * the output topics, of the same number and the same sizes. It decides nothing and decodes nothing.
 *
 * Arguments are NAME=VALUE: brokers, application, directory, threads, commitMs, keys (of each partition's state), and for changes and each output
 * its number per event, size of key and size of value, with colons between. Says a line of JSON every 100 ms; ends at SIGTERM.
 */
public final class Peer {
  private static final long EVERY_MS = 100;
  private static final String STORE = "state";
  private static final String[] OUTPUTS = {"lineage", "history", "commands"};

  private static final AtomicLong processed = new AtomicLong();
  private static final AtomicLong restored = new AtomicLong();
  private static volatile boolean restoring;

  /** How many records an event brings about, and how large they are. */
  private record Shape(double perEvent, int keyBytes, int valueBytes) {
    static Shape of(String text) {
      String[] parts = text.split(":");
      return new Shape(
          Double.parseDouble(parts[0]), Integer.parseInt(parts[1]), Integer.parseInt(parts[2]));
    }
  }

  public static void main(String[] args) throws InterruptedException {
    Map<String, String> given = new HashMap<>();
    for (String arg : args) {
      int at = arg.indexOf('=');
      given.put(arg.substring(0, at), arg.substring(at + 1));
    }
    KafkaStreams streams = new KafkaStreams(topologyOf(given), propertiesOf(given));
    streams.setGlobalStateRestoreListener(new Restored());
    CountDownLatch ended = new CountDownLatch(1);
    streams.setUncaughtExceptionHandler(
        error -> {
          error.printStackTrace();
          Runtime.getRuntime().halt(4);
          return null;
        });
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  streams.close(Duration.ofSeconds(20));
                  ended.countDown();
                }));
    streams.start();
    while (!ended.await(EVERY_MS, TimeUnit.MILLISECONDS)) {
      System.out.println(
          "{\"atMs\":" + System.currentTimeMillis()
              + ",\"processed\":" + processed.get()
              + ",\"restored\":" + restored.get()
              + ",\"restoring\":" + restoring
              + ",\"running\":" + (streams.state() == KafkaStreams.State.RUNNING)
              + "}");
    }
  }

  private static Properties propertiesOf(Map<String, String> given) {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, given.get("application"));
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, given.get("brokers"));
    properties.put(StreamsConfig.STATE_DIR_CONFIG, given.get("directory"));
    properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, given.get("threads"));
    properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, given.get("commitMs"));
    properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    properties.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 1);
    properties.put(
        StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.ByteArraySerde.class.getName());
    properties.put(
        StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.ByteArraySerde.class.getName());
    properties.put(
        StreamsConfig.producerPrefix(ProducerConfig.COMPRESSION_TYPE_CONFIG), "zstd");
    // The same as Kinfold's tasks have.
    properties.put(
        StreamsConfig.producerPrefix(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG), 10_000);
    properties.put(
        StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
    // The next round's would wait for this one's session otherwise.
    properties.put(StreamsConfig.mainConsumerPrefix("internal.leave.group.on.close"), true);
    return properties;
  }

  private static Topology topologyOf(Map<String, String> given) {
    String application = given.get("application");
    int keys = Integer.parseInt(given.get("keys"));
    Shape changes = Shape.of(given.get("changes"));
    Shape[] outputs = Arrays.stream(OUTPUTS).map(each -> Shape.of(given.get(each))).toArray(Shape[]::new);
    Topology topology = new Topology();
    topology.addSource("events", application + ".events");
    topology.addProcessor("fold", () -> new Fold(keys, changes, outputs), "events");
    topology.addStateStore(
        Stores.keyValueStoreBuilder(
            Stores.persistentKeyValueStore(STORE), Serdes.Bytes(), Serdes.ByteArray()),
        "fold");
    for (String output : OUTPUTS) topology.addSink(output, application + "." + output, "fold");
    return topology;
  }

  private static final class Fold implements Processor<byte[], byte[], byte[], byte[]> {
    private final int keys;
    private final Shape changes;
    private final Shape[] outputs;
    private final double[] due = new double[OUTPUTS.length];
    private double changesDue;
    private long changed;
    private long written;
    private ProcessorContext<byte[], byte[]> context;
    private KeyValueStore<Bytes, byte[]> store;

    Fold(int keys, Shape changes, Shape[] outputs) {
      this.keys = keys;
      this.changes = changes;
      this.outputs = outputs;
    }

    @Override
    public void init(ProcessorContext<byte[], byte[]> context) {
      this.context = context;
      this.store = context.getStateStore(STORE);
    }

    @Override
    public void process(Record<byte[], byte[]> event) {
      changesDue += changes.perEvent();
      for (; changesDue >= 1; changesDue--) {
        Bytes key = Bytes.wrap(keyOf(changed++ % keys, changes.keyBytes()));
        // A fold looks at what it changes.
        byte[] before = store.get(key);
        byte[] after = filled(event.value(), changes.valueBytes());
        if (before != null && before.length > 0) after[0] = (byte) (before[0] + 1);
        store.put(key, after);
      }
      for (int output = 0; output < outputs.length; output++) {
        Shape shape = outputs[output];
        due[output] += shape.perEvent();
        for (; due[output] >= 1; due[output]--) {
          byte[] key = keyOf(written++ % keys, shape.keyBytes());
          byte[] value = filled(event.value(), shape.valueBytes());
          context.forward(event.withKey(key).withValue(value), OUTPUTS[output]);
        }
      }
      processed.incrementAndGet();
    }

    private static byte[] keyOf(long number, int size) {
      byte[] key = new byte[size];
      Arrays.fill(key, (byte) 'k');
      // Spread as uids are.
      long mixed = number * 0x9e3779b97f4a7c15L;
      byte[] text = String.format("%016x", mixed).getBytes();
      System.arraycopy(text, 0, key, Math.max(0, size - text.length), Math.min(size, text.length));
      return key;
    }

    /** As compressible as what it was made of. */
    private static byte[] filled(byte[] from, int size) {
      byte[] value = new byte[size];
      for (int at = 0; at < size; at += from.length) {
        System.arraycopy(from, 0, value, at, Math.min(from.length, size - at));
      }
      return value;
    }
  }

  private static final class Restored implements StateRestoreListener {
    @Override
    public void onRestoreStart(TopicPartition partition, String store, long from, long to) {
      restoring = true;
    }

    @Override
    public void onBatchRestored(TopicPartition partition, String store, long end, long count) {
      restored.addAndGet(count);
    }

    @Override
    public void onRestoreEnd(TopicPartition partition, String store, long total) {}
  }
}

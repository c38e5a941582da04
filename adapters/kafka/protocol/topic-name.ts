/** The names of Kinfold's topics at the brokers: `<application>.<topic>`. */
import { TOPICS, type Topic } from '../../../ports/log.ts'

/**
 * A compacted topic in addition to the port's: the positions of readers, and which topics belong
 * together.
 */
export const POSITIONS = 'positions'

export type KafkaTopic = Topic | typeof POSITIONS

export const KAFKA_TOPICS: readonly KafkaTopic[] = [...TOPICS, POSITIONS]

export function topicName(application: string, topic: KafkaTopic): string {
  return `${application}.${topic}`
}

export function allTopicNames(application: string): string[] {
  return KAFKA_TOPICS.map((topic) => topicName(application, topic))
}

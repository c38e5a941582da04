/**
 * Stories with Applications of Argo CD: the notation has none, and Widgets stand for them.
 *
 * What must stay true: nothing but group, kind and resource is another.
 */
import type { Event } from '../../core/model/event.ts'

/** The widgets of a story are Applications of Argo CD. */
export function withApplications(events: readonly Event[]): readonly Event[] {
  const text = JSON.stringify(events, (_, value) =>
    typeof value === 'bigint' ? { bigint: `${value}` } : value,
  )
  const told = text
    .replaceAll('"example.com"', '"argoproj.io"')
    .replaceAll('"Widget"', '"Application"')
    .replaceAll('"widgets"', '"applications"')
  return JSON.parse(told, (_, value) =>
    typeof value?.bigint === 'string' ? BigInt(value.bigint) : value,
  ) as readonly Event[]
}

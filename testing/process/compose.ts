/**
 * docker-compose.yml as data. What must stay true: it is read as it is written, with its anchors
 * merged, and nothing is added to it.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

export interface ComposeService {
  readonly image: string
  readonly build?: string
  readonly pull_policy?: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly secrets?: readonly string[]
  readonly tmpfs?: readonly string[]
  readonly depends_on?: Readonly<Record<string, ComposeNeed>>
  readonly healthcheck: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly deploy?: { readonly replicas?: number }
  readonly restart: string
  readonly read_only?: boolean
  readonly cap_drop: readonly string[]
  readonly security_opt: readonly string[]
}

export interface ComposeNeed {
  readonly condition: string
  readonly restart?: boolean
}

export interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly volumes: Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}

export function readCompose(): Compose {
  const file = join(import.meta.dirname, '..', '..', 'docker-compose.yml')
  return parse(readFileSync(file, 'utf8'), { merge: true }) as Compose
}

/** Those that run Kinfold's own image. */
export function ownServices(
  compose: Compose = readCompose(),
): readonly (readonly [string, ComposeService])[] {
  const all = Object.entries(compose.services)
  const built = all.find(([, { build }]) => build !== undefined)
  return all.filter(([, { image }]) => image === built?.[1].image)
}

/** Kafka's image takes its settings from variables. */
export function kafkaProperties(compose: Compose = readCompose()): Record<string, string> {
  const variables = Object.entries(compose.services['kafka']?.environment ?? {})
  return Object.fromEntries(
    variables
      .filter(([name]) => name.startsWith('KAFKA_') && name !== 'KAFKA_HEAP_OPTS')
      .map(([name, value]) => [propertyOf(name), value]),
  )
}

function propertyOf(name: string): string {
  return name.slice('KAFKA_'.length).toLowerCase().replaceAll('_', '.')
}

/** The value of `--NAME=VALUE` in a command. */
export function flagOf({ command = [] }: ComposeService, name: string): string | undefined {
  const prefix = `--${name}=`
  return command.find((word) => word.startsWith(prefix))?.slice(prefix.length)
}

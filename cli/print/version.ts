/** The version in package.json. */
import { readFileSync } from 'node:fs'

export const VERSION: string = readVersion()

function readVersion(): string {
  const file = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

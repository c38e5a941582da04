/** YAML, loaded when it is asked for: it has more modules than a command needs besides. */
import { createRequire } from 'node:module'

type Yaml = typeof import('yaml')

export function yaml(): Yaml {
  return createRequire(import.meta.url)('yaml') as Yaml
}

/**
 * The config file of a command: a YAML mapping whose keys are known.
 *
 * What must stay true: one that cannot be read, is no such mapping or has an unknown key ends the
 * start with a sentence that names it.
 *
 * Not here: what its values may be (setting.ts, config.ts).
 */
import { readFileSync } from 'node:fs'
import type { Document } from 'yaml'
import { yaml } from '../print/yaml.ts'
import { bad, checkKey } from './setting.ts'

const API_VERSION = 'kinfold/v1alpha1'
/** They say what the file is, and set nothing. */
export const HEAD_KEYS: readonly string[] = ['apiVersion', 'kind']
export const CONFIG_HEAD: Readonly<Record<string, unknown>> = {
  apiVersion: API_VERSION,
  kind: 'Config',
}

export function readConfigFile(path: string, keys: readonly string[]): Record<string, unknown> {
  const content = readConfigMapping(path)
  for (const key of Object.keys(content)) {
    checkKey(key, keys, `--config ${path}`)
  }
  checkHead(content, path)
  return content
}

export function checkHead(content: Record<string, unknown>, path: string): void {
  if (content['apiVersion'] !== API_VERSION || content['kind'] !== 'Config') {
    throw bad(`--config ${path}: expected apiVersion: ${API_VERSION} and kind: Config`)
  }
}

/** Whatever its keys are. */
export function readConfigMapping(path: string): Record<string, unknown> {
  let source: string
  try {
    source = readFileSync(path, 'utf8')
  } catch (error) {
    throw bad(`--config ${path} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
  const { isMap, LineCounter, parseDocument } = yaml()
  const lines = new LineCounter()
  const document = parseDocument(source, { lineCounter: lines })
  const [error] = document.errors
  if (error !== undefined) throw bad(`--config ${path}: ${error.message}`)
  if (!isMap(document.contents)) {
    throw bad(`--config ${path}: expected a YAML mapping with apiVersion: ${API_VERSION}`)
  }
  return valuesOf(document, path)
}

/**
 * Aliases are resolved only now: of one that leads nowhere, or to far too much, YAML says nothing
 * before.
 */
function valuesOf(document: Document, path: string): Record<string, unknown> {
  try {
    return document.toJS() as Record<string, unknown>
  } catch (error) {
    throw bad(`--config ${path}: ${error instanceof Error ? error.message : error}`)
  }
}

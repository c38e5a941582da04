/** Where a running Kinfold is asked, as flags name it. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { serverOf } from './client.ts'

for (const [named, url] of [
  ['http://127.0.0.1:7070', 'http://127.0.0.1:7070'],
  ['https://kinfold.example.com/', 'https://kinfold.example.com'],
  ['localhost:7070', 'http://localhost:7070'],
  ['[::1]:7070/', 'http://[::1]:7070'],
] as const) {
  test(`--server ${named} is ${url}`, () => {
    equal(serverOf({ server: named }).url, url)
  })
}

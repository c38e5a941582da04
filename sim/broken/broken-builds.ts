/**
 * All broken builds: the checks are worth what they notice of these.
 *
 * What must stay true: at least thirty, each noticed by what it names.
 */
import type { BrokenBuild } from './broken-build.ts'
import { BROKEN_ELSEWHERE } from './broken-elsewhere.ts'
import { BROKEN_FOLD } from './broken-fold.ts'
import { BROKEN_POLICIES } from './broken-policy.ts'
import { BROKEN_REAPER } from './broken-reaper.ts'
import { BROKEN_RULES } from './broken-rule.ts'
import { BROKEN_SAFEGUARD } from './broken-safeguard.ts'
import { BROKEN_STORE } from './broken-store.ts'
import { BROKEN_WATCHER } from './broken-watcher.ts'

export const BROKEN_BUILDS: readonly BrokenBuild[] = [
  ...BROKEN_FOLD,
  ...BROKEN_REAPER,
  ...BROKEN_SAFEGUARD,
  ...BROKEN_RULES,
  ...BROKEN_ELSEWHERE,
  ...BROKEN_POLICIES,
  ...BROKEN_WATCHER,
  ...BROKEN_STORE,
]

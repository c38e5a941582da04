/**
 * Records what this version of the fold makes of every story: `npm run record-fold`, whenever an
 * unreleased version changes what it decides.
 *
 * What must stay true: what is recorded of a released version is never written again: a fold that
 * decides otherwise gets another number (docs/inside/fold-versions.md).
 */
import { FOLD_VERSION } from '../core/model/policy.ts'
import { isOut, recordFold, recordingFile, writeRecording } from '../testing/fold-recording.ts'

const file = recordingFile(FOLD_VERSION)
if (isOut(FOLD_VERSION)) {
  throw new Error(
    `version ${FOLD_VERSION} of the fold is released, and ${file} is never written again: raise FOLD_VERSION (core/model/policy.ts)`,
  )
}
const recording = await recordFold()
const bytes = writeRecording(recording)
process.stdout.write(`${file}: ${recording.stories.length} stories, ${bytes} bytes\n`)

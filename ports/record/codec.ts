/**
 * Port: records to bytes and back.
 *
 * Guarantees: `decode(encode(r))` equals `r`, null fields included; bytes of any older schema in
 * schemas/ decode with the defaults its rules give. Assumes: `encode` is given a record of its
 * type; anything else is an error that names the field.
 */
import type { Command } from '../../core/model/command.ts'
import type { LoggedEvent } from '../../core/model/event.ts'
import type { StateValue } from '../../core/model/state.ts'
import type { PublicRecord } from './lineage.ts'
import type { ServiceRecord } from './service-record.ts'

/** `type` distinguishes them; an `Unreadable` is made by the task and never written. */
export type Writable = LoggedEvent | Command | PublicRecord | ServiceRecord | StateValue

export interface Codec {
  encode(record: Writable): Uint8Array
  /** Throws `CodecError`. */
  decode(bytes: Uint8Array): Writable
}

/**
 * - `UNFRAMED`: not one of our frames.
 * - `UNKNOWN_SCHEMA`: a newer writer's, or an unknown one.
 * - `CORRUPT`: the body does not fit its schema.
 * - `INVALID`: a record that its schema does not allow.
 */
export type CodecErrorCode = 'UNFRAMED' | 'UNKNOWN_SCHEMA' | 'CORRUPT' | 'INVALID'

export class CodecError extends Error {
  override readonly name = 'CodecError'
  readonly code: CodecErrorCode

  constructor(code: CodecErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

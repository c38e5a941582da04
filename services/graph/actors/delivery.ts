/**
 * What clouds wrap a delivery in: pieces in base64, in gzip or as they are. Of EKS: what a function
 * gets of CloudWatch Logs (`awslogs`) or of Kinesis (`Records`), and what Data Firehose sends
 * (`records`). Of GKE: what Pub/Sub pushes (`message`), or answers who pulls (`receivedMessages`,
 * or a list).
 *
 * What must stay true: of what is still packed a bounded number of bytes is held, and of what is
 * unpacked no more than a part at a time, however large it becomes.
 *
 * Not here: what is in a piece (audit-decoder.ts), how one answers (audit-http.ts).
 */
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { type Fields, type ObjectShape, type TextSink, Within } from './json-projection.ts'

/** Of a piece, as it is sent. All of these clouds send less. */
export const LONGEST_PIECE: number = 8 * 1024 * 1024
/** Of a part. */
const PART = 65_536

/** In base64; undefined where it is longer than a piece may be. */
class Piece {
  readonly text: string | undefined

  constructor(text: string | undefined) {
    this.text = text
  }
}

class PieceText implements TextSink {
  readonly #parts: Buffer[] = []
  #length = 0

  push(bytes: Uint8Array): void {
    this.#length += bytes.length
    if (this.#length <= LONGEST_PIECE) this.#parts.push(Buffer.from(bytes))
    else this.#parts.length = 0
  }

  end(): Piece {
    const isWhole = this.#length <= LONGEST_PIECE
    return new Piece(isWhole ? Buffer.concat(this.#parts).toString('latin1') : undefined)
  }
}

const DATA = { data: new Within(() => new PieceText()) }

export const DELIVERY: ObjectShape = {
  awslogs: DATA,
  kinesis: DATA,
  Records: [{ kinesis: DATA }],
  ...DATA,
  message: DATA,
  receivedMessages: [{ message: DATA }],
}

export interface Packed {
  readonly piece: Piece
  readonly format: 'eks' | 'gke'
}

/** Undefined: these fields are no piece. */
export function pieceIn({ awslogs, kinesis, data, message }: Fields): Packed | undefined {
  const eks = [data, dataOf(awslogs), dataOf(kinesis)].find((each) => each instanceof Piece)
  if (eks !== undefined) return { piece: eks, format: 'eks' }
  const gke = dataOf(message)
  return gke instanceof Piece ? { piece: gke, format: 'gke' } : undefined
}

function dataOf(wrapper: unknown): unknown {
  return typeof wrapper === 'object' && wrapper !== null ? (wrapper as Fields)['data'] : undefined
}

/** Throws where it is too long, or its gzip is damaged. */
export async function* partsOf({ text }: Piece): AsyncGenerator<Uint8Array, void> {
  if (text === undefined) throw new RangeError(`a piece is longer than ${LONGEST_PIECE} bytes`)
  const bytes = Buffer.from(text, 'base64')
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    yield* Readable.from([bytes]).pipe(createGunzip({ chunkSize: PART }))
    return
  }
  for (let at = 0; at < bytes.length; at += PART) yield bytes.subarray(at, at + PART)
}
